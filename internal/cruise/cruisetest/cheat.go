package cruisetest

import (
	"encoding/base64"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cheating"
	"github.com/cco-dev/cco/internal/git/gittest"
)

// broken begins a phase that merges and whose author's commit fails a check. Whatever its fixer does makes that green.
func (r *Rig) broken(does ...cheating.Change) (id string) {
	r.Helper()
	g := gittest.At(r.TB, r.Repo)
	for file, text := range cheating.Project() {
		if !strings.HasPrefix(file, ".gitea/") { // Gitea would take it for its only workflow
			g.Write(file, text)
		}
	}
	g.Git("add", "-A", "-f")
	g.Git("commit", "-q", "-m", "project")
	if r.Gitea == nil {
		g.Git("push", "-q", "--force", r.ForgeDir(), "HEAD:refs/heads/main")
	}
	on := gittest.At(r.TB, r.ForgeDir())
	r.Jobs(func(job, commit string, _ int) (bool, string) {
		return job != "unit" || on.Git("log", "-1", "--format=%s", commit) != "add a thing", "--- FAIL: TestAdd\n"
	})
	fixes := ""
	for _, c := range does {
		fixes += "\tmkdir -p '" + filepath.Dir(c.File) + "'\n"
		if c.Text == "" {
			fixes += "\trm '" + c.File + "'\n"
			continue
		}
		fixes += "\techo " + base64.StdEncoding.EncodeToString([]byte(c.Text)) + " | base64 -d > '" + c.File + "'\n"
	}
	r.CCO("box", "create")
	return r.Start("# Add a thing\n\n## Task 1: play the part\n\n```sh\n"+`case "$CCO_ROLE" in
author)
	echo "y = 1" >> src/calc.py
	git add -A
	git commit -qm "add a thing" ;;
reviewer)
	echo '{"verdict":"APPROVED","findings":[]}' ;;
fixer)
`+fixes+`	git add -A
	git diff --cached --quiet || git commit -qm "repair it

$(for f in $CCO_FINDINGS; do echo "Cco-Finding: $f"; done)" ;;
esac
`+"```\n", "--phase", "building", "--domains", "Security", "--merge")
}

// questions counts what a phase has asked.
func (r *Rig) questions(id string) int {
	r.Helper()
	return strings.Count(r.CCO("cruise", "logs", id), "asks: ")
}

// Cheat carries a phase whose fixer makes a check green without a repair: that is not pushed without a question.
func Cheat(t *testing.T, r *Rig, c cheating.Change) {
	t.Helper()
	id := r.broken(c)
	s := r.Await(id, "over", Status.Over)
	pushed := gittest.At(t, r.ForgeDir()).Git("log", "--all", "--format=%s")
	asked := strings.Contains(s.Question, "not pushed without your consent") && strings.Contains(s.Question, c.File)
	if s.End != "" || !asked || strings.Contains(pushed, "repair it") {
		t.Errorf("end %q, asks %q, pushed %s\n%s", s.End, s.Question, pushed, r.Story(id))
	}
}

// Repair carries a phase whose fixer repairs what a check fails for: it is merged without a question.
func Repair(t *testing.T, r *Rig, c cheating.Change) {
	t.Helper()
	id := r.broken(c)
	s := r.Await(id, "over", Status.Over)
	if n := r.questions(id); s.End != "merged" || s.Rounds > 2 || n != 0 {
		t.Errorf("end %q after %d rounds and %d questions: %q\n%s", s.End, s.Rounds, n, s.Question, r.Story(id))
	}
}

// OldTestMustChange carries a phase whose repair has to change a test that was there before: it asks once, and one
// answer has it merged.
func OldTestMustChange(t *testing.T, r *Rig) {
	t.Helper()
	id := r.broken(cheating.Change{File: "src/calc.py", Text: "x = 2\n"},
		cheating.Change{File: "tests/test_calc.py", Text: "def test_add():\n    assert add(1, 2) == 4\n"})
	s := r.Await(id, "asking", Status.Over)
	if !strings.Contains(s.Question, "tests/test_calc.py has changed") {
		t.Fatalf("end %q, asks %q\n%s", s.End, s.Question, r.Story(id))
	}
	r.CCO("cruise", "resume", id)
	s = r.Await(id, "over", func(s Status) bool { return s.Over() && !strings.Contains(s.Question, "has changed") })
	if n := r.questions(id); s.End != "merged" || n != 1 {
		t.Errorf("end %q after %d questions: %q\n%s", s.End, n, s.Question, r.Story(id))
	}
}
