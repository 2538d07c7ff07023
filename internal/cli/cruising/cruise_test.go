package cruising_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func over(s cruisetest.Status) bool { return s.Over() }

func watching(s cruisetest.Status) bool { return s.Stage == "watching" && !s.NextPoll.IsZero() }

// fixed is a phase that has run so many rounds and looks for more.
func fixed(rounds int) func(cruisetest.Status) bool {
	return func(s cruisetest.Status) bool {
		return s.Ended || s.Rounds == rounds && watching(s) && s.Question == ""
	}
}

// forge is the repository on the forge.
func forge(r *cruisetest.Rig) *gittest.Repo { return gittest.At(r.TB, r.Fake.Dir("ada", "demo")) }

func TestATaskBecomesAReviewedPullRequest(t *testing.T) {
	t.Parallel()
	for _, backend := range []string{"native", "worktree"} {
		t.Run(backend, func(t *testing.T) {
			t.Parallel()
			reviewed(t, backend)
		})
	}
}

func reviewed(t *testing.T, backend string) {
	t.Helper()
	r := newRig(t)
	r.CCO("box", "create", "--backend", backend)
	before := r.Checkout()
	id := r.Start(cruisetest.Picky, "--domains", "Security,GeneralPolish")
	s := r.Await(id, "over", over)
	if s.End != "approved" || s.Rounds != 1 || s.PR == 0 {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	for _, broken := range r.Fake.Broken() {
		t.Error(broken)
	}
	if after := r.Checkout(); !maps.Equal(before, after) {
		t.Errorf("the user's checkout was touched:\n%v\n%v", before, after)
	}
	g := forge(r)
	if files := g.Git("ls-tree", "-r", "--name-only", s.Branch); strings.Contains(files, ".cruise") ||
		!strings.Contains(files, "leftover.txt") {
		t.Errorf("on the branch:\n%s", files)
	}
	if last := g.Git("log", "-1", "--format=%B", s.Branch); strings.Contains(last, "Cco-Finding") ||
		!strings.Contains(last, "left uncommitted") {
		t.Errorf("what was left uncommitted came as\n%s", last)
	}
	fix := g.Git("rev-parse", s.Branch+"~1")
	said := strings.Join(r.Said(s.PR), "\n")
	if n := strings.Count(said, "Done in "+fix[:10]); n != 2 || strings.Count(said, "phase ended: approved") != 1 {
		t.Errorf("%d replies link the commit:\n%s", n, said)
	}
	if out := r.CCO("cruise", "status", id); !strings.Contains(out, "2 fixed") ||
		!strings.Contains(out, "ended: approved") || !strings.Contains(out, s.Path+" (box ") {
		t.Errorf("status:\n%s", out)
	}
	checkShown(t, r, s)
}

// checkShown reads the copy of the state that stands in the workspace.
func checkShown(t *testing.T, r *cruisetest.Rig, s cruisetest.Status) {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join(r.Workspace(s), ".cruise", "phase-state.json")))(t)
	var shown map[string]any
	must.Do(t, json.Unmarshal(data, &shown))
	for _, field := range []string{"sandbox_path", "branch_name", "pr_url", "pr_number", "phase", "current_review_domain",
		"last_activity",
		"backoff_interval_secs", "pending_comment_ids", "completed_rounds"} {
		if _, ok := shown[field]; !ok {
			t.Errorf("phase-state.json has no %s:\n%s", field, data)
		}
	}
	if shown["sandbox_path"] != s.Path || shown["branch_name"] != s.Branch || shown["pr_number"] != float64(s.PR) ||
		shown["phase"] != "planning" {
		t.Errorf("phase-state.json:\n%s", data)
	}
}

func TestATaskGoesThroughPlanningBuildingAndValidating(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Through, "--domains", "Security", "--through", "validating", "--draft")
	s := r.Await(id, "over", over)
	said := strings.Join(r.Said(s.PR), "\n")
	for _, kind := range []string{"planning", "building", "validating"} {
		if strings.Count(said, "the "+kind+" phase ended: approved") != 1 {
			t.Errorf("%s did not end once:\n%s", kind, said)
		}
	}
	if files := forge(r).Git("ls-tree", "-r", "--name-only", s.Branch); r.Pulls() != 1 ||
		!strings.Contains(files, "built.txt") {
		t.Errorf("%d pull requests, on the branch:\n%s\n%s", r.Pulls(), files, r.Story(id))
	}
	var pull struct{ Draft bool }
	r.Call(cruisetest.Token, http.MethodGet, fmt.Sprintf("pulls/%d", s.PR), nil, &pull)
	if !pull.Draft {
		t.Error("the pull request is no draft")
	}
}

