package phases

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/fleet"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
)

const rowID = "00c0ffee"

// row is a phase as a machine of ours puts it into the shared database.
func row() cruise.State {
	agent := cruise.Worker{Agent: "claude", Model: "claude-opus-4-5"}
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Box: "b", Planner: agent, Reviewer: agent,
		Fixer: agent, Domains: []string{"Security"}, MaxRounds: 5, MaxCost: 5, Timeout: time.Hour,
		Checks: cruise.ChecksRequired, Remote: "https://forge.example/ada/demo.git", Base: strings.Repeat("a", 40)})
	st.Workspace.Session = steps.SessionOf(rowID)
	st.Meta.Branch, st.Base.Branch = "feat/x", "main"
	st.PR = &cruise.PullRequest{Number: 7, URL: "https://forge.example/ada/demo/pull/7"}
	return st
}

// Guards against a row by which who can write to the database runs something, or reaches something, on a machine.
func TestHostileRowsAreRefused(t *testing.T) {
	models := must.Get(knownModels("my/own-model"))(t)
	for name, change := range map[string]func(*cruise.State){
		"nothing":                 func(*cruise.State) {},
		"a branch that was named": func(s *cruise.State) { s.Meta.Branch = "Release_1.0+fix" },
		"the model of the user":   func(s *cruise.State) { s.Spec.Fixer.Model = "my/own-model" },
		"the agent's own model":   func(s *cruise.State) { s.Spec.Planner.Model = "" },
		"commits of 64":           func(s *cruise.State) { s.Spec.Base = strings.Repeat("b", 64) },
	} {
		st := row()
		change(&st)
		if err := checkRow(rowID, st, models, nil); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for name, change := range map[string]func(*cruise.State){
		"an agent that is a program":    func(s *cruise.State) { s.Spec.Planner.Agent = "/bin/sh" },
		"no agent":                      func(s *cruise.State) { s.Spec.Reviewer.Agent = "" },
		"a model that nobody knows":     func(s *cruise.State) { s.Spec.Planner.Model = "evil-1" },
		"a model with an argument":      func(s *cruise.State) { s.Spec.Fixer.Model = "claude-opus-4-5 --yolo" },
		"a model that is an option":     func(s *cruise.State) { s.Spec.Fixer.Model = "--dangerously-skip-permissions" },
		"a model with a line":           func(s *cruise.State) { s.Spec.Fixer.Model = "claude-opus-4-5\nx" },
		"another phase's workspace":     func(s *cruise.State) { s.Workspace.Session = steps.SessionOf("deadbeef") },
		"a workspace that is a path":    func(s *cruise.State) { s.Workspace.Session = "../../etc" },
		"a task without an end":         func(s *cruise.State) { s.Spec.Task = strings.Repeat("x", maxTask+1) },
		"a commit that is an option":    func(s *cruise.State) { s.Spec.Base = "--upload-pack=evil" },
		"a commit that is a revision":   func(s *cruise.State) { s.Head.Commit = "HEAD~1" },
		"a short commit":                func(s *cruise.State) { s.Head.Before = "abcdef" },
		"a commit to push":              func(s *cruise.State) { s.Outbox.Published = &cruise.Published{Head: "-x"} },
		"a commit of a round":           func(s *cruise.State) { s.Outbox.Published = &cruise.Published{Onto: "main"} },
		"a commit that was approved":    func(s *cruise.State) { s.Review.Approval = &cruise.Approval{Commit: "main"} },
		"a commit that was judged":      func(s *cruise.State) { s.Review.Judgements = []cruise.Judgement{{Head: "../x"}} },
		"a commit of a job":             func(s *cruise.State) { s.Checks.Reruns = []cruise.Rerun{{Commit: "x/../y"}} },
		"a branch that is an option":    func(s *cruise.State) { s.Meta.Branch = "-x" },
		"a branch above":                func(s *cruise.State) { s.Meta.Branch = "a/../../b" },
		"a branch with a refspec":       func(s *cruise.State) { s.Meta.Branch = "a:refs/heads/main" },
		"a branch of the spec":          func(s *cruise.State) { s.Spec.Branch = "a b" },
		"a target that is an option":    func(s *cruise.State) { s.Base.Branch = "--output=/etc/passwd" },
		"a target with a line":          func(s *cruise.State) { s.Base.Branch = "main\nx" },
		"a label that is a box":         func(s *cruise.State) { s.Spec.On = "box:other" },
		"a kind that there is not":      func(s *cruise.State) { s.Spec.Kind = "evil" },
		"checks that there are not":     func(s *cruise.State) { s.Spec.Checks = "some" },
		"changes that there are not":    func(s *cruise.State) { s.Spec.MayChange = []string{"everything"} },
		"no limit of rounds":            func(s *cruise.State) { s.Spec.MaxRounds = 0 },
		"no limit of money":             func(s *cruise.State) { s.Spec.MaxCost = 0 },
		"no domains":                    func(s *cruise.State) { s.Spec.Domains = nil },
		"too many domains":              func(s *cruise.State) { s.Spec.Domains = make([]string, maxList+1) },
		"too many that are trusted":     func(s *cruise.State) { s.Spec.Trusted = make([]string, maxList+1) },
		"a name without an end":         func(s *cruise.State) { s.Spec.Trusted = []string{strings.Repeat("x", maxWord+1)} },
		"lives without an end":          func(s *cruise.State) { s.Life.Number = 1<<30 + 1 },
		"lives below zero":              func(s *cruise.State) { s.Life.Number = -1 },
		"a request without a number":    func(s *cruise.State) { s.PR.Number = 0 },
		"a request that runs a program": func(s *cruise.State) { s.PR.URL = "javascript:evil()" },
	} {
		st := row()
		change(&st)
		if err := checkRow(rowID, st, models, nil); !isUnfit(err) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, id := range []string{"", "../../x", "00C0FFEE", "00c0ffee0", "00c0ffe\n"} {
		st := row()
		st.Workspace.Session = ""
		if err := checkRow(id, st, models, nil); !isUnfit(err) {
			t.Errorf("id %q: %v", id, err)
		}
	}
}

func isUnfit(err error) bool {
	_, is := errors.AsType[*fleet.UnfitError](err)
	return is
}
