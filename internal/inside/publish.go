package inside

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
)

// Publish writes the session's work into its exchange directory: the commits from the base to HEAD, uncommitted work as
// a commit of its own, and result.json last. It can run again at any time.
func Publish(ctx context.Context, j Job) error {
	if err := os.Remove(filepath.Join(j.Exchange, ResultFile)); err != nil && !errors.Is(err, os.ErrNotExist) {
		// The agent may have put a directory in its place.
		if err := tree.Remove(filepath.Join(j.Exchange, ResultFile)); err != nil {
			return fmt.Errorf("publish: %w", err)
		}
	}
	r, err := collect(ctx, j)
	if err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	data, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := replace(filepath.Join(j.Exchange, ResultFile), data); err != nil {
		return fmt.Errorf("publish: %w", err)
	}
	return nil
}

func collect(ctx context.Context, j Job) (Result, error) {
	unlock(j)
	dropIncludes(ctx, j)
	work := repo{dir: j.Workspace}
	r := Result{Session: j.Session, Base: j.Base, NoWip: j.NoWip}
	at, err := place{}, sweep(j)
	if err == nil {
		at, err = findHead(ctx, work, j)
	}
	if err != nil {
		var saved error
		if work.gitDir, saved = salvage(ctx, j); saved != nil {
			return r, fmt.Errorf("find HEAD: %w", errors.Join(err, saved))
		}
		defer func() { _ = tree.Remove(work.gitDir) }()
		r.Salvaged = true
		if at, err = find(ctx, work, j.Base); err != nil {
			return r, fmt.Errorf("find the base: %w", err)
		}
	}
	r.Head = at.offer
	var l left
	if !j.NoWip {
		if l, err = leftovers(ctx, j, work, at); ctx.Err() != nil {
			return r, fmt.Errorf("keep uncommitted work: %w", err)
		}
		if r.Wip, r.Lost = l.commit, l.lost; err != nil {
			r.Lost = append(r.Lost, "what was left uncommitted: "+firstOf("", err))
		}
	}
	// Leftovers from elsewhere than the branch stay beside it.
	if r.Wip != "" && j.Message != "" && at.offer == at.head {
		if err := work.adopt(ctx, at, r.Wip); err != nil {
			return r, fmt.Errorf("commit what was left: %w", err)
		}
		r.Head, r.Wip = r.Wip, ""
	}
	r.Ignored = ignored(ctx, work)
	if j.Shared {
		r.bound()
		return r, nil // most branches of a shared repository are not this session's
	}
	if r.Salvaged {
		r.Lost = append(r.Lost, broken(j)...)
	}
	beside := keep(ctx, work, j, &r, at.head, l.staged)
	if r.Bundle, err = output(ctx, work, j, r); err != nil {
		return r, err
	}
	err = rest(ctx, work, j, &r, beside)
	r.bound()
	return r, err
}

// broken names a repository that exists and can't be read. One that was removed holds nothing any more.
func broken(j Job) []string {
	if _, err := os.Lstat(filepath.Join(j.Workspace, ".git")); err != nil {
		return nil
	}
	return []string{"what else is in its repository, which is broken"}
}

// unlock removes locks of a git that was killed. Nothing else runs while Publish does: the agent has ended.
func unlock(j Job) {
	if j.Shared {
		return // the repository is the user's own
	}
	for _, f := range []string{"index", "HEAD", "packed-refs", OutRef, WipRef, "refs/heads/" + j.Branch} {
		_ = os.Remove(filepath.Join(j.Workspace, ".git", filepath.FromSlash(f)+".lock")) // usually there is none
	}
}

// place is the state of a workspace: its files belong to head, and offer is the commit that it publishes.
type place struct{ head, tree, index, offer string }

// findHead finds HEAD. An agent may have left it unborn or broken; then the branch is the next best. If HEAD was left
// elsewhere, detached or on another branch, and doesn't contain the branch's new commits, those commits are what was
// asked for.
func findHead(ctx context.Context, work repo, j Job) (at place, err error) {
	if err := usable(j); err != nil {
		return place{}, err
	}
	for _, rev := range []string{"HEAD", "refs/heads/" + j.Branch} {
		if at, err = find(ctx, work, rev); err == nil {
			break
		}
	}
	if err != nil {
		return at, err
	}
	branch := work.elsewhere(ctx, j, at.head)
	// If HEAD is behind the base it has no commits to offer, but its differences from the base are work.
	if at.head != j.Base && work.contains(ctx, j.Base, at.head) {
		if at, err = find(ctx, work, j.Base); err != nil {
			return at, err
		}
	}
	if branch != "" {
		at.offer = branch
	}
	return at, nil
}

// elsewhere is the branch's commit, if HEAD does not contain the branch's new commits.
func (r repo) elsewhere(ctx context.Context, j Job, head string) string {
	name := "refs/heads/" + j.Branch
	if at, err := readSmall(filepath.Join(adminDir(j.Workspace), "HEAD")); j.Shared || err == nil &&
		strings.TrimSpace(at) == "ref: "+name {
		return "" // in a shared repository the branch is the user's
	}
	branch, err := r.line(ctx, "rev-parse", "--verify", "--quiet", name+"^{commit}")
	if err != nil || r.contains(ctx, head, branch) || r.contains(ctx, j.Base, branch) {
		return ""
	}
	return branch
}

