package phases

import (
	"context"
	"slices"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// CheckSpec refuses an impossible phase.
func CheckSpec(s cruise.Spec) error {
	kinds := cruise.Kinds()
	for _, w := range []cruise.Worker{s.Planner, s.Reviewer, s.Fixer} {
		if _, err := agent.Find(w.Agent); err != nil {
			return err
		}
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
	case s.Branch != "":
		if err := cruise.CheckBranch(s.Branch); err != nil {
			return app.Usagef("--branch: %v", err)
		}
	}
	return nil
}

// Start begins a phase, and gives its id.
func (a *Phases) Start(ctx context.Context, s cruise.Spec) (string, error) {
	svc, done, err := a.Sessions(ctx)
	if err != nil {
		return "", err
	}
	defer done()
	if err := a.check(ctx, svc, s); err != nil {
		return "", err
	}
	return a.begin(ctx, svc.Store, cruise.NewState(s))
}

func (a *Phases) begin(ctx context.Context, st *store.Store, state cruise.State) (string, error) {
	id, err := drawPhase(ctx, st, session.NewID)
	if err != nil {
		return "", err
	}
	return id, a.engine().Start(ctx, id, state)
}

// check refuses at once what would stop the phase later: a missing box, a forge that can't be reached.
func (a *Phases) check(ctx context.Context, svc *session.Service, s cruise.Spec) error {
	if _, _, err := svc.Boxes.Ready(ctx, s.Box); err != nil {
		return err
	}
	list, err := svc.Store.Phases(ctx, 1000)
	if err != nil {
		return err
	}
	for _, p := range list {
		if s.Branch != "" && p.Repo == s.Repo && p.Branch == s.Branch && !p.Ended {
			return &StateError{ID: p.ID, Why: "it is at work on branch " + p.Branch}
		}
	}
	f, err := a.Forge(ctx, svc.Store, s.Repo, Where{})
	if err != nil {
		return err
	}
	remote, err := f.Repository(ctx)
	if err != nil {
		return err
	}
	if s.Branch == remote.DefaultBranch {
		return app.Usagef("--branch %s is the default branch of the repository", s.Branch)
	}
	if s.Branch == "" {
		return nil
	}
	at, err := f.Branch(ctx, s.Branch)
	if err == nil && at != "" {
		return app.Usagef("--branch %s is on the forge already", s.Branch)
	}
	return err
}

// StateError says that a phase's state does not allow what was asked.
type StateError struct{ ID, Why string }

func (e *StateError) Error() string { return "phase " + e.ID + ": " + e.Why }

// WrongState marks an error about a state.
func (e *StateError) WrongState() {}
