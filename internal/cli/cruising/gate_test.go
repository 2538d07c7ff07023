package cruising_test

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
	"github.com/cco-dev/cco/internal/git/gittest"
)

// Guards against a key that becomes public: it is in no commit that was ever pushed, and the fixer made its own anew.
func TestAKeyIsNeverPushed(t *testing.T) {
	t.Parallel()
	cruisetest.KeyIsNeverPushed(t, newRig(t))
}

// Guards against a repository whose own rules hold for pulls and not for phases, and against an agent that changes
// them.
func TestARepositoryMakesAPhasesPolicyStricter(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	repo := gittest.At(t, r.Repo)
	repo.Write(".cco.toml", "[pull]\nrefuse = [\"executables\"]\ntell = [\"secrets\"]\n")
	repo.Git("add", ".cco.toml")
	repo.Git("commit", "-q", "-m", "settings", "--", ".cco.toml")
	repo.Git("push", "-q", r.Fake.Dir("ada", "demo"), "HEAD:refs/heads/main")
	r.CCO("box", "create")
	id := r.Start(strings.ReplaceAll(cruisetest.Careless, "run.sh", "run.sh; echo > .cco.toml"), "--domains", "Security",
		"--may-change", "ci")
	s := r.Await(id, "asking", func(s cruisetest.Status) bool { return s.Question != "" || s.Ended })
	if !strings.Contains(s.Question, "must not be pushed: executables: run.sh: a new file that can be started") {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	if all := forge(r).Git("log", "--all", "-p"); strings.Contains(all, "run.sh") || strings.Contains(all, "key.txt") {
		t.Errorf("on the forge:\n%s", all)
	}
}

// Guards against a file of CI that is pushed, and runs with secrets, before the user has seen its lines.
func TestAFileOfCIIsNotPushedWithoutConsent(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	if words := r.Fails(2, "cruise", "start", "x", "--may-change", "nonsense"); !strings.Contains(words, "no kind") {
		t.Errorf("a kind that there is not: %s", words)
	}
	id := r.Start(cruisetest.Careless, "--domains", "Security")
	asks := func(s cruisetest.Status) bool { return s.Question != "" || s.Ended }
	if s := r.Await(id, "asking", asks); !strings.Contains(s.Question,
		"(ci): ci: .github/workflows/ci.yml:1: runs in CI with the repository's rights: +on: push") {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	r.CCO("cruise", "resume", "--all")
	r.CCO("cruise", "fix", id)
	r.Await(id, "asking again", asks)
	if all := forge(r).Git("branch", "-a"); strings.Contains(all, "flag") || strings.Contains(r.CCO("guard", "log"), id) {
		t.Errorf("on the forge: %s", all)
	}
	r.CCO("cruise", "resume", id)
	if s := r.Await(id, "over", func(s cruisetest.Status) bool { return s.Ended }); s.End != "approved" {
		t.Errorf("%+v\n%s", s, r.Story(id))
	}
	if all := forge(r).Git("log", "--all", "--name-only"); !strings.Contains(all, "ci.yml") {
		t.Errorf("on the forge: %s", all)
	}
	if log := r.CCO("guard", "log"); !strings.Contains(log, "accepted 1 of kind ci at ") {
		t.Errorf("nobody wrote down that it was accepted: %s", log)
	}
}
