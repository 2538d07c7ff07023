package cruising

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// resumeFrom takes up a phase whose record is gone. The file that it reads lay where agents can write, so nothing in it
// is believed that the forge and the user's repository don't say too.
func (t *tool) resumeFrom(ctx context.Context, dir string, who workers, asJSON bool) error {
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
	repo, err := git.Open(ctx, t.Dir)
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
		return &StateError{ID: was.ID, Why: fmt.Sprintf(
			"this repository lacks the head of its branch: `git fetch origin %s` first", was.Branch)}
	}
	spec := cruise.Spec{
		Task: taskOf(pull, was), Kind: cruise.Kind(was.Phase), Repo: repo.Top, Base: pull.Head.Commit, Box: cfg.Box.Name,
		Domains: cruise.Domains(),
		Planner: cruise.Worker{Agent: or(who.planner, cfg.Agent.Default), Model: cfg.Agent.Model}, Branch: was.Branch,
		Quiet:     t.variant.Quiet,
		MaxRounds: 5 + max(0, was.Rounds), MaxCost: 20, DiffBudget: 2000, Timeout: 24 * time.Hour,
	}
	spec.Reviewer = cruise.Worker{Agent: or(who.reviewer, spec.Planner.Agent)}
	spec.Fixer = cruise.Worker{Agent: or(who.fixer, spec.Planner.Agent), Model: spec.Planner.Model}
	if err := checkSpec(spec); err != nil {
		return err
	}
	st := cruise.NewState(spec)
	st.Meta = cruise.Metadata{Title: pull.Title, Branch: was.Branch}
	st.PR, st.Head, st.Round, st.Stage, st.Plan = &cruise.PullRequest{Number: pull.Number, URL: pull.URL},
		pull.Head.Commit, max(0, was.Rounds), cruise.StageWatch, was.PlanInTheRepo
	if st.Heard, err = ours(ctx, f, pull.Number); err != nil {
		return err
	}
	id, err := drawPhase(ctx, svc.Store, session.NewID)
	if err != nil {
		return err
	}
	if err := t.client().Start(ctx, id, st); err != nil {
		return err
	}
	if asJSON {
		return t.printStatus(ctx, []string{id}, true)
	}
	_, _ = fmt.Fprintf(t.IO.Out, "phase %s goes on with %s\n", id, pull.URL)
	return nil
}

// taskOf is what the pull request says of the task: no agent can write there.
func taskOf(p forge.Pull, was steps.Shown) string {
	task := p.Body
	if i := strings.LastIndex(task, "\n\nPlan: `"); i >= 0 {
		task = task[:i]
	}
	return or(strings.TrimSpace(task), was.Task)
}

// workers are the agents of a phase, where they are not the settings'.
type workers struct{ planner, reviewer, fixer string }

// ours lists what a phase said whose record is gone: by an account of ours, and with a marker, which is shown to
// readers. It must not be taken for what a person wants.
func ours(ctx context.Context, f fullForge, pr int) ([]string, error) {
	us, err := f.Us(ctx)
	if err != nil {
		return nil, err
	}
	said, err := f.Said(ctx, pr, "")
	if err != nil {
		return nil, err
	}
	marked := regexp.MustCompile(`hidden[^\]]*cco:[0-9a-f]{32}`)
	var ids []string
	for _, c := range said.Comments {
		if slices.Contains(us, c.Author) && marked.MatchString(c.Body) {
			ids = append(ids, c.ID)
		}
	}
	return ids, nil
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
		return s, app.Usagef("%s is no file that cco wrote", path)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return s, err
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return s, fmt.Errorf("read %s: %w", path, err)
	}
	if !slices.Contains(cruise.Kinds(), cruise.Kind(s.Phase)) || cruise.CheckBranch(s.Branch) != nil || s.PRNumber <= 0 {
		return s, app.Usagef("%s names no phase with a pull request", path)
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
		return pull, &StateError{ID: was.ID, Why: fmt.Sprintf("pull request %d is about branch %q, not %q", was.PRNumber,
			pull.Head.Name, was.Branch)}
	case pull.State != forge.Open:
		return pull, &StateError{ID: was.ID, Why: fmt.Sprintf("pull request %d is %s", was.PRNumber, pull.State)}
	}
	return pull, nil
}
