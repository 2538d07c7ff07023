package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// examine describes what came, if nothing in it is refused, and it is what the user was shown.
func (a *arrival) examine(ctx context.Context) error {
	r, o, id := &a.r, a.o, a.r.Session.ID
	if a.q != nil {
		r.head, r.wip, r.Tip, r.target = a.pub.Head, a.pub.Wip, a.pub.Head, a.pub.Head
		if o.WithWip && r.wip != "" {
			r.target = r.wip
		}
		_, err := a.q.Examine(ctx)
		if no, ok := errors.AsType[*quarantine.RefusedError](err); ok && no.Rule == quarantine.RuleBase {
			return fmt.Errorf("%w\nnothing was changed; have the agent put its work on top with `cco box push --continue %s "+
				"-m \"Rebase your work onto %s\"`", err, id, r.Base)
		}
		if err != nil {
			return a.unchanged(id, advised(err, id, a.pub))
		}
		r.Summary, err = a.q.CommitLines(ctx)
		if err == nil && len(o.Only) == 0 { // what is chosen is looked at by itself
			r.Gate, err = examine(ctx, a.q.Inside(), r.Base, r.offer, &r.Summary)
		}
		if err != nil {
			return err
		}
	}
	if r.target != r.head && r.target == r.wip {
		if top, err := a.q.Preview().IsAncestor(ctx, r.head, r.wip); err != nil || !top {
			return errors.Join(err, fmt.Errorf("what was left uncommitted is not on top of the commits: pull without "+
				"--with-wip, and find it at refs/cco/%s-wip", id))
		}
	}
	if o.Seen != "" && r.Seen() != o.Seen {
		return &StateError{ID: id, State: r.Session.State, Why: "it is not what was shown, something went on in it meanwhile"}
	}
	return nil
}

// unchanged adds to an error that nothing was changed.
func (s *Service) unchanged(id string, err error) error {
	return fmt.Errorf("%w\nnothing was changed; what came is kept in %s", err, s.Exchange(id))
}

// canLand gives the error that landing would give if there is no branch to move.
func (a *arrival) canLand(ctx context.Context) error {
	switch {
	case a.q == nil || a.stays() || a.o.Stay:
		return nil
	case a.o.Branch != "":
		return a.q.Preview().CanCreateBranch(ctx, a.r.Branch, a.r.target)
	}
	return a.q.Preview().CanFastForward(ctx, a.r.Branch, a.r.Base, a.r.target)
}

// land brings what was examined into the repository. Everything that can fail comes before the branch moves: the rest
// is clean-up, which at most warns.
func (a *arrival) land(ctx context.Context) (err error) {
	if a.o.DryRun {
		return a.canLand(ctx)
	}
	if a.o.Leave != nil && !a.o.Stay {
		if a.o.Stay, err = a.o.Leave(a.r, func() error { return a.canLand(ctx) }); err != nil {
			return err
		}
	}
	if a.q != nil {
		got, err := a.q.Import(ctx, a.r.Session.ID)
		if err != nil {
			return err
		}
		a.r.Ref, a.r.WipRef, a.r.Kept = got.Ref, got.WipRef, got.Kept
	}
	if a.o.Stay {
		return nil
	}
	if a.q != nil && !a.stays() {
		if err := a.move(ctx); err != nil {
			return err
		}
	}
	return a.record(ctx)
}

// stays says that no branch has to move, because the commits were pulled before.
func (a *arrival) stays() bool {
	return a.r.Session.State == store.Pulled && a.r.target == a.r.Base && a.o.Branch == ""
}

// move moves the branch.
func (a *arrival) move(ctx context.Context) error {
	r := &a.r
	if r.whole != "" {
		if err := a.q.ImportPick(ctx, r.target, r.known...); err != nil {
			return a.explain(err, true)
		}
	}
	var fwd git.Forwarded
	var err error
	if a.o.Branch != "" {
		fwd, err = a.repo.CreateBranch(ctx, r.Branch, r.target)
	} else {
		fwd, err = a.repo.FastForward(ctx, r.Branch, r.Base, r.target)
	}
	if err != nil {
		onBase := true
		if d, ok := errors.AsType[*git.DivergedError](err); ok {
			onBase, _ = a.repo.IsAncestor(ctx, r.Base, d.Now)
		}
		return a.explain(err, onBase)
	}
	r.Moved, r.Raw, r.Tip = fwd.Moved, fwd.Raw, r.target
	return nil
}

// explain adds advice to the error about a branch that can't be moved.
func (a *arrival) explain(err error, onBase bool) error {
	var gone *git.BranchGoneError
	var diverged *git.DivergedError
	var out *git.CheckedOutError
	id, branch, ref, base := a.r.Session.ID, a.r.Branch, a.r.Ref, git.Short(a.r.Base)
	switch {
	case errors.As(err, &out):
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s --into DIR` brings it to the worktree that has the branch",
			err, ref, id)
	case errors.As(err, &diverged) && len(a.o.Only) > 0:
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s%s --branch NAME` makes a branch of what you chose, for a "+
			"merge", err, ref, id, a.o.words())
	case errors.As(err, &diverged) && !onBase:
		return fmt.Errorf("%w: it no longer has %s, which the work was made on\nthe work is at %s: `git rebase --onto %s %s "+
			"%s` makes it anew on top, and `git checkout -B %s` then takes the branch there; `cco box pull %s --branch NAME` "+
			"makes a branch of it as it is", err, base, ref, branch, base, ref, branch, id)
	case errors.As(err, &diverged):
		return fmt.Errorf("%w\nthe work is at %s: `git merge %s` joins it, `git cherry-pick %s..%s` puts it on top; `cco "+
			"box pull %s --branch NAME` makes a branch of it",
			err, ref, ref, base, ref, id)
	case errors.As(err, &gone):
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s --branch NAME` makes a branch of it", err, ref, id)
	default:
		return fmt.Errorf("%w\nthe work is at %s; mend this and pull again", err, ref)
	}
}

// record records that the work has arrived, and clears the exchange directory.
func (a *arrival) record(ctx context.Context) error {
	// An interrupt must not undo what has arrived.
	ctx = context.WithoutCancel(ctx)
	r := &a.r
	id, repo := r.Session.ID, r.Session.Repo
	done, err := a.Store.UpdateSession(ctx, id, func(v *store.Session) error {
		v.State, v.Cause, v.Reason = store.Pulled, "", ""
		v.Pulled = a.Now()
		v.Tip, v.Wip, v.Repo = cmp.Or(r.whole, r.Tip), r.wip, repo
		// The next run of the same session, if there is one, starts from what the host has now.
		if r.head != "" {
			v.Base = r.head
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("the work is at %s, but that could not be recorded; pull again: %w", r.Branch, err)
	}
	r.Session = done
	a.DropBase(ctx, done)
	if a.o.Keep {
		return nil
	}
	if err := tree.Remove(a.Exchange(id)); err != nil {
		r.Trouble = append(r.Trouble, "the exchange directory could not be cleared: "+err.Error())
	}
	return nil
}
