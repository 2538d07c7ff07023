package git

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
)

// Head is a branch and the commit it is at.
type Head struct {
	Branch string `json:"branch"`
	Commit string `json:"commit"`
}

// Head says what is checked out. It gives a *DetachedError or *UnbornError where there is no branch or no commit.
func (r *Repo) Head(ctx context.Context) (Head, error) {
	ref, err := r.host.Line(ctx, "symbolic-ref", "-q", "HEAD")
	if err != nil && proc.Code(err) != 1 {
		return Head{}, fmt.Errorf("read HEAD: %w", err)
	}
	if err != nil {
		commit, err := r.host.Line(ctx, "rev-parse", "--verify", "HEAD^{commit}")
		if err != nil {
			return Head{}, fmt.Errorf("read HEAD: %w", err)
		}
		return Head{}, &DetachedError{Commit: commit}
	}
	branch, ok := strings.CutPrefix(ref, "refs/heads/")
	if !ok {
		return Head{}, fmt.Errorf("read HEAD: it points at %s, which is not a branch", Quote(ref))
	}
	commit, err := r.Branch(ctx, branch)
	if _, gone := errors.AsType[*BranchGoneError](err); gone {
		return Head{}, &UnbornError{Branch: branch}
	}
	return Head{Branch: branch, Commit: commit}, err
}

// Branch gives the commit that a branch is at; a *BranchGoneError says that there is no such branch.
func (r *Repo) Branch(ctx context.Context, branch string) (string, error) {
	commit, ok, err := r.ref(ctx, "refs/heads/"+branch)
	if err == nil && !ok {
		return "", &BranchGoneError{Branch: branch}
	}
	return commit, err
}

// ref resolves a full ref name to an object id.
func (r *Repo) ref(ctx context.Context, name string) (oid string, ok bool, err error) {
	oid, err = r.host.Line(ctx, "show-ref", "--verify", "--hash", "--", name)
	if err == nil {
		return oid, true, nil
	}
	if noSuchRef(err) {
		return "", false, nil
	}
	return "", false, fmt.Errorf("read ref %s: %w", Quote(name), err)
}

// Dirty lists tracked files that differ from HEAD and untracked ones, at most limit of them (0: all).
func (r *Repo) Dirty(ctx context.Context, limit int) ([]string, error) {
	out, err := r.host.Out(ctx, "status", "--porcelain=v1", "-z", "--no-renames", "--untracked-files=normal",
		"--ignore-submodules=dirty")
	if err != nil {
		return nil, fmt.Errorf("read status: %w", err)
	}
	var files []string
	for _, f := range fields(out) {
		if len(f) > 3 && (limit == 0 || len(files) < limit) {
			files = append(files, f[3:])
		}
	}
	return files, nil
}

// Identity is what git would put into a commit; empty if the user has not set it.
type Identity struct{ Name, Email string }

// Identity gives user.name and user.email.
func (r *Repo) Identity() Identity {
	return Identity{
		Name:  cmp.Or(os.Getenv("GIT_AUTHOR_NAME"), r.get("author.name"), r.get("user.name")),
		Email: cmp.Or(os.Getenv("GIT_AUTHOR_EMAIL"), r.get("author.email"), r.get("user.email")),
	}
}

// IsShallow says whether history is cut off.
func (r *Repo) IsShallow() bool {
	info, err := os.Stat(filepath.Join(r.CommonDir, "shallow"))
	return err == nil && info.Size() > 0
}

// FileState says how a file relates to a commit.
type FileState int

// The states of a file. The zero value promises nothing.
const (
	FileOutside   FileState = iota // not in this worktree, after symlinks are resolved
	FileUntracked                  // in the worktree, not in the commit
	FileModified                   // in the commit, with other content
	FileCommitted                  // in the commit exactly as it is
)

// File is a file of the worktree, seen from a commit.
type File struct {
	State FileState
	Path  string // inside the repository; "" when outside
	Real  string // absolute, symlinks resolved
}

// FileAt says whether the file at path (relative to the current directory) is in commit as it stands. A path that
// doesn't exist is an fs.ErrNotExist.
func (r *Repo) FileAt(ctx context.Context, commit, path string) (File, error) {
	if err := r.CheckOID(commit); err != nil {
		return File{}, err
	}
	f, err := r.locateFile(path)
	if err != nil || f.State == FileOutside {
		return f, err
	}
	entry, err := r.host.Out(ctx, "ls-tree", "-z", "--full-tree", commit, "--", ":(literal)"+f.Path)
	if err != nil {
		return File{}, fmt.Errorf("look up %s: %w", Quote(f.Path), err)
	}
	meta, _, ok := strings.Cut(string(entry), "\t")
	kind := strings.Fields(meta)
	if !ok || len(kind) < 3 || kind[1] != "blob" {
		return f, nil
	}
	f.State = FileModified
	// Filters are off, so this is exact about bytes, except for line endings that git itself converts.
	now, err := r.host.Line(ctx, "hash-object", "--path="+f.Path, "--", f.Real)
	if err != nil {
		return File{}, fmt.Errorf("hash %s: %w", Quote(f.Path), err)
	}
	if now == kind[2] {
		f.State = FileCommitted
	}
	return f, nil
}

func (r *Repo) locateFile(path string) (File, error) {
	abs, err := filepath.Abs(path)
	if err != nil {
		return File{}, err
	}
	real, err := filepath.EvalSymlinks(abs)
	if err != nil {
		return File{}, err
	}
	info, err := os.Stat(real)
	if err != nil {
		return File{}, err
	}
	if !info.Mode().IsRegular() {
		return File{}, &fs.PathError{Op: "open", Path: path, Err: errors.New("not a regular file")}
	}
	top, err := filepath.EvalSymlinks(r.Top)
	if err != nil {
		return File{}, err
	}
	f := File{Real: real}
	rel, err := filepath.Rel(top, real)
	if err != nil || rel == ".." || strings.HasPrefix(rel, ".."+string(filepath.Separator)) {
		return f, nil
	}
	first, _, _ := strings.Cut(filepath.ToSlash(rel), "/")
	if strings.EqualFold(first, ".git") {
		return f, nil
	}
	f.State, f.Path = FileUntracked, filepath.ToSlash(rel)
	return f, nil
}