// contains says whether a commit is another one or a descendant of it.
func (r repo) contains(ctx context.Context, commit, earlier string) bool {
	return r.run(ctx, "merge-base", "--is-ancestor", earlier, commit) == nil
}

func find(ctx context.Context, work repo, rev string) (place, error) {
	out, err := work.line(ctx, "rev-parse", rev+"^{commit}", rev+"^{tree}", "--git-path", "index")
	f := strings.Split(out, "\n")
	if err != nil || len(f) != 3 {
		return place{}, errors.Join(err, errors.New("the workspace has no commit"))
	}
	index := f[2]
	if !filepath.IsAbs(index) {
		index = filepath.Join(work.dir, index)
	}
	return place{f[0], f[1], index, f[0]}, nil
}

// usable refuses what git would wait for forever: a FIFO in the place of a file.
func usable(j Job) error {
	if j.Shared {
		return nil // out of the agent's reach
	}
	for _, name := range []string{"HEAD", "config", "index", "packed-refs", "shallow", "objects/info/alternates",
		"info/exclude", "info/attributes"} {
		info, err := os.Stat(filepath.Join(j.Workspace, ".git", filepath.FromSlash(name)))
		if err == nil && !info.Mode().IsRegular() {
			return fmt.Errorf(".git/%s is not a file", name)
		}
	}
	return nil
}

// salvage replaces a repository that is gone or broken, so that at least the files are kept. The new one has the
// store's objects.
func salvage(ctx context.Context, j Job) (gitDir string, err error) {
	if j.Shared || j.Store == "" {
		return "", errors.New("there is nothing to start from")
	}
	if gitDir, err = os.MkdirTemp(j.Exchange, ".cco-salvage-"); err != nil {
		return "", err
	}
	err = errors.Join(skeleton(gitDir, j), borrow(gitDir, j))
	if err == nil {
		err = repo{dir: j.Workspace, gitDir: gitDir}.run(ctx, "cat-file", "-e", j.Base+"^{commit}")
	}
	if err != nil {
		return "", errors.Join(err, tree.Remove(gitDir))
	}
	return gitDir, nil
}

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
	if work, err = work.calm(ctx); err != nil {
		return l, err
	}
	work.index = filepath.Join(dir, "index")
	// Files outside a sparse checkout are work as well.
	work.env = []string{"GIT_CONFIG_PARAMETERS='core.sparseCheckout=false'"}
	// The agent's index is copied, so that unchanged files need not be hashed again.
	seed, err := os.ReadFile(at.index)
	if err == nil {
		err = os.WriteFile(work.index, seed, 0o600)
	}
	if err == nil {
		err = work.unhide(ctx)
	}
	fresh := err != nil
	if fresh {
		// A missing, corrupt or half-written index must not cost the agent's work: start from HEAD instead.
		if err := work.fromHead(ctx, at.head); err != nil {
			return l, err
		}
	}
	if l, err = work.files(ctx, j, at, fresh); err != nil || fresh {
		return l, err
	}
	if err := work.onlyStaged(ctx, j, at, seed, &l); err != nil {
		l.lost = append(l.lost, "what is staged: "+firstOf("", err))
	}
	return l, nil
}

// files makes the commit of the files.
func (r repo) files(ctx context.Context, j Job, at place, fresh bool) (l left, err error) {
	if l.lost, err = r.addAll(ctx, j.most(), fresh); err != nil {
		return l, err
	}
	tree, err := r.line(ctx, "write-tree")
	if err != nil || tree == at.tree {
		return l, err
	}
	large, err := r.unstage(ctx, at.tree, tree, j.most())
	if err != nil {
		return l, err
	}
	if len(large) > 0 {
		l.lost = append(l.lost, large...)
		if tree, err = r.line(ctx, "write-tree"); err != nil || tree == at.tree {
			return l, err
		}
	}
	l.commit, err = r.commitTree(ctx, tree, at.head, cmp.Or(j.Message, "Work left uncommitted in session "+j.Session))
	return l, err
}

// unhide lets an index see the files that git was told to ignore. Files that a sparse checkout has left out stay out.
func (r repo) unhide(ctx context.Context) error {
	out, err := r.text(ctx, nil, "ls-files", "-v", "-z")
	if err != nil {
		return err
	}
	var assumed, skipped strings.Builder
	for entry := range strings.SplitSeq(out, "\x00") {
		tag, name, _ := strings.Cut(entry, " ")
		if tag == "" {
			continue
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
				return err
			}
		}
	}
	return nil
}

