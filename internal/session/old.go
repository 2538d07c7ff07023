package session

import (
	"context"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/store"
)

// old refuses to pull a session of a box that shared the user's repository: its commits are there already.
func (s *Service) old(rec store.Session) error {
	b, err := s.Boxes.Record(rec.Box)
	if err != nil || b.Spec.Repo == "" {
		return nil // what is wrong with it, others find out
	}
	return &StateError{ID: rec.ID, State: rec.State, Why: fmt.Sprintf("it worked in a worktree of %s: its commits are "+
		"there, on the branch cco/%[2]s, and `git merge cco/%[2]s` brings them to yours", b.Spec.Repo, rec.ID)}
}

// destroyOld removes a box that shared the user's repository. Its worktrees are the repository's, and may hold work:
// git removes them, unless force does.
func (s Keeping) destroyOld(ctx context.Context, b *box.Box, list []store.Session, force bool) error {
	dir := filepath.Join(b.Dir, "worktrees")
	entries, err := os.ReadDir(dir)
	if ignoreMissing(err) != nil {
		return err
	}
	if len(entries) == 0 || force {
		return s.removeBox(ctx, b.Name, list)
	}
	mend := "remove them, then destroy the box again:"
	for _, e := range entries {
		mend += fmt.Sprintf("\n  git -C '%s' worktree remove '%s'", b.Spec.Repo, filepath.Join(dir, e.Name()))
	}
	return &box.StaleError{Name: b.Name, Why: "it has worktrees of " + b.Spec.Repo, Mend: mend}
}
