package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// Guards against tests that go in a round which is about something else, while a check is red: before that is a finding,
// or after a commit has answered it and the check has not yet run again.
func TestACheckIsRedUntilItWasSeenGreen(t *testing.T) {
	red := func(head string, _ time.Time) Checks {
		if head == "c0000001" {
			return unit(CheckFailed)
		}
		return unit(CheckPending)
	}
	for name, c := range map[string]struct {
		subjects []string // of the fixers' commits
		checks   func(string, time.Time) Checks
		pushed   int
	}{
		"before it is a finding": {[]string{"skip tests"}, red, 1},
		"after it was answered":  {[]string{"fix it", "skip tests"}, red, 2},
		"seen green, not asked": {[]string{"fix it", "skip tests"}, func(head string, _ time.Time) Checks {
			if head == "c0000001" {
				return unit(CheckFailed)
			}
			return unit(CheckGreen)
		}, 3},
		"never red": {[]string{"skip tests"}, func(string, time.Time) Checks { return unit(CheckGreen) }, 2},
	} {
		w := holdsOf(nil)
		n := 0
		w.agents = func(j Job) (Report, []Commit) {
			r, commits := picky(j)
			if j.Role == Fixer {
				commits[0].Subject = c.subjects[min(n, len(c.subjects)-1)]
				n++
			}
			return r, commits
		}
		w.checks = c.checks
		if len(c.subjects) > 1 {
			w.during = func(j Job) {
				if j.Role == Fixer && len(w.news) == 0 {
					w.news = []Comment{comment("1", "ann", "OWNER", "rename it", 0)}
				}
			}
		}
		play(t, w, checkSpec(), Event{ID: "stop", Kind: EventCleanup, At: after(5 * time.Hour)})
		asks := strings.Contains(w.asked, "weakened: a_test.go:2")
		if len(w.pushes) != c.pushed || asks != slices.Contains([]string{"before it is a finding",
			"after it was answered"}, name) {
			t.Errorf("%s: %d pushes, asked %q", name, len(w.pushes), w.asked)
		}
	}
}
