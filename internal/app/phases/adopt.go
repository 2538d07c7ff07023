package phases

import (
	"cmp"
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
	"github.com/cco-dev/cco/internal/store"
)

// Adopt continues a phase whose record is gone, and gives its new id and its pull request. Agents could write the file
// that it reads, so it believes only what the forge and the user's repository confirm.
func (a *Phases) Adopt(ctx context.Context, dir string, who Workers) (id, url string, err error) {
	was, err := readShown(dir)
	if err != nil {
		return "", "", err
	}
	svc, done, err := a.Sessions(ctx)
	if err != nil {
		return "", "", err
	}
	defer done()
	if p, err := svc.Store.Phase(ctx, was.ID); err == nil && !p.Ended {
		return "", "", &StateError{ID: was.ID, Why: "its record is there: `cco cruise resume " + was.ID + "`"}
	}
	repo, err := git.Open(ctx, a.Dir)
	if err != nil {
		return "", "", err
	}
	f, err := a.Forge(ctx, svc.Store, repo.Top, Where{})
	if err != nil {
		return "", "", err
	}
	pull, err := agrees(ctx, f, was)
	if err != nil {
		return "", "", err
	}
	if !repo.Has(ctx, pull.Head.Commit) {
		return "", "", &StateError{ID: was.ID, Why: fmt.Sprintf(
			"this repository lacks the head of its branch: `git fetch origin %s` first", was.Branch)}
	}
	st, err := a.adopted(was, repo.Top, pull, who)
	if err != nil {
		return "", "", err
	}
	if st.Heard, err = ours(ctx, f, pull.Number); err != nil {
		return "", "", err
	}
	id, err = a.begin(ctx, svc.Store, st)
	return id, pull.URL, err
}

// adopted is the state in which an adopted phase goes on.
func (a *Phases) adopted(was steps.Shown, repo string, pull forge.Pull, who Workers) (st cruise.State, err error) {
	cfg, err := a.Config()
	if err != nil {
		return st, err
	}
	spec := cruise.Spec{
		Task: taskOf(pull, was), Kind: cruise.Kind(was.Phase), Repo: repo, Base: pull.Head.Commit, Branch: was.Branch,
		Box: cfg.Box.Name, Domains: cruise.Domains(), Quiet: a.Quiet,
		Planner:   cruise.Worker{Agent: cmp.Or(who.Planner, cfg.Agent.Default), Model: cfg.Agent.Model},
		MaxRounds: 5 + max(0, was.Rounds), MaxCost: 20, DiffBudget: 2000, Timeout: 24 * time.Hour,
	}
	spec.Reviewer = cruise.Worker{Agent: cmp.Or(who.Reviewer, spec.Planner.Agent)}
	spec.Fixer = cruise.Worker{Agent: cmp.Or(who.Fixer, spec.Planner.Agent), Model: spec.Planner.Model}
	st = cruise.NewState(spec)
	st.Meta = cruise.Metadata{Title: pull.Title, Branch: was.Branch}
	st.PR = &cruise.PullRequest{Number: pull.Number, URL: pull.URL}
	st.Head = pull.Head.Commit
	st.Round = max(0, was.Rounds)
	st.Stage = cruise.StageWatch
	st.Plan = was.PlanInTheRepo
	return st, CheckSpec(spec)
}

// taskOf reads the task from the pull request, where no agent can write.
func taskOf(p forge.Pull, was steps.Shown) string {
	task := p.Body
	if i := strings.LastIndex(task, "\n\nPlan: `"); i >= 0 {
		task = task[:i]
	}
	return cmp.Or(strings.TrimSpace(task), was.Task)
}

// Workers are the agents of a phase, if they differ from the settings.
type Workers struct{ Planner, Reviewer, Fixer string }

// ours lists the comments of a phase whose record is gone: those by an account of ours that have a marker, which
// readers can see. They must not be taken for a person's wishes.
func ours(ctx context.Context, f Forge, pr int) ([]string, error) {
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
func agrees(ctx context.Context, f Forge, was steps.Shown) (forge.Pull, error) {
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
