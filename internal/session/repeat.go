package session

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/store"
)

// planFile keeps the plan that a session began with: what was sent along goes with its exchange directory.
func (s *Service) planFile(id string) string { return filepath.Join(s.Dir(id), "plan.md") }

// likeBefore fills in what a push that repeats another takes from it.
func (s HandOff) likeBefore(ctx context.Context, o PushOptions) (PushOptions, error) {
	if o.Again == "" {
		return o, nil
	}
	id, err := s.Resolve(ctx, o.Again)
	if err != nil {
		return o, err
	}
	rec, err := s.Get(ctx, id)
	if err != nil {
		return o, err
	}
	o.Again, o.Box = id, cmp.Or(o.Box, rec.Box)
	return o.like(rec), nil
}

// like takes the agent and the model from an earlier session. Another agent has other models.
func (o PushOptions) like(rec store.Session) PushOptions {
	if o.Agent = cmp.Or(o.Agent, rec.Agent); o.Model == "" && o.Agent == rec.Agent {
		o.Model = rec.Model
	}
	return o
}

// checkAgain finds the same plan and the same commits for a push that repeats another.
func (s HandOff) checkAgain(ctx context.Context, o PushOptions) (repo *git.Repo, head git.Head, p plan, err error) {
	rec, err := s.Get(ctx, o.Again)
	if err != nil {
		return repo, head, p, err
	}
	rec.Base = rec.Origin
	head = git.Head{Branch: rec.Branch, Commit: rec.Origin}
	if repo, err = s.Repository(ctx, rec, Where{Dir: o.Dir}); err != nil {
		return repo, head, p, err
	}
	if p.text, err = os.ReadFile(s.planFile(rec.ID)); err != nil {
		err = &StateError{ID: rec.ID, State: rec.State, Why: "its plan is gone"}
	}
	return repo, head, p, err
}
