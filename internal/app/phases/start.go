package phases

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// CheckSpec refuses an impossible phase.
func CheckSpec(s cruise.Spec, find func(agent string) (agent.Adapter, error)) error {
	kinds := cruise.Kinds()
	for _, w := range []cruise.Worker{s.Planner, s.Reviewer, s.Fixer} {
		if _, err := find(w.Agent); err != nil {
			return err
		}
	}
	if _, err := gate.ParseKinds(s.MayChange); err != nil {
		return app.Usagef("--may-change: %v", err)
	}
	if !slices.Contains(cruise.CheckRules(), s.Checks) {
		return app.Usagef("--checks %q: there are required, all and none", s.Checks)
	}
	switch {
	case !slices.Contains(kinds, s.Kind):
		return app.Usagef("no phase %q; there are planning, building and validating", s.Kind)
	case s.Through != "" && slices.Index(kinds, s.Through) < slices.Index(kinds, s.Kind):
		return app.Usagef("--through %s comes before %s, or is no phase", s.Through, s.Kind)
	case len(s.Domains) == 0 || slices.Contains(s.Domains, ""):
		return app.Usagef("--domains: at least one domain is needed, and none can be empty")
	case s.MaxRounds < 1 || s.MaxCost <= 0 || s.Timeout <= 0 || s.DiffBudget < 0:
		return app.Usagef("--max-rounds, --max-cost and --timeout must be more than zero")
	case s.PollMin < 0 || s.PollMin > cruise.MostPoll || s.PollMax < 0 || s.PollMax > cruise.MostPoll:
		return app.Usagef("cruise.poll_min and cruise.poll_max are an hour at most")
	case s.Merge && s.Draft && !s.Ready:
		return app.Usagef("--draft and --merge: a draft is not merged; --ready marks it as ready when it is approved")
	case s.Branch != "":
		if err := reading.CheckBranch(s.Branch); err != nil {
			return app.Usagef("--branch: %v", err)
		}
	}
	return nil
}

// Start begins a phase, and gives its id. Publish is told of the user's commits that the pull request will publish and
// that were never pushed; its error stops it.
func (a *Phases) Start(ctx context.Context, s cruise.Spec, publish func(commits []string) error) (string, error) {
	svc, done, err := a.Sessions(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	c, err := a.cluster()
	if err != nil {
		return "", err
	}
	if s.On != "" && c == nil {
		return "", &StateError{Why: unshared}
	}
	f, err := a.check(ctx, svc, s)
	if err != nil {
		return "", err
	}
	repo, err := svc.Open(ctx, s.Repo)
	if err != nil {
		return "", err
	}
	if err := svc.HandOff().Caution(ctx, repo, s.Base, ""); err != nil {
		return "", err
	}
	st := cruise.NewState(s)
	if st.Head.Unpushed, err = unpushed(ctx, f, repo, s.Base); err != nil {
		return "", err
	}
	if c != nil {
		if err := unpushedFar(st.Head.Unpushed); err != nil {
			return "", err
		}
	}
	if err := publish(st.Head.Unpushed); err != nil {
		return "", err
	}
	return a.begin(ctx, svc.Store, st)
}

// unpushed lists the commits up to base that neither the forge's default branch nor what was fetched from there has.
func unpushed(ctx context.Context, f Forge, repo *git.Repo, base string) ([]string, error) {
	remote, err := f.Repository(ctx)
	if err != nil {
		return nil, err
	}
	at, err := f.Branch(ctx, remote.DefaultBranch)
	if err != nil {
		return nil, err
	}
	name, err := repo.Remote(ctx, "")
	if err != nil {
		return nil, err
	}
	return repo.Unpushed(ctx, base, name, at)
}

func (a *Phases) begin(ctx context.Context, st *store.Store, state cruise.State) (string, error) {
	c, err := a.cluster()
	if err != nil {
		return "", err
	}
	state.Spec.Remote = "" // one that is taken up may have been shared
	if c != nil {
		if err := onForge(ctx, &state.Spec); err != nil {
			return "", err
		}
	}
	id, err := drawPhase(ctx, st, session.NewID)
	if err != nil {
		return "", err
	}
	for _, c := range state.Head.Unpushed {
		if err := st.Log(ctx, id, time.Now(), "it publishes a commit that was never pushed: "+c); err != nil {
			return "", err
		}
	}
	if err := a.lend(ctx); err != nil {
		return id, err
	}
	if c != nil {
		return id, a.startFar(ctx, c, st, id, state)
	}
	rec, err := steps.Record(id, state, time.Now())
	if err != nil {
		return id, err
	}
	return id, a.engine().Take(ctx, id, func() error { return st.BeginPhase(ctx, rec) })
}

// check refuses at once what would stop the phase later: a missing box, agent or key, a forge that can't be reached.
func (a *Phases) check(ctx context.Context, svc *session.Service, s cruise.Spec) (Forge, error) {
	c, err := a.cluster()
	if err != nil {
		return nil, err
	}
	if c == nil { // otherwise the worker that takes it has the box
		if err := svc.HandOff().CanRun(ctx, s.Box, nil, s.Repo, s.Agents()); err != nil {
			return nil, err
		}
	}
	list, err := svc.Store.Living(ctx)
	if err != nil {
		return nil, err
	}
	for _, p := range list {
		if s.Branch != "" && p.Repo == a.nameOf(ctx, s.Repo) && p.Branch == s.Branch {
			return nil, &StateError{ID: p.ID, Why: "it is at work on branch " + p.Branch}
		}
	}
	f, err := a.Forge(ctx, svc.Store, s.Repo)
	if err != nil {
		return nil, err
	}
	remote, err := f.Repository(ctx)
	if err != nil {
		return nil, err
	}
	if s.Branch == remote.DefaultBranch {
		return nil, app.Usagef("--branch %s is the default branch of the repository", s.Branch)
	}
	if s.Branch == "" {
		return f, nil
	}
	for _, above := range reading.Above(s.Branch) {
		if at, err := f.Branch(ctx, above); err != nil || at != "" {
			return f, cmp.Or(err, app.Usagef("--branch %s: there is a branch %s on the forge, so there can be none below it",
				s.Branch, above))
		}
	}
	at, err := f.Branch(ctx, s.Branch)
	if err == nil && at != "" {
		return nil, app.Usagef("--branch %s is on the forge already", s.Branch)
	}
	return f, err
}

// StateError says why the state of a phase, or of what all need, does not allow what was asked.
type StateError struct {
	ID  string // of the phase, if it is about one
	Why string
}

func (e *StateError) Error() string {
	if e.ID == "" {
		return e.Why
	}
	return "phase " + e.ID + ": " + e.Why
}

// WrongState marks an error about a state.
func (e *StateError) WrongState() {}
