package session

import (
	"cmp"
	"context"
	"fmt"

	"github.com/cco-dev/cco/internal/git"
)

// Join is a way to bring work to a branch that has moved on.
type Join string

// The ways.
const (
	Merge  Join = "merge"  // with a commit that joins both
	Rebase Join = "rebase" // the commits made anew on top
)

// join makes in quarantine what can be fast-forwarded to. Of the branch's own commits nothing is new to the user, so
// that the gate has seen all of it.
func (a *arrival) join(ctx context.Context) error {
	r, how := &a.r, a.o.Join
	if how == "" || a.q == nil {
		return nil
	}
	now, err := a.repo.Branch(ctx, r.Branch)
	if err != nil {
		return err
	}
	in, by, made := a.q.Inside(), a.Identity(a.repo), ""
	if how == Rebase {
		made, err = in.Replay(ctx, r.Base, r.target, now, by)
	} else {
		var merged git.Automerged
		if merged, err = in.Automerge(ctx, now, r.target); err == nil && len(merged.Conflicts) > 0 {
			err = &git.ConflictError{Files: merged.Conflicts}
		}
		if err == nil {
			made, err = in.Join(ctx, git.Join{Ours: r.target, Theirs: now, Tree: merged.Tree, By: by,
				Message: fmt.Sprintf("Merge session %s into %s\n", r.Session.ID, r.Branch)})
		}
	}
	if err != nil {
		return fmt.Errorf("%s: %w", how, err)
	}
	r.whole = cmp.Or(r.whole, r.target)
	r.target, r.known = made, []string{now}
	return nil
}
