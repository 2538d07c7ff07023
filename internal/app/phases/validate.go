package phases

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/git"
)

// Bounds of what is taken from a row of a service.
const (
	maxTask = 1 << 20
	maxList = 1000 // entries
	maxWord = 1000 // bytes of one
)

var (
	phaseID = regexp.MustCompile(`^[0-9a-f]{8}$`)
	model   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._:/@+\[\]-]{0,127}$`)
	// branchName is what a forge may call a branch: people rename them.
	branchName = regexp.MustCompile(`^[^-/\x00-\x20\x7f~^:?*\[\\][^\x00-\x20\x7f~^:?*\[\\]{0,254}$`)
	webAddress = regexp.MustCompile(`^https?://[^\x00-\x20\x7f]+$`)
)

// checkRow refuses a phase of a service that somebody may have written who wants to harm this machine. What it
// lets through names no path of this machine, and only agents and models that are known here.
func checkRow(id string, st cruise.State, models []string, agents agent.Own) error {
	s := st.Spec
	unfit := func(format string, args ...any) error { return &fleet.UnfitError{Why: fmt.Sprintf(format, args...)} }
	switch {
	case !phaseID.MatchString(id):
		return unfit("%q is not the id of a phase", id)
	case st.Workspace.Session != "" && st.Workspace.Session != steps.SessionOf(id):
		return unfit("its workspace is that of another phase")
	case len(s.Task) > maxTask:
		return unfit("its task has %d bytes, more than %d", len(s.Task), maxTask)
	case st.Life.Number < 0 || st.Life.Number > 1<<30:
		return unfit("it has had %d lives", st.Life.Number)
	}
	if err := CheckSpec(s, agents.Find); err != nil {
		return unfit("%v", err)
	}
	for _, w := range []cruise.Worker{s.Planner, s.Reviewer, s.Fixer} {
		if w.Model != "" && (!model.MatchString(w.Model) || !slices.ContainsFunc(models,
			func(known string) bool { return strings.HasPrefix(w.Model, known) })) {
			return unfit("this worker does not know the model %q", w.Model)
		}
	}
	for _, name := range []string{st.Meta.Branch, st.Base.Branch} {
		if name != "" && !branchName.MatchString(name) || strings.Contains(name, "..") {
			return unfit("%q is not a branch", name)
		}
	}
	if s.On != "" {
		if err := config.CheckLabel(s.On); err != nil {
			return unfit("%v", err)
		}
	}
	if pr := st.PR; pr != nil && (pr.Number < 1 || len(pr.URL) > maxWord || !webAddress.MatchString(pr.URL)) {
		return unfit("its pull request is none")
	}
	for _, list := range [][]string{s.Domains, s.Trusted, s.IgnoreChecks, s.MayChange, st.Head.Unpushed, st.Review.Over,
		st.Consent.Kinds} {
		if len(list) > maxList || slices.ContainsFunc(list, func(v string) bool { return len(v) > maxWord }) {
			return unfit("a list of it is too long")
		}
	}
	for _, oid := range commits(st) {
		if oid != "" && !git.IsOID(oid, 40) && !git.IsOID(oid, 64) {
			return unfit("%q is not a commit", oid)
		}
	}
	return nil
}

// commits are all that a state names: some become arguments of git.
func commits(st cruise.State) []string {
	all := []string{st.Spec.Base, st.Head.Commit, st.Head.Before, st.Head.Pushed, st.Base.From, st.Base.Commit,
		st.Base.Began, st.Workspace.Base,
		st.Consent.Holding, st.Consent.Let, st.Foreign.Commit, st.Checks.Of}
	if p := st.Outbox.Published; p != nil {
		all = append(all, p.Head, p.Onto)
		for _, c := range p.Commits {
			all = append(all, c.ID)
		}
	}
	if st.Review.Approval != nil {
		all = append(all, st.Review.Approval.Commit)
	}
	if st.Review.Given != nil {
		all = append(all, st.Review.Given.Head)
	}
	if st.Checks.Last != nil {
		all = append(all, st.Checks.Last.Head)
	}
	for _, r := range st.Checks.Reruns {
		all = append(all, r.Commit)
	}
	for _, j := range st.Review.Judgements {
		all = append(all, j.Head)
	}
	return all
}

// knownModels are the models that this machine knows: those with a price, and the one of the user's settings.
func knownModels(set string) ([]string, error) {
	prices, err := broker.DefaultPrices()
	if err != nil {
		return nil, err
	}
	var known []string
	for _, p := range append(prices, broker.Price{Prefix: set}) {
		if p.Prefix != "" {
			known = append(known, p.Prefix)
		}
	}
	return known, nil
}
