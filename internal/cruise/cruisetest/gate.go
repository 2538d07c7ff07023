package cruisetest

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
)

// KeyIsNeverPushed carries a phase whose fixer commits a key: it is in no commit that was ever pushed, the fixer makes
// its own anew, and one comment on the pull request says what a person must know of the change as it is.
func KeyIsNeverPushed(t *testing.T, r *Rig) {
	t.Helper()
	r.CCO("box", "create")
	id := r.Start(Careless, "--domains", "Security", "--may-change", "ci")
	s := r.Await(id, "over", Status.Over)
	if s.End != "approved" || s.Rounds != 1 {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	if all := gittest.At(t, r.ForgeDir()).Git("log", "--all", "-p"); strings.Contains(all, "key.txt") ||
		!strings.Contains(all, "run.sh") {
		t.Errorf("on the forge:\n%s", all)
	}
	told := 0
	for _, words := range r.Said(s.PR) {
		if strings.Contains(words, "what a person must know") {
			told++
			if !strings.Contains(words, "ci.yml") || !strings.Contains(words, "run.sh") {
				t.Errorf("it is not current: %s", words)
			}
		}
	}
	if told != 1 {
		t.Errorf("%d comments: %q", told, r.Said(s.PR))
	}
	if out := r.CCO("cruise", "status", id); !strings.Contains(out, "ci 1") || !strings.Contains(out, "executables 1") {
		t.Errorf("status:\n%s", out)
	}
}
