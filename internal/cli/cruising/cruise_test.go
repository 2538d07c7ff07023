package cruising_test

import (
	"strings"
	"testing"
)

func ended(s status) bool { return s.Ended || s.Question != "" }

func TestATaskBecomesAReviewedPullRequest(t *testing.T) {
	r := newRig(t)
	r.cco("box", "create")
	id := r.start(picky, "--domains", "Security,GeneralPolish")
	s := r.await(id, "ended", ended)
	if s.End != "approved" || s.Rounds != 1 || s.PR == 0 {
		t.Fatalf("%+v\n%s\n%s", s, r.cco("cruise", "logs", id), r.transcripts())
	}
	for _, broken := range r.fake.Broken() {
		t.Error(broken)
	}
	out := r.cco("cruise", "status", id)
	if !strings.Contains(out, "2 fixed") {
		t.Errorf("status:\n%s", out)
	}
}
