package inside

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
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
	defer func() { _ = os.RemoveAll(dir) }()
	work.index = filepath.Join(dir, "index")
	// The agent's index is copied, so that unchanged files need not be hashed again.
	err = copyIndex(filepath.Join(j.Workspace, ".git", "index"), work.index)
	var links map[string]bool
	if err == nil {
		links, err = work.unhide(ctx)
	}
	if err != nil {
		// A missing, corrupt or half-written index must not cost the agent's work: start from HEAD instead.
		_ = os.Remove(work.index)
		if err := work.run(ctx, "read-tree", at.head); err != nil {
			return l, err
		}
		if links, err = work.unhide(ctx); err != nil {
			return l, err
		}
	}
	if l.lost, err = work.addAll(ctx, at.head, j.most(), links); err != nil {
		return l, err
	}
	tree, err := work.line(ctx, "write-tree")
	if err != nil || tree == at.tree {
		return l, err
	}
	l.commit, err = work.commitTree(ctx, tree, at.head, cmp.Or(j.Message, "Work left uncommitted in session "+j.Session))
	if err == nil && j.Message != "" {
		l.index, err = readIndex(work.index)
	}
	return l, err
}

// copyIndex copies an index with its time, by which git knows what may have changed just after it was written.
func copyIndex(from, to string) error {
	info, err := os.Lstat(from)
	if err != nil {
		return err
	}
	data, err := readIndex(from)
	if err == nil {
		err = os.WriteFile(to, []byte(data), 0o600)
	}
	if err == nil {
		err = os.Chtimes(to, info.ModTime(), info.ModTime())
	}
	return err
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

// unhide lets an index see the files that git was told to ignore. Files that a sparse checkout has left out stay out.
// It gives the repositories in it.
func (r repo) unhide(ctx context.Context) (links map[string]bool, err error) {
	out, err := r.text(ctx, nil, "ls-files", "-s", "-v", "-z")
	if err != nil {
		return nil, err
	}
	links = map[string]bool{}
	var assumed, skipped []string
	for entry := range strings.SplitSeq(out, "\x00") {
		meta, name, ok := strings.Cut(entry, "\t")
		tag, meta, _ := strings.Cut(meta, " ")
		if !ok {
			continue
		}
		if strings.HasPrefix(meta, gitlink) {
			links[name] = true
		}
		if strings.ToLower(tag) == tag {
			assumed = append(assumed, name)
		}
		if strings.EqualFold(tag, "S") && r.lstat(name) != nil {
			skipped = append(skipped, name)
		}
	}
	return links, errors.Join(r.update(ctx, nil, assumed, "--no-assume-unchanged"),
		r.update(ctx, nil, skipped, "--no-skip-worktree"))
}

// gitlink begins the entry of a repository in an index.
const gitlink = "160000 "

// update changes the index for some files.
func (r repo) update(ctx context.Context, words io.Writer, names []string, how ...string) error {
	if len(names) == 0 {
		return nil
	}
	c := r.cmd(append(append([]string{"update-index"}, how...), "-z", "--stdin")...)
	c.Stdin, c.Stderr = strings.NewReader(strings.Join(names, "\x00")+"\x00"), words
	return proc.Run(ctx, c)
}

// lstat looks at a file of the workspace. What a link in the place of a directory leads to is none.
func (r repo) lstat(name string) fs.FileInfo {
	for dir := path.Dir(name); dir != "."; dir = path.Dir(dir) {
		if info, err := os.Lstat(filepath.Join(r.dir, dir)); err != nil || !info.IsDir() {
			return nil
		}
	}
	info, err := os.Lstat(filepath.Join(r.dir, name))
	if err != nil {
		return nil
	}
	return info
}

// addAll takes all files into the index, and reports what can't be taken: an unreadable or too large file, the inside
// of a repository.
func (r repo) addAll(ctx context.Context, head string, most int64, links map[string]bool) (lost []string,
	err error) {
	c := r.cmd("ls-files", "-z", "-o", "--exclude-standard")
	words, untracked := &proc.Tail{Max: 16 << 10}, &limited{max: maxListed}
	c.Stdout, c.Stderr = untracked, words
	if err := proc.Run(ctx, c); err != nil {
		return nil, errors.New(firstOf(words.String(), err))
	}
	// git would ask a repository inside for its state, with only that repository's own configuration.
	changed, err := r.text(ctx, nil, "diff-files", "-z", "--name-only", "--ignore-submodules=all")
	if err != nil {
		return nil, err
	}
	// What the agent has staged can be too large. What it has taken out stays out.
	staged, err := r.text(ctx, nil, "diff-index", "--cached", "-z", "--name-only", "--diff-filter=d",
		"--ignore-submodules=all", head)
	if err != nil {
		return nil, err
	}
	var gone, there, large []string
	seen := map[string]bool{"": true}
	for name := range strings.SplitSeq(untracked.String()+changed+staged+
		strings.Join(slices.Collect(maps.Keys(links)), "\x00"), "\x00") {
		if seen[name] {
			continue
		}
		seen[name] = true
		info := r.lstat(name)
		switch {
		case strings.HasSuffix(name, "/"):
			links[strings.TrimSuffix(name, "/")] = true
		case links[name] && info != nil && info.IsDir(): // it stays as it is
		case info == nil || info.IsDir(): // what is in the directory is listed too
			gone = append(gone, name)
		case info.Mode().IsRegular() && info.Size() > most:
			large = append(large, name)
			lost = append(lost, fmt.Sprintf("%s, whose %d bytes are over the limit of %d (pull.max_blob)", name, info.Size(),
				most))
		case info.Mode().Type() != fs.ModeSymlink && !readable(filepath.Join(r.dir, name)):
			lost = append(lost, name+", which can't be read") // git would give up all the others
		default:
			there = append(there, name)
		}
	}
	if len(large) > 0 { // an agent may have staged it
		_, err = r.text(ctx, strings.NewReader(":(top,literal)"+strings.Join(large, "\x00:(top,literal)")), "reset", "-q",
			"--pathspec-from-file=-", "--pathspec-file-nul", head)
	}
	if err == nil {
		err = r.update(ctx, nil, gone, "--force-remove")
	}
	if err == nil {
		if err = r.update(ctx, words, there, "--add", "--replace"); err != nil {
			err = errors.New(firstOf(words.String(), err))
		}
	}
	for line := range strings.Lines(words.String()) {
		if strings.HasPrefix(line, saysUnopened) || strings.HasPrefix(line, saysIgnoring) {
			lost = append(lost, clip(strings.TrimPrefix(line, saysWarning)))
		}
	}
	return append(lost, r.stay(links)...), err
}

// stay names what is in the repositories of an index: others were not sent.
func (r repo) stay(links map[string]bool) (lost []string) {
	for _, name := range slices.Sorted(maps.Keys(links)) {
		if r.lstat(name+"/.git") != nil {
			lost = append(lost, "the repository in "+name)
		} else if inside, err := os.ReadDir(filepath.Join(r.dir, name)); err == nil && len(inside) > 0 {
			lost = append(lost, "the files in "+name+", which the index calls a submodule")
		}
	}
	return lost
}

// readable says whether git can read a file.
func readable(name string) bool {
	f, err := openFile(name)
	if err == nil {
		_ = f.Close()
	}
	return err == nil
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
