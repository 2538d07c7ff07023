package session

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// PullOptions say how a session's work is brought back.
type PullOptions struct {
	Dir      string // where the command was given: the repository may be there if it is no longer where it was
	Into     string // a checkout of the repository, in place of the one that was pushed from
	Timeout  time.Duration
	Interval time.Duration
	DryRun   bool
	Branch   string // a branch to make instead of moving the recorded one
	Partial  bool   // also what a failed agent did
	WithWip  bool   // also what was left uncommitted
	Keep     bool   // leave the exchange directory
	Bundle   int64  // the largest bundle taken
	Limits   git.Limits
}

// PullResult is what came back.
type PullResult struct {
	Session  store.Session `json:"session"`
	DryRun   bool          `json:"dry_run,omitempty"`
	Again    bool          `json:"again,omitempty"` // it was pulled before, nothing was done
	Base     string        `json:"base"`
	Tip      string        `json:"tip"`
	Branch   string        `json:"branch"`
	Ref      string        `json:"ref,omitempty"`
	WipRef   string        `json:"wip_ref,omitempty"`
	Kept     []string      `json:"kept,omitempty"`
	Moved    bool          `json:"moved"`
	Raw      []string      `json:"raw,omitempty"`
	Summary  git.Summary   `json:"summary"`
	Warnings []git.Warning `json:"warnings,omitempty"`
	Others   []string      `json:"others,omitempty"` // other branches in the workspace, saved in Rest
	Rest     string        `json:"rest,omitempty"`
	Salvaged bool          `json:"salvaged,omitempty"` // its repository was broken: only its files came
	Took     time.Duration `json:"took"`

	head, wip string // as they were published
}

// maxResult bounds result.json and error.txt.
const maxResult = 64 << 10

// Pull waits for a session and brings its commits into the user's repository. Unless all of it passes every check,
// nothing there changes and everything stays where it is.
func (s *Service) Pull(ctx context.Context, id string, o PullOptions) (PullResult, error) {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return PullResult{}, err
	}
	lock, err := s.lock(id, "pull.lock")
	if errors.Is(err, errLocked) {
		return PullResult{}, &BusyError{ID: id, What: "pull"}
	}
	if err != nil {
		return PullResult{}, err
	}
	defer func() { _ = lock.Close() }()
	if rec, err = s.await(ctx, id, o); err != nil {
		return PullResult{}, err
	}
	if rec.State == store.Pulled {
		return PullResult{Session: rec, Again: true, Base: rec.Base, Tip: rec.Tip, Branch: rec.Branch, Ref: "refs/cco/" + id}, nil
	}
	if err := s.looked(ctx, rec); err != nil {
		return PullResult{}, err
	}
	r, err := s.bring(ctx, rec, o)
	if err != nil {
		return r, fmt.Errorf("pull %s: %w", id, err)
	}
	return r, nil
}

func (s *Service) bring(ctx context.Context, rec store.Session, o PullOptions) (PullResult, error) {
	start := s.Now()
	repo, err := s.repository(ctx, rec, o.where())
	if err != nil {
		return PullResult{}, err
	}
	rec.Repo = repo.Top
	if o.Branch != "" {
		if err := repo.CheckBranch(ctx, o.Branch); err != nil {
			return PullResult{}, err
		}
	}
	published, err := s.published(ctx, rec)
	if rec.State != store.Done && !o.Partial {
		return PullResult{}, s.failure(rec, published, err)
	}
	if err != nil {
		return PullResult{}, err
	}
	q, err := s.quarantine(ctx, repo, rec, published, o)
	if err != nil {
		return PullResult{}, fmt.Errorf("%w\nnothing was changed; what came is kept in %s", err, s.exchange(rec.ID))
	}
	if q != nil {
		defer func() { _ = q.Close() }()
	}
	r, err := s.land(ctx, repo, q, rec, published, o)
	r.Took = s.Now().Sub(start)
	if err != nil || o.DryRun {
		return r, err
	}
	return s.close(ctx, rec, r, o)
}

// Failure says of a session that has ended badly what it left and what the user can do.
func (s *Service) Failure(rec store.Session) error {
	published, err := s.readResult(rec)
	if missing := (*git.RefusedError)(nil); errors.As(err, &missing) && missing.Rule == git.RuleMissing {
		published, err = inside.Result{Head: rec.Base}, nil // nothing was published, because nothing was begun
	}
	return s.failure(rec, published, err)
}

// MadeNothing says that a session has ended and left neither commits nor changes.
func (s *Service) MadeNothing(rec store.Session) bool {
	r, err := s.readResult(rec)
	return err == nil && r.Head == rec.Base && r.Wip == "" && len(r.Others) == 0
}

