package inside

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// maxIndex is the size of the largest index that is used. A hole of terabytes costs an agent nothing.
const maxIndex = 256 << 20

// leftovers makes a commit of everything in the workspace that HEAD doesn't have, without touching the agent's own
// index. It reports what could not be taken.
func leftovers(ctx context.Context, j Job, work repo, at place) (l left, err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(j.leftTime, leftTime))
	defer cancel()
	dir, err := os.MkdirTemp("", "cco-index-")
	if err != nil {
		return l, err
	}
	defer func() { _ = tree.Remove(dir) }()
	work.index = filepath.Join(dir, "index")
	// The agent's index is copied, so that unchanged files need not be hashed again.
	seed, err := readIndex(filepath.Join(j.Workspace, ".git", "index"))
	if err == nil {
		err = os.WriteFile(work.index, []byte(seed), 0o600)
	}
	var links []string
	if err == nil {
		links, err = work.unhide(ctx)
	}
	fresh := err != nil
	if fresh {
		// A missing, corrupt or half-written index must not cost the agent's work: start from HEAD instead.
		_ = os.Remove(work.index)
		if err := work.run(ctx, "read-tree", at.head); err != nil {
			return l, err
		}
	}
	if l, err = work.files(ctx, j, at, links, fresh); err == nil && j.Message != "" {
		l.index, err = readIndex(work.index)
	}
	return l, err
}

// readIndex reads an index that is not too large.
func readIndex(name string) (string, error) {
	if info, err := os.Lstat(name); err == nil && info.Size() > maxIndex {
		return "", errors.New("too large")
	}
	return readUpTo(name, maxIndex)
}

// left is the uncommitted work that was left.
type left struct {
	commit string   // a commit of the files
	index  string   // that belongs to it
	lost   []string // what could not be taken
}

// files makes the commit of the files.
func (r repo) files(ctx context.Context, j Job, at place, links []string, fresh bool) (l left, err error) {
	if l.lost, err = r.addAll(ctx, at.head, j.most(), links, fresh); err != nil {
		return l, err
	}
	tree, err := r.line(ctx, "write-tree")
	if err != nil || tree == at.tree {
		return l, err
	}
	l.commit, err = r.commitTree(ctx, tree, at.head, cmp.Or(j.Message, "Work left uncommitted in session "+j.Session))
	return l, err
}

// unhide lets an index see the files that git was told to ignore. Files that a sparse checkout has left out stay out.
// It gives the repositories in it.
func (r repo) unhide(ctx context.Context) (links []string, err error) {
	out, err := r.text(ctx, nil, "ls-files", "-s", "-v", "-z")
	if err != nil {
		return nil, err
	}
	var assumed, skipped strings.Builder
	for entry := range strings.SplitSeq(out, "\x00") {
		meta, name, ok := strings.Cut(entry, "\t")
		tag, meta, _ := strings.Cut(meta, " ")
		if !ok {
			continue
		}
		if strings.HasPrefix(meta, gitlink) {
			links = append(links, name)
		}
		if strings.ToLower(tag) == tag {
			assumed.WriteString(name + "\x00")
		}
		if strings.EqualFold(tag, "S") {
			if _, err := os.Lstat(filepath.Join(r.dir, name)); err == nil {
				skipped.WriteString(name + "\x00")
			}
		}
	}
	for flag, list := range map[string]*strings.Builder{"--no-assume-unchanged": &assumed,
		"--no-skip-worktree": &skipped} {
		if list.Len() > 0 {
			if _, err := r.text(ctx, strings.NewReader(list.String()), "update-index", flag, "-z", "--stdin"); err != nil {
				return links, err
			}
		}
	}
	return links, nil
}

// addAll takes all files into the index, and reports what can't be taken: an unreadable or too large file, the inside
// of a repository. A fresh index knows nothing of the files yet.
func (r repo) addAll(ctx context.Context, head string, most int64, links []string, fresh bool) (lost []string,
	err error) {
	large, none, err := r.large(ctx, head, most, fresh)
	if err == nil && fresh {
		links, err = r.links(ctx)
	}
	if err == nil && !none {
		if lost, err = r.add(ctx, most, large, links); err == nil {
			links, err = r.links(ctx)
		}
	}
	for _, name := range links {
		if _, err := os.Lstat(filepath.Join(r.dir, name, ".git")); err == nil {
			lost = append(lost, "the repository in "+name)
		} else if inside, err := os.ReadDir(filepath.Join(r.dir, name)); err == nil && len(inside) > 0 {
			lost = append(lost, "the files in "+name+", which the index calls a submodule") // others were not sent
		}
	}
	return lost, err
}

