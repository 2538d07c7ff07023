package cruising

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// resumeFrom takes up a phase whose record is gone. The file that it reads lay where agents can write, so nothing in it is
// believed that the forge and the user's repository don't say too.
func (t *tool) resumeFrom(ctx context.Context, dir string) error {
	was, err := readShown(dir)
	if err != nil {
		return err
	}
	svc, done, err := t.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	if p, err := svc.Store.Phase(ctx, was.ID); err == nil && !p.Ended {
		return &StateError{ID: was.ID, Why: "its record is there: `cco cruise resume " + was.ID + "`"}
	}
	cfg, err := t.Config()
	if err != nil {
		return err
	}
	repo, err := git.Open(ctx, t.Dir())
	if err != nil {
		return err
	}
	f, err := t.forge(ctx, svc.Store, repo.Top)
	if err != nil {
		return err
	}
	pull, err := t.agrees(ctx, f, was)
	if err != nil {
		return err
	}
	if !repo.Has(ctx, pull.Head.Commit) {
		return &StateError{ID: was.ID, Why: fmt.Sprintf("this repository lacks the head of its branch: `git fetch origin %s` first", was.Branch)}
	}
	spec := cruise.Spec{
		Task: was.Task, Kind: cruise.Kind(was.Phase), Repo: repo.Top, Base: pull.Head.Commit, Box: cfg.Box.Name, Domains: cruise.Domains(),
		Planner: cruise.Worker{Agent: cfg.Agent.Default, Model: cfg.Agent.Model}, Branch: was.Branch,
		MaxRounds: 5 + max(0, was.Rounds), MaxCost: 20, DiffBudget: 2000, Timeout: 24 * time.Hour,
	}
	spec.Reviewer, spec.Fixer = spec.Planner, spec.Planner
	if err := checkSpec(spec); err != nil {
		return err
	}
	st := cruise.NewState(spec)
	st.Meta = cruise.Metadata{Title: pull.Title, Branch: was.Branch}
	st.PR, st.Head, st.Round, st.Stage, st.Plan = &cruise.PullRequest{Number: pull.Number, URL: pull.URL}, pull.Head.Commit, max(0, was.Rounds), cruise.StageWatch, was.PlanInTheRepo
	id := session.NewID()
	if err := t.client().Start(ctx, id, st); err != nil {
		return err
	}
	fmt.Fprintf(t.Streams().Out, "phase %s goes on with %s\n", id, pull.URL)
	return nil
}

func readShown(dir string) (s steps.Shown, err error) {
	path := filepath.Join(dir, steps.StateFile)
	info, err := os.Lstat(path)
	if errors.Is(err, os.ErrNotExist) {
		return s, &store.PhaseNotFoundError{ID: "in " + dir}
	}
	if err != nil {
		return s, err
	}
	if !info.Mode().IsRegular() || info.Size() > 2<<20 {
		return s, cli.Usage("%s is no file that cco wrote", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", path, err)
	}
	if !slices.Contains(cruise.Kinds(), cruise.Kind(s.Phase)) || cruise.CheckBranch(s.Branch) != nil || s.PRNumber <= 0 {
		return s, cli.Usage("%s names no phase with a pull request", path)
	}
	return s, nil
}

// agrees checks the file against the forge.
func (t *tool) agrees(ctx context.Context, f fullForge, was steps.Shown) (forge.Pull, error) {
	pull, err := f.Pull(ctx, was.PRNumber)
	if err != nil {
		return pull, err
	}
	switch {
	case pull.Head.Name != was.Branch:
		return pull, &StateError{ID: was.ID, Why: fmt.Sprintf("pull request %d is about branch %q, not %q", was.PRNumber, pull.Head.Name, was.Branch)}
	case pull.State != forge.Open:
		return pull, &StateError{ID: was.ID, Why: fmt.Sprintf("pull request %d is %s", was.PRNumber, pull.State)}
	}
	return pull, nil
}