// failure tells what an agent that did not finish has left.
func (s *Service) failure(rec store.Session, published inside.Result, err error) error {
	if err == nil {
		if pending := s.pending(rec, published); pending != nil {
			return pending
		}
	}
	f := &FailedError{ID: rec.ID, State: rec.State, Reason: rec.Reason, Words: s.errorText(rec.ID)}
	switch {
	case s.frozenBy(rec) != nil:
		f.Next = fmt.Sprintf("look with `cco guard canary %s`, then undo or accept it; its own work is kept until then", rec.ID)
	case err != nil:
		f.Next = "its work could not be read: " + err.Error()
	case published.Bundle == nil && published.Head == rec.Base && published.Wip == "":
		f.Next = fmt.Sprintf("it left no commits; see `cco box logs %s`, try again with `cco box push --continue %s`", rec.ID, rec.ID)
	default:
		f.Next = fmt.Sprintf("its work is kept: bring it with `cco box pull %s --partial`, go on with `cco box push --continue %s`", rec.ID, rec.ID)
	}
	return f
}

// published reads what the session offers, and has it published first where that has not happened.
func (s *Service) published(ctx context.Context, rec store.Session) (inside.Result, error) {
	if r, err := s.readResult(rec); err == nil {
		return r, nil
	}
	if rec.Started.IsZero() {
		return inside.Result{Session: rec.ID, Base: rec.Base, Head: rec.Base}, nil // no agent was ever there to leave anything
	}
	lock, err := s.keeperLock(rec.ID)
	if errors.Is(err, errLocked) {
		return inside.Result{}, &BusyError{ID: rec.ID, What: "push"}
	}
	if err != nil {
		return inside.Result{}, err
	}
	defer func() { _ = lock.Close() }()
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err != nil {
		return inside.Result{}, err
	}
	s.Report("publishing what session %s left", rec.ID)
	if err := s.publish(ctx, b, d, rec); err != nil {
		return inside.Result{}, err
	}
	return s.readResult(rec)
}

func (s *Service) readResult(rec store.Session) (r inside.Result, err error) {
	data, err := s.readOut(rec.ID, inside.ResultFile, maxResult)
	if err != nil {
		return r, err
	}
	if err := json.Unmarshal(data, &r); err != nil {
		return r, fmt.Errorf("read %s: %w", inside.ResultFile, err)
	}
	if r.Session != rec.ID || r.Base != rec.Base {
		return r, fmt.Errorf("%s is not about this session and its base", inside.ResultFile)
	}
	return r, nil
}