// add takes the files into the index, but those that are too large.
func (r repo) add(ctx context.Context, most int64, large []largeFile, links []string) (lost []string, err error) {
	c := r.cmd("add", "-A", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
	paths := "."
	for _, f := range large {
		lost = append(lost, f.words(most))
		paths += "\x00:(top,exclude,literal)" + f.name
	}
	for _, name := range links {
		// git would ask a repository inside for its state, with only that repository's own configuration.
		if _, err := os.Lstat(filepath.Join(r.dir, name, ".git")); err == nil {
			paths += "\x00:(top,exclude,literal)" + name
		}
	}
	words := &proc.Tail{Max: 16 << 10}
	c.Stdin, c.Stderr = strings.NewReader(paths), words
	err = proc.Run(ctx, c)
	if err != nil && (proc.Code(err) < 0 || ctx.Err() != nil) {
		return nil, err
	}
	named := len(lost)
	for line := range strings.Lines(words.String()) {
		what, failed := strings.CutPrefix(line, saysError)
		warned := strings.HasPrefix(line, saysUnopened)
		if failed && err != nil || warned {
			lost = append(lost, strings.TrimSpace(strings.TrimPrefix(what, saysWarning)))
		}
	}
	if err != nil && len(lost) == named {
		lost = append(lost, "not all of its files can be read: "+firstOf(words.String(), err))
	}
	return lost, nil
}

// gitlink begins the entry of a repository in an index.
const gitlink = "160000 "

// links are the repositories in the index.
func (r repo) links(ctx context.Context) (names []string, err error) {
	out, err := r.text(ctx, nil, "ls-files", "-s", "-z")
	for entry := range strings.SplitSeq(out, "\x00") {
		if meta, name, _ := strings.Cut(entry, "\t"); strings.HasPrefix(meta, gitlink) {
			names = append(names, name)
		}
	}
	return names, err
}

// commitTree makes a commit of ours. Its date is its parent's, so that the same content always gives the same commit.
func (r repo) commitTree(ctx context.Context, tree, parent, message string) (string, error) {
	date, err := r.line(ctx, "show", "-s", "--format=@%ct +0000", parent)
	if err != nil {
		return "", err
	}
	r.env = append(r.env, "GIT_AUTHOR_NAME=cco", "GIT_AUTHOR_EMAIL=cco@localhost", "GIT_AUTHOR_DATE="+date,
		"GIT_COMMITTER_NAME=cco", "GIT_COMMITTER_EMAIL=cco@localhost", "GIT_COMMITTER_DATE="+date)
	return r.line(ctx, "commit-tree", tree, "-p", parent, "-m", message)
}

// adopt moves the branch, or HEAD where that is detached, to the commit of the leftovers. The files stay unchanged; the
// index follows.
func (r repo) adopt(ctx context.Context, j Job, l left) error {
	git := filepath.Join(j.Workspace, ".git")
	branch, detached := r.line(ctx, "symbolic-ref", "-q", "HEAD")
	if err := stays(git, "logs/HEAD", branch, "logs/"+branch); err != nil {
		return err
	}
	if err := r.run(ctx, "update-ref", "-m", "commit: leftovers", "HEAD", l.commit); err != nil {
		return err
	}
	if detached != nil { // ours moved
		if err := whole.Write(filepath.Join(git, "HEAD"), []byte(l.commit+"\n"), 0o600); err != nil {
			return err
		}
	}
	return whole.Write(filepath.Join(git, "index"), []byte(l.index), 0o600)
}

// stays refuses what a link of the agent's leads out of a directory: writing there could change what is the user's.
func stays(dir string, names ...string) error {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, name := range names {
		if name == "" {
			continue
		}
		if _, err := root.Stat(filepath.FromSlash(name)); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}
