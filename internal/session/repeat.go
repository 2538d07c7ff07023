package session

import (
	"cmp"
	"context"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/git"
)

// planFile keeps the plan that a session began with: what was sent along goes with its exchange directory.
func (s HandOff) planFile(id string) string { return filepath.Join(s.dir(id), "plan.md") }

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
	if o.Model == "" && (o.Agent == "" || o.Agent == rec.Agent) { // another agent has other models
		o.Model = rec.Model
	}
	o.Again, o.Agent, o.Box = id, cmp.Or(o.Agent, rec.Agent), cmp.Or(o.Box, rec.Box)
	return o, nil
}

// checkAgain is check for a push that repeats another: it has the same plan and the same commits.
func (s HandOff) checkAgain(ctx context.Context, o PushOptions) (*git.Repo, git.Head, plan, error) {
	rec, err := s.Get(ctx, o.Again)
	if err != nil {
		return nil, git.Head{}, plan{}, err
	}
	rec.Base = rec.Origin
	head := git.Head{Branch: rec.Branch, Commit: rec.Origin}
	repo, err := s.repository(ctx, rec, where{dir: o.Dir})
	if err != nil {
		return nil, head, plan{}, err
	}
	text, err := os.ReadFile(s.planFile(rec.ID))
	if err != nil {
		return nil, head, plan{}, &StateError{ID: rec.ID, State: rec.State, Why: "its plan is gone"}
	}
	return repo, head, plan{text: text}, repo.CheckComplete(ctx, head.Commit, o.Depth)
}
