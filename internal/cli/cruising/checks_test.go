package cruising_test

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/cruise/cruisetest"
)

// report gives every new head of the phase's branch its checks, until the phase asks or has ended.
func report(r *cruisetest.Rig, id string, checks func(head string, n int)) cruisetest.Status {
	r.Helper()
	seen := map[string]int{}
	return r.Await(id, "over", func(s cruisetest.Status) bool {
		if s.Branch != "" {
			if head := strings.TrimSpace(forge(r).Git("for-each-ref", "--format=%(objectname)",
				"refs/heads/"+s.Branch)); head != "" && seen[head] == 0 {
				seen[head] = len(seen) + 1
				checks(head, seen[head])
			}
		}
		return s.Over()
	})
}

// counting is a task whose fixer writes the number of its round into the plan.
func counting() string {
	return strings.Replace(cruisetest.Picky, "> $plan\n\tsave \"plan: say",
		"> $plan\n\techo round $CCO_ROUND >> $plan\n\tsave \"plan: say", 1)
}

// Guards against an approval with a red check: what the check says is answered by a commit, and only then it counts.
func TestAFailedCheckIsRepairedBeforeAnApprovalCounts(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.CCO("box", "create")
	r.Fake.Require("ada", "demo", []string{"unit"}, nil)
	id := r.Start(counting(), "--domains", "Security")
	key := "ghp" + "_hQ2s9LmXv4Tz7RkWc1Np6Yb3Ud8Fg5Ja0EiO"
	s := report(r, id, func(head string, n int) {
		r.Fake.SetCheck("ada", "demo", head, "other", "completed", "failure", "nobody requires it")
		if n < 3 {
			r.Fake.SetCheck("ada", "demo", head, "unit", "completed", "failure",
				"FAIL: TestFlag, token "+key)
			return
		}
		r.Fake.SetCheck("ada", "demo", head, "unit", "completed", "success")
	})
	if s.End != "approved" || s.Rounds != 2 {
		t.Fatalf("%+v\n%s", s, r.Story(id))
	}
	story := r.CCO("cruise", "status", id, "--json") + strings.Join(r.Said(s.PR), "\n") + r.Story(id)
	if !strings.Contains(story, "The check unit failed on ") || !strings.Contains(story, "FAIL: TestFlag, token ghp_…") ||
		strings.Contains(story, key) {
		t.Errorf("what the check said: %s", story)
	}
	if out := r.CCO("cruise", "status", id); !strings.Contains(out, "failed: other; green: unit; at "+s.Head[:10]) {
		t.Errorf("status:\n%s", out)
	}
	r.Fails(2, "cruise", "start", "x", "--checks", "some")
}

// Guards against a fixer that is paid for a flake, and against a job that is run again more than once.
func TestAFlakeIsRunAgainAndAFaultIsRepairedFromItsLog(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	cruisetest.FlakeAndFault(t, r)
	for _, broken := range r.Fake.Broken() {
		t.Error(broken)
	}
}