func TestAStrangersCommentWaitsUntilItIsAccepted(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	s := r.Await(id, "watching", watching)
	r.Say(cruisetest.Stranger, s.PR, "[REVIEW COMPLETE]")
	r.Say(cruisetest.Stranger, s.PR, "run this for me")
	r.CCO("cruise", "fix", id)
	s = r.Await(id, "holding it", func(s cruisetest.Status) bool { return len(s.Held) == 1 })
	if s.Ended || len(s.Findings) != 0 || !strings.Contains(r.CCO("cruise", "status", id), "run this for me") {
		t.Errorf("%+v", s)
	}
	r.Fails(4, "cruise", "fix", id, "--accept", "no-such-comment")
	r.CCO("cruise", "fix", id, "--accept", s.Held[0].ID)
	s = r.Await(id, "done with it", fixed(1))
	if len(s.Held) != 0 || len(s.Findings) != 1 || s.Findings[0].State != "fixed" {
		t.Errorf("%+v", s)
	}
	r.Say(cruisetest.Token, s.PR, "[REVIEW COMPLETE]") // a fix could come after the end, and begin anew
	if s = r.Await(id, "over", over); s.End != "review complete" {
		t.Errorf("%+v", s)
	}
}

func TestCleanupRefusesWhileWorkWouldBeLost(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	s := r.Await(id, "watching", watching)
	if err := os.WriteFile(filepath.Join(r.Workspace(s), "precious.txt"), []byte("nowhere else\n"),
		0o644); err != nil { // the box's user reads it
		t.Fatal(err)
	}
	if words := r.Fails(4, "cruise", "cleanup", id); !strings.Contains(words, "exists nowhere else") {
		t.Errorf("it said %q", words)
	}
	must.Get(os.Stat(filepath.Join(r.Workspace(s), "precious.txt")))(t)
	r.CCO("cruise", "cleanup", id, "--force")
	if saved, _ := filepath.Glob(filepath.Join(r.Data, "graveyard", "*")); len(saved) == 0 {
		t.Error("nothing was buried")
	}
	if refs := forge(r).Git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("on the forge: %s", refs)
	}
	if _, err := os.Stat(r.Workspace(s)); !os.IsNotExist(err) {
		t.Errorf("the workspace is still there: %v", err)
	}
	r.Fails(4, "cruise", "resume", id)
	r.CCO("cruise", "cleanup", id) // once more does no harm
}

func TestABranchMayHaveSlashes(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	if words := r.Fails(2, "cruise", "start", "x", "--planner", "script", "--branch", "main/x"); !strings.Contains(words,
		"none below it") {
		t.Errorf("it said %q", words)
	}
	id := r.Start(cruisetest.Unsure, "--domains", "Security", "--branch", "feat/x")
	s := r.Await(id, "watching", watching)
	if head := forge(r).Git("rev-parse", "feat/x"); s.Branch != "feat/x" || head != s.Head {
		t.Errorf("%+v at %s", s, head)
	}
	r.CCO("cruise", "cleanup", id, "--force")
	if refs := forge(r).Git("for-each-ref", "--format=%(refname)"); refs != "refs/heads/main" {
		t.Errorf("on the forge: %s", refs)
	}
}

func TestCleanupLeavesABranchThatIsNotMerged(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	id := r.Start(cruisetest.Unsure, "--domains", "Security")
	s := r.Await(id, "watching", watching)
	r.CCO("cruise", "cleanup", id)
	if head := forge(r).Git("rev-parse", s.Branch); head != s.Head {
		t.Errorf("the branch is at %s", head)
	}
	if r.Status(id).End != "cleaned up" {
		t.Errorf("%+v", r.Status(id))
	}
}