// addAll takes all files into the index, and reports what can't be taken: an unreadable or too large file, the inside
// of a repository. A fresh index knows nothing of the files yet.
func (r repo) addAll(ctx context.Context, most int64, fresh bool) (lost []string, err error) {
	large, err := r.large(ctx, most, fresh)
	if err != nil {
		return nil, err
	}
	c := r.cmd("add", "-A", "--ignore-errors", "--pathspec-from-file=-", "--pathspec-file-nul")
	paths := "."
	for _, f := range large {
		lost = append(lost, f.words(most))
		paths += "\x00:(top,exclude,literal)" + f.name
	}
	links, err := r.links(ctx)
	if err != nil {
		return nil, err
	}
	for _, name := range links {
		// git would ask a repository inside for its state, with only that repository's own configuration.
		if _, err := os.Lstat(filepath.Join(adminDir(filepath.Join(r.dir, name)), "HEAD")); err == nil {
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
	if links, err = r.links(ctx); err != nil {
		return nil, err
	}
	var inner strings.Builder
	for _, name := range links {
		switch info, err := os.Lstat(filepath.Join(r.dir, name, ".git")); {
		case err != nil: // a submodule that was not sent
		case !info.IsDir() && r.worktreeOf(filepath.Join(r.dir, name)):
			inner.WriteString(name + "\x00")
		default:
			lost = append(lost, "the repository in "+name)
		}
	}
	if inner.Len() > 0 {
		_, err = r.text(ctx, strings.NewReader(inner.String()), "update-index", "--force-remove", "-z", "--stdin")
	}
	return lost, err
}

// links are the repositories in the index.
func (r repo) links(ctx context.Context) (names []string, err error) {
	out, err := r.text(ctx, nil, "ls-files", "-s", "-z")
	for entry := range strings.SplitSeq(out, "\x00") {
		if meta, name, _ := strings.Cut(entry, "\t"); strings.HasPrefix(meta, "160000 ") {
			names = append(names, name)
		}
	}
	return names, err
}

// worktreeOf says whether a directory is a worktree of this repository. Those are handled separately.
func (r repo) worktreeOf(dir string) bool {
	main := r.gitDir
	if main == "" {
		main = adminDir(r.dir)
	}
	if above := filepath.Dir(main); filepath.Base(above) == "worktrees" {
		main = filepath.Dir(above)
	}
	return filepath.Dir(adminDir(dir)) == filepath.Join(main, "worktrees")
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

// adopt moves the branch to a commit of its leftovers. The files stay unchanged; the index follows.
func (r repo) adopt(ctx context.Context, at place, commit string) error {
	r, err := r.calm(ctx)
	if err != nil {
		return err
	}
	if err := r.run(ctx, "reset", "-q", "--mixed", commit, "--"); err == nil {
		return nil
	}
	// The index is corrupt, or locked by a program that is gone.
	for _, f := range []string{at.index, at.index + ".lock"} {
		if err := tree.Remove(f); err != nil {
			return err
		}
	}
	return r.run(ctx, "reset", "-q", "--mixed", commit, "--")
}

func (r repo) fromHead(ctx context.Context, head string) error {
	if err := os.Remove(r.index); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return r.run(ctx, "read-tree", head)
}

func output(ctx context.Context, work repo, j Job, r Result) (*Sum, error) {
	var refs []string
	for _, ref := range [][2]string{{OutRef, r.Head}, {WipRef, r.Wip}} {
		if ref[1] == "" || ref[1] == j.Base {
			// git refuses to bundle a ref without new commits; a stale ref of an earlier round must not be sent either.
			_ = work.run(ctx, "update-ref", "-d", ref[0])
			continue
		}
		if err := work.run(ctx, "update-ref", ref[0], ref[1]); err != nil {
			return nil, err
		}
		refs = append(refs, ref[0])
	}
	return bundle(ctx, work, filepath.Join(j.Exchange, OutputBundle), append(refs, "^"+j.Base), len(refs))
}

// bundle writes a bundle completely or not at all. Without refs it writes none, and removes an old one.
func bundle(ctx context.Context, work repo, path string, revs []string, refs int) (*Sum, error) {
	if err := tree.Remove(path); err != nil {
		return nil, err
	}
	if refs == 0 {
		return nil, nil
	}
	tmp := path + ".tmp"
	// git's own lock stays when git is killed, and would be in the way for ever.
	if err := errors.Join(tree.Remove(tmp), tree.Remove(tmp+".lock")); err != nil {
		return nil, err
	}
	if err := work.run(ctx, append([]string{"bundle", "create", "-q", tmp}, revs...)...); err != nil {
		return nil, err
	}
	sum, err := checksum(tmp)
	if err != nil {
		return nil, err
	}
	return sum, os.Rename(tmp, path)
}

func checksum(path string) (*Sum, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	n, err := io.Copy(h, f)
	if err == nil {
		err = f.Sync()
	}
	return &Sum{Size: n, SHA256: hex.EncodeToString(h.Sum(nil))}, err
}

// replace writes a file completely or not at all, whatever was there.
func replace(path string, data []byte) error {
	f, err := os.CreateTemp(filepath.Dir(path), ".cco-*")
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	err = errors.Join(err, f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		_ = os.Remove(f.Name())
	}
	return err
}