// readOut reads a small file of the exchange directory by way of a copy that nobody else can change.
func (s *Service) readOut(id, name string, limit int64) ([]byte, error) {
	dir, err := os.MkdirTemp(s.dir(id), "out-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = tree.Remove(dir) }()
	dst := filepath.Join(dir, name)
	if _, err := git.CopyOut(context.Background(), s.exchange(id), name, dst, limit); err != nil { //nolint:contextcheck // at most 64 KiB
		return nil, err
	}
	return os.ReadFile(dst)
}

// errorText is what an agent wrote into error.txt, fit to be shown; "" if there is none.
func (s *Service) errorText(id string) string {
	if _, err := os.Lstat(filepath.Join(s.exchange(id), inside.ErrorFile)); err != nil {
		return ""
	}
	data, err := s.readOut(id, inside.ErrorFile, maxResult)
	if err != nil {
		return "error.txt could not be read: " + err.Error()
	}
	if words := cleanLines(string(data)); words != "" {
		return words
	}
	return "error.txt is empty"
}

// quarantine copies the bundle out of the agent's reach, unpacks and examines it. It is nil if there is nothing new.
func (s *Service) quarantine(ctx context.Context, repo *git.Repo, rec store.Session, pub inside.Result, o PullOptions) (*git.Quarantine, error) {
	_, d, err := s.Boxes.Find(rec.Box)
	if err != nil {
		return nil, err
	}
	_, shared := d.(box.Sharer)
	if pub.Bundle == nil && !shared || pub.Head == rec.Base && pub.Wip == "" {
		return nil, nil
	}
	dir := filepath.Join(s.dir(rec.ID), "quarantine")
	if err := tree.Remove(dir); err != nil {
		return nil, err
	}
	s.Report("checking what came")
	q, err := repo.Quarantine(ctx, dir, git.QuarantineOptions{Limits: o.Limits, Progress: s.gitProgress()})
	if err != nil {
		return nil, err
	}
	if err := s.fill(ctx, q, rec, pub, shared, o.Bundle); err != nil {
		return nil, errors.Join(err, q.Close())
	}
	return q, nil
}

func (s *Service) fill(ctx context.Context, q *git.Quarantine, rec store.Session, pub inside.Result, shared bool, limit int64) error {
	if shared {
		_, err := q.Adopt(ctx, rec.Base, pub.Head, pub.Wip)
		return err
	}
	bundle := filepath.Join(q.Dir, "cco-copy.bundle")
	got, err := git.CopyOut(ctx, s.exchange(rec.ID), inside.OutputBundle, bundle, limit)
	if err != nil {
		return err
	}
	if got.SHA256 != pub.Bundle.SHA256 {
		return fmt.Errorf("%s is not the file that was published: its sum differs", inside.OutputBundle)
	}
	found, err := q.Unpack(ctx, bundle, rec.Base)
	if err != nil {
		return err
	}
	if found.Tip != pub.Head || found.Wip != pub.Wip {
		return fmt.Errorf("%s holds other commits than %s says", inside.OutputBundle, inside.ResultFile)
	}
	return os.Remove(bundle)
}

// land examines, imports and moves the branch.
func (s *Service) land(ctx context.Context, repo *git.Repo, q *git.Quarantine, rec store.Session, pub inside.Result, o PullOptions) (PullResult, error) {
	r := PullResult{Session: rec, DryRun: o.DryRun, Base: rec.Base, Tip: rec.Base, Branch: rec.Branch, Others: pub.Others, Salvaged: pub.Salvaged}
	if o.Branch != "" {
		r.Branch = o.Branch
	}
	if q == nil {
		return r, nil
	}
	r.Tip, r.head, r.wip = pub.Head, pub.Head, pub.Wip
	report, err := q.Examine(ctx)
	if no, ok := errors.AsType[*git.RefusedError](err); ok && no.Rule == git.RuleBase {
		return r, fmt.Errorf("%w\nnothing was changed; have the agent put its work on top with `cco box push --continue %s -m \"Rebase your work onto %s\"`",
			err, rec.ID, rec.Base)
	}
	if err != nil {
		return r, fmt.Errorf("%w\nnothing was changed; what came is kept in %s", err, s.exchange(rec.ID))
	}
	r.Warnings = report.Warnings
	if r.Summary, err = q.Summary(ctx); err != nil {
		return r, err
	}
	target := r.Tip
	if o.WithWip && r.wip != "" {
		target = r.wip
	}
	if o.DryRun {
		if o.Branch == "" {
			err = repo.CanFastForward(ctx, r.Branch, rec.Base, target)
		}
		return r, err
	}
	imported, err := q.Import(ctx, rec.ID)
	if err != nil {
		return r, err
	}
	r.Ref, r.WipRef, r.Kept = imported.Ref, imported.WipRef, imported.Kept
	fwd, err := s.forward(ctx, repo, rec, r.Branch, target, o)
	if err != nil {
		return r, s.explain(err, rec, imported.Ref)
	}
	r.Moved, r.Raw, r.Tip = fwd.Moved, fwd.Raw, target
	return r, nil
}

func (s *Service) forward(ctx context.Context, repo *git.Repo, rec store.Session, branch, target string, o PullOptions) (git.Forwarded, error) {
	if o.Branch != "" {
		return repo.CreateBranch(ctx, branch, target)
	}
	return repo.FastForward(ctx, branch, rec.Base, target)
}

// explain adds to a branch that can't be moved what a person would do about it.
func (s *Service) explain(err error, rec store.Session, ref string) error {
	var gone *git.BranchGoneError
	var diverged *git.DivergedError
	var out *git.CheckedOutError
	switch {
	case errors.As(err, &out):
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s --into DIR` brings it to the worktree that has the branch", err, ref, rec.ID)
	case errors.As(err, &diverged):
		return fmt.Errorf("%w\nthe work is at %s: `git merge %s` joins it, `git cherry-pick %s..%s` puts it on top; `cco box pull %s --branch NAME` makes a branch of it",
			err, ref, ref, rec.Base[:10], ref, rec.ID)
	case errors.As(err, &gone):
		return fmt.Errorf("%w\nthe work is at %s: `cco box pull %s --branch NAME` makes a branch of it", err, ref, rec.ID)
	default:
		return fmt.Errorf("%w\nthe work is at %s; mend this and pull again", err, ref)
	}
}

// close records that the work has arrived, saves what is beside it, and clears the exchange directory.
func (s *Service) close(ctx context.Context, rec store.Session, r PullResult, o PullOptions) (PullResult, error) {
	// What has arrived stays arrived, also when the user interrupts now.
	ctx = context.WithoutCancel(ctx)
	var err error
	if len(r.Others) > 0 {
		if r.Rest, err = s.bury(ctx, rec.ID, inside.RestBundle, o.Bundle); err != nil {
			return r, fmt.Errorf("save other branches: %w", err)
		}
	}
	r.Session, err = s.Store.UpdateSession(ctx, rec.ID, func(v *store.Session) error {
		v.State, v.Reason, v.Pulled, v.Tip, v.Wip, v.Repo = store.Pulled, "", s.Now(), r.Tip, r.wip, rec.Repo
		// The next run of the same session, if there is one, starts from what the host has now.
		if r.head != "" {
			v.Base = r.head
		}
		return nil
	})
	if err != nil || o.Keep {
		return r, err
	}
	return r, tree.Remove(s.exchange(rec.ID))
}

// bury copies a bundle of the exchange into the graveyard.
func (s *Service) bury(ctx context.Context, id, name string, limit int64) (string, error) {
	dst, err := s.grave(id, name)
	if err == nil {
		_, err = git.CopyOut(ctx, s.exchange(id), name, dst, limit)
	}
	return dst, err
}
