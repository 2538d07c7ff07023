package cruisetest

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
)

// MovingBase carries a phase whose target moves in its way: that is merged in a round, judged by what the fixer did and
// not by what others did, and the phase merges what came of it.
func MovingBase(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	id := r.Start(Merging, "--domains", "Security", "--merge")
	first := r.Await(id, "watching", func(s Status) bool { return s.Stage == "watching" && !s.NextPoll.IsZero() })
	g := r.Clone("ada", r.UserToken(), "main")
	others := g.Commit("by others", "docs/plans/2026-11-15-add-a-flag.md", "T0: theirs\n", ".github/workflows/ci.yml",
		"on: push\n")
	g.Git("push", "-q", "origin", "main")
	r.Say(Token, first.PR, "[REVIEW COMPLETE]")
	r.CCO("cruise", "fix", id)
	s := r.Await(id, "done with the merge", func(s Status) bool {
		return s.Over() || s.Rounds == 1 && s.Stage == "watching"
	})
	on := gittest.At(t, r.ForgeDir())
	if s.Over() || on.Git("log", "-1", "--format=%P", s.Head) != first.Head+" "+others {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	all := strings.Join(r.Said(s.PR), "\n")
	if !strings.Contains(all, "is merged") || strings.Contains(all, "ci.yml") {
		t.Errorf("said:\n%s", all)
	}
	r.Say(Token, s.PR, "[REVIEW COMPLETE]")
	r.CCO("cruise", "fix", id)
	s = r.Await(id, "over", Status.Over)
	if s.End != "merged" || on.Git("show", "main:docs/plans/2026-11-15-add-a-flag.md") != "T1: add it\nT0: theirs" {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
}
