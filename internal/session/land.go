package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// examine describes what came, if nothing in it is refused. With a nil quarantine there is nothing new.
func (s HandOff) examine(ctx context.Context, q *quarantine.Repo, rec store.Session, pub inside.Result,
	o PullOptions) (PullResult, error) {
	r := PullResult{
		Session: rec, DryRun: o.DryRun, Base: rec.Base, Tip: rec.Base, Branch: rec.Branch, Others: pub.Others,
		offer: offer{target: rec.Base},
	}
	if o.Branch != "" {
		r.Branch = o.Branch
	}
	if q == nil {
		return r, nil
	}
	r.head, r.wip = pub.Head, pub.Wip
	r.Tip, r.target = pub.Head, pub.Head
	if o.WithWip && r.wip != "" {
		r.target = r.wip
	}
	_, err := q.Examine(ctx)
	if no, ok := errors.AsType[*quarantine.RefusedError](err); ok && no.Rule == quarantine.RuleBase {
		return r, fmt.Errorf("%w\nnothing was changed; have the agent put its work on top with `cco box push --continue %s "+
			"-m \"Rebase your work onto %s\"`",
			err, rec.ID, rec.Base)
	}
	if err != nil {
		return r, s.unchanged(rec.ID, err)
	}
	if r.Summary, err = q.CommitLines(ctx); err == nil && len(o.Only) == 0 { // what is chosen is looked at by itself
		err = s.look(ctx, q.Inside(), &r)
	}
	if err != nil || r.target == r.head {
		return r, err
	}
	if top, err := q.Preview().IsAncestor(ctx, r.head, r.wip); err != nil || !top {
		return r, errors.Join(err, fmt.Errorf(
			"what was left uncommitted is not on top of the commits: pull without --with-wip, and find it at refs/cco/%s-wip",
			rec.ID))
	}
	return r, nil
}

// unchanged adds to an error that nothing was changed.
func (s HandOff) unchanged(id string, err error) error {
	return fmt.Errorf("%w\nnothing was changed; what came is kept in %s", err, s.Exchange(id))
}

// canImport gives the error that importWork would give if there is no branch to move.
func (s HandOff) canImport(ctx context.Context, q *quarantine.Repo, r PullResult, o PullOptions) error {
	if q == nil {
		return nil
	}
	repo := q.Preview()
	if r.stays(o) || o.Stay {
		return nil
	}
	if o.Branch != "" {
		return repo.CanCreateBranch(ctx, r.Branch, r.target)
	}
	return repo.CanFastForward(ctx, r.Branch, r.Base, r.target)
}

// importWork brings what was examined into the repository. Everything that can fail comes before the branch moves: the
// rest is clean-up, which at most warns.
func (s HandOff) importWork(ctx context.Context, repo *git.Repo, q *quarantine.Repo, r PullResult,
	o PullOptions) (PullResult, error) {
	rec := r.Session
	if q == nil && !o.Stay {
		return s.recordPulled(ctx, r, o)
	}
	if q == nil {
		return r, nil
	}
	imported, err := q.Import(ctx, rec.ID)
	if err != nil {
		return r, err
	}
	r.Ref, r.WipRef, r.Kept = imported.Ref, imported.WipRef, imported.Kept
	if o.Stay {
		return r, nil
	}
	if r.stays(o) {
		return s.recordPulled(ctx, r, o)
	}
	if r.whole != "" {
		if err := q.ImportPick(ctx, r.target, r.known...); err != nil {
			return r, s.explain(err, rec, r.Branch, imported.Ref, true, o)
		}
	}
	fwd, err := s.forward(ctx, repo, rec, r.Branch, r.target, o)
	if err != nil {
		onBase := true
		if d, ok := errors.AsType[*git.DivergedError](err); ok {
			onBase, _ = repo.IsAncestor(ctx, rec.Base, d.Now)
		}
		return r, s.explain(err, rec, r.Branch, imported.Ref, onBase, o)
	}
	r.Moved, r.Raw, r.Tip = fwd.Moved, fwd.Raw, r.target
	return s.recordPulled(ctx, r, o)
}

// stays says that no branch has to move, because the commits were pulled before.
func (r PullResult) stays(o PullOptions) bool {
	return r.Session.State == store.Pulled && r.target == r.Base && o.Branch == ""
}

func (s HandOff) forward(ctx context.Context, repo *git.Repo, rec store.Session, branch, target string,
	o PullOptions) (git.Forwarded, error) {
	if o.Branch != "" {
		return repo.CreateBranch(ctx, branch, target)
	}
	return repo.FastForward(ctx, branch, rec.Base, target)
}

// explain adds advice to the error about a branch that can't be moved.
func (s HandOff) explain(err error, rec store.Session, branch, ref string, onBase bool,
	o PullOptions) error {
	var gone *git.BranchGoneError
	var diverged *git.DivergedError
	var out *git.CheckedOutError
	switch {
	case errors.As(err, &out):
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s --into DIR` brings it to the worktree that has the branch",
			err, ref, rec.ID)
	case errors.As(err, &diverged) && len(o.Only) > 0:
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s%s --branch NAME` makes a branch of what you chose, for a "+
			"merge", err, ref, rec.ID, o.words())
	case errors.As(err, &diverged) && !onBase:
		base := git.Short(rec.Base)
		return fmt.Errorf("%w: it no longer has %s, which the work was made on\nthe work is at %s: `git rebase --onto %s %s "+
			"%s` makes it anew on top, and `git checkout -B %s` then takes the branch there; `cco box pull %s --branch NAME` "+
			"makes a branch of it as it is", err, base, ref, branch, base, ref, branch, rec.ID)
	case errors.As(err, &diverged):
		return fmt.Errorf("%w\nthe work is at %s: `git merge %s` joins it, `git cherry-pick %s..%s` puts it on top; `cco "+
			"box pull %s --branch NAME` makes a branch of it",
			err, ref, ref, rec.Base[:10], ref, rec.ID)
	case errors.As(err, &gone):
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s --branch NAME` makes a branch of it", err, ref, rec.ID)
	default:
		return fmt.Errorf("%w\nthe work is at %s; mend this and pull again", err, ref)
	}
}

// recordPulled records that the work has arrived, and clears the exchange directory.
func (s HandOff) recordPulled(ctx context.Context, r PullResult, o PullOptions) (PullResult, error) {
	// An interrupt must not undo what has arrived.
	ctx = context.WithoutCancel(ctx)
	id, repo := r.Session.ID, r.Session.Repo
	done, err := s.Store.UpdateSession(ctx, id, func(v *store.Session) error {
		v.State, v.Cause, v.Reason = store.Pulled, "", ""
		v.Pulled = s.Now()
		v.Tip, v.Wip, v.Repo = cmp.Or(r.whole, r.Tip), r.wip, repo
		// The next run of the same session, if there is one, starts from what the host has now.
		if r.head != "" {
			v.Base = r.head
		}
		return nil
	})
	if err != nil {
		return r, fmt.Errorf("the work is at %s, but that could not be recorded; pull again: %w", r.Branch, err)
	}
	r.Session = done
	s.dropBase(ctx, done)
	if o.Keep {
		return r, nil
	}
	if err := tree.Remove(s.Exchange(id)); err != nil {
		r.Trouble = append(r.Trouble, "the exchange directory could not be cleared: "+err.Error())
	}
	return r, nil
}
