package aside

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/git"
)

// Holds are places in the worktree that a cage must not let an agent change: git outside believes what it finds there,
// and runs what its configuration names.
type Holds struct {
	Kept  []string // files and directories that stay as they are
	Empty []string // directories in which nothing may be made: submodules that are not checked out
}

// Holds finds the files by which git finds repositories, the submodules that indexes name, the directory of hooks and
// files of settings if they are in the worktree, and other worktrees of the user's that lie in this one.
func (r *Repo) Holds(ctx context.Context) (h Holds, err error) {
	user := r.parts[0].user
	if st, err := os.Lstat(filepath.Join(user.Top, ".git")); err == nil && st.Mode().IsRegular() {
		h.Kept = append(h.Kept, filepath.Join(user.Top, ".git"))
	}
	if hooks := user.HooksInTree(); hooks != "" {
		h.hold(filepath.Join(user.Top, hooks))
	}
	for _, name := range user.IncludesInTree() {
		h.hold(filepath.Join(user.Top, name))
	}
	h.Kept = append(h.Kept, user.NestedWorktrees()...)
	return h, h.submodules(ctx, user, maxNested)
}

// maxNested bounds how deep submodules are in each other.
const maxNested = 8

// submodules holds those that an index names, and those in them.
func (h *Holds) submodules(ctx context.Context, user *git.Repo, deep int) error {
	index, err := user.Host().Out(ctx, "ls-files", "--stage", "-z")
	if err != nil {
		return err
	}
	for record := range strings.SplitSeq(string(index), "\x00") {
		meta, name, ok := strings.Cut(record, "\t")
		if !ok || !strings.HasPrefix(meta, "160000 ") {
			continue
		}
		at := filepath.Join(user.Top, name)
		if !h.hold(filepath.Join(at, ".git")) {
			if st, err := os.Lstat(at); err != nil || st.IsDir() {
				h.Empty = append(h.Empty, at)
			}
			continue
		}
		sub, err := git.Open(ctx, at)
		if err != nil || deep == 0 || sub.Top != at {
			return fmt.Errorf("submodule %s can't be looked at: %w", git.Quote(at), errors.Join(err, errNested))
		}
		if err := h.submodules(ctx, sub, deep-1); err != nil {
			return err
		}
	}
	return nil
}

var errNested = errors.New("it is not a repository of its own, or too deep in others")

// hold holds what is at a name, if there is something.
func (h *Holds) hold(name string) bool {
	_, err := os.Lstat(name)
	if err == nil {
		h.Kept = append(h.Kept, name)
	}
	return err == nil
}
