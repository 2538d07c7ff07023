package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// Guards against tests that go in a round which is about something else, while a check is red: before that is a
// finding, or after a commit has answered it and the check has not yet run again.
func TestACheckIsRedUntilItWasSeenGreen(t *testing.T) {
	red := func(head string, _ time.Time) Checked {
		if head == "c0000001" {
			return unitIs(forge.ChecksFailed)
		}
		return unitIs(forge.ChecksPending)
	}
	for name, c := range map[string]struct {
		subjects []string // of the fixers' commits
		checks   func(string, time.Time) Checked
		pushed   int
	}{
		"before it is a finding": {[]string{"skip tests"}, red, 1},
		"after it was answered":  {[]string{"fix it", "skip tests"}, red, 2},
		"seen green, not asked": {[]string{"fix it", "skip tests"}, func(head string, _ time.Time) Checked {
			if head == "c0000001" {
				return unitIs(forge.ChecksFailed)
			}
			return unitIs(forge.ChecksPassed)
		}, 3},
		"never red": {[]string{"skip tests"}, func(string, time.Time) Checked { return unitIs(forge.ChecksPassed) }, 2},
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

// Guards against a check that is made green by changing what it looks at, and against questions about what is fine.
func TestWhatIsAskedAboutWhileACheckIsRed(t *testing.T) {
	tests := Hold{Kind: "tests", Why: HoldRed, File: "a_test.go", Lines: []string{"tests: a_test.go has changed"}}
	gone := Hold{Kind: "tests", Why: HoldRed, Lines: []string{"tests: a_test.go was removed or moved"}}
	weak := Hold{Kind: "weakened", Why: HoldWeakened, Lines: []string{"weakened: a_test.go:2: -t.Fatal()"}}
	failed := Finding{ID: "f1", Check: "unit", Domain: checkDomain, State: Open}
	names := Finding{ID: "f2", Text: "a_test.go expects the wrong value", Author: "ann", State: Open, Comment: "1"}
	stands := Finding{ID: "f3", Text: "wrong", Path: "a_test.go", Author: "ann", State: Fixed, Comment: "2"}
	model := Finding{ID: "f4", Text: "change a_test.go", Domain: "Security", State: Open}
	moved := Finding{ID: "f5", Text: "it conflicts in a_test.go", State: Open, Comment: fromBase + "c9"}
	words := Commit{ID: "c2", Files: []string{"README.md"}, Findings: []string{"f1"}}
	is := func(findings ...Finding) State {
		return State{Checks: Checks{Red: []string{"unit"}}, Ledger: Ledger{Findings: findings}}
	}
	answers := State{Ledger: Ledger{Findings: []Finding{failed}}}
	let := State{Checks: Checks{Red: []string{"unit"}}, Consent: Consent{Files: []string{"a_test.go"}}}
	merge := State{Spec: Spec{Merge: true}}
	allowed := State{Spec: Spec{Merge: true, MayChange: []string{"weakened"}}}
	redAllowed := is()
	redAllowed.Spec.MayChange = []string{"weakened", "tests"}
	ci := Hold{Kind: "ci", Why: HoldCI, Lines: []string{"ci: ci.yml"}}
	mayCI, redCI := State{Spec: Spec{MayChange: []string{"ci"}}}, is()
	redCI.Spec.MayChange = []string{"ci"}
	work := func(holds ...Hold) Published { return Published{Holds: holds} }
	inWords := Published{Commits: []Commit{words}}
	for name, c := range map[string]struct {
		st   State
		p    Published
		asks bool
	}{
		"not red":                   {State{}, work(tests, gone, weak), false},
		"red":                       {is(), work(tests), true},
		"removed":                   {is(), work(gone), true},
		"weaker":                    {is(), work(weak), true},
		"a finding":                 {answers, work(tests), true},
		"only words for it":         {answers, inWords, true},
		"words for something else":  {is(), inWords, false},
		"a person names it":         {is(names), work(tests), false},
		"a person's comment there":  {is(stands), work(tests), false},
		"but no test goes":          {is(names), work(gone), true},
		"nor becomes weaker":        {is(names), work(tests, weak), true},
		"a reviewer names it":       {is(model), work(tests), true},
		"cco names it":              {is(moved), work(tests), true},
		"the user let it":           {let, work(tests), false},
		"the user let it, once":     {let, work(tests, weak), true},
		"to be merged":              {merge, work(weak), true},
		"to be merged, and allowed": {allowed, work(weak), false},
		"CI, and allowed":           {mayCI, work(ci), false},
		"CI, allowed, and red":      {redCI, work(ci), true},
		"red, and allowed":          {redAllowed, work(weak), true},
	} {
		if got := c.st.held(c.p); (len(got) > 0) != c.asks {
			t.Errorf("%s: %+v", name, got)
		}
	}
}

// Guards against a right repair that must change an old test and is asked about in every round.
func TestConsentHoldsForAFile(t *testing.T) {
	w := holdsOf(nil)
	w.holds["change the test"] = Hold{Kind: "tests", Why: HoldRed, File: "a_test.go", Lines: []string{"tests: a_test.go"}}
	w.agents = func(j Job) (Report, []Commit) {
		r, commits := willing(j)
		if j.Role == Fixer {
			commits[0].Subject = "change the test"
		}
		return r, commits
	}
	w.checks = func(head string, _ time.Time) Checked {
		if head == "c0000003" {
			return unitIs(forge.ChecksPassed)
		}
		return unitIs(forge.ChecksFailed)
	}
	s := checkSpec()
	s.Merge = true
	st, _ := play(t, w, s, Event{ID: "yes", Kind: EventResume, At: after(time.Hour), Let: "c0000002"})
	if st.End != EndMerged || len(w.pushes) != 3 || !slices.Equal(st.Consent.Files, []string{"a_test.go"}) {
		t.Errorf("end %q, pushes %+v, asked %q", st.End, w.pushes, w.asked)
	}
}

// Guards against silence that counts as green: a check that was there on an earlier head, and is not on this one.
func TestACheckThatFallsSilentIsWaitedFor(t *testing.T) {
	other := forge.Check{Name: "lint", State: forge.ChecksPassed}
	fixed := func(head string, _ time.Time) Checked {
		if head == "c0000001" {
			return Checked{All: []forge.Check{other, {Name: "unit", State: forge.ChecksFailed, Summary: "--- FAIL: TestA"}}}
		}
		return Checked{All: []forge.Check{other}}
	}
	for name, c := range map[string]struct {
		checks func(string, time.Time) Checked
		ignore []string
		events []Event
		asks   string
		merges bool
	}{
		"it never reports": {checks: fixed, asks: "waited for for an hour: checks that have not reported: unit"},
		"it is ignored":    {checks: fixed, ignore: []string{"un*"}, merges: true},
		"the user goes on": {checks: fixed, asks: "waited for for an hour: checks that have not reported: unit",
			events: []Event{{ID: "yes", Kind: EventResume, At: after(3 * time.Hour)}}, merges: true},
		"a look is no consent": {checks: fixed, asks: "waited for for an hour: checks that have not reported: unit",
			events: []Event{{ID: "look", Kind: EventNews, At: after(3 * time.Hour)}}},
		"it is slow": {checks: func(head string, now time.Time) Checked {
			if now.After(after(30 * time.Minute)) {
				return Checked{All: []forge.Check{other, {Name: "unit", State: forge.ChecksPassed}}}
			}
			return fixed(head, now)
		}, merges: true},
		"only the base has checks": {checks: func(string, time.Time) Checked { return Checked{CI: true} },
			asks: "nothing has reported on c0000001 within ten minutes"},
		"only the base has, and the user goes on": {checks: func(string, time.Time) Checked { return Checked{CI: true} },
			asks:   "nothing has reported on c0000001 within ten minutes",
			events: []Event{{ID: "yes", Kind: EventResume, At: after(3 * time.Hour)}}, merges: true},
		"a nightly check of the base": {checks: func(string, time.Time) Checked {
			return Checked{CI: true, All: []forge.Check{other}}
		}, merges: true},
		"nothing anywhere": {checks: func(string, time.Time) Checked { return Checked{} }, merges: true},
	} {
		w := &world{agents: willing, checks: c.checks}
		s := checkSpec()
		s.Merge, s.IgnoreChecks = true, c.ignore
		play(t, w, s, append(c.events, Event{ID: "stop", Kind: EventCleanup, At: after(6 * time.Hour)})...)
		if (w.mergedBy != nil) != c.merges || !strings.Contains(w.asked, c.asks) || c.asks == "" && w.asked != "" {
			t.Errorf("%s: merged %v, asked %q", name, w.mergedBy != nil, w.asked)
		}
	}
	w := &world{agents: willing, checks: func(string, time.Time) Checked { return Checked{CI: true} }}
	if st, r := play(t, w, checkSpec()); st.End != EndApproved || r.now.Before(after(10*time.Minute)) {
		t.Errorf("without a merge: end %q at %v", st.End, r.now)
	}
}

// Guards against a phase that waits for ever because a check turned red while it was to be merged.
func TestACheckThatTurnsRedAtTheMergeIsRepaired(t *testing.T) {
	w := &world{agents: willing}
	reads := 0
	w.checks = func(string, time.Time) Checked {
		switch {
		case len(w.pushes) > 1:
			return unitIs(forge.ChecksPassed)
		case reads > 0:
			return unitIs(forge.ChecksFailed)
		}
		reads++
		return unitIs(forge.ChecksPassed)
	}
	s := checkSpec()
	s.Merge = true
	if st, _ := play(t, w, s); st.End != EndMerged || st.Round != 1 {
		t.Errorf("end %q after %d rounds, waits for %q", st.End, st.Round, st.Waiting.For)
	}
}

// Guards against a merge of more of what is red on the base already, without a word.
func TestACheckThatIsRedOnTheBaseTooIsAskedAboutBeforeAMerge(t *testing.T) {
	for _, merge := range []bool{false, true} {
		for _, answered := range []bool{false, true} {
			w := &world{agents: willing, checks: func(string, time.Time) Checked {
				return Checked{All: []forge.Check{{Name: "lint", State: forge.ChecksFailed}}, Base: []string{"lint"}, CI: true}
			}}
			s := checkSpec()
			s.Merge = merge
			events := []Event{{ID: "stop", Kind: EventCleanup, At: after(6 * time.Hour)}}
			if answered {
				events = append(events, Event{ID: "yes", Kind: EventResume, At: after(time.Hour)})
			}
			st, _ := play(t, w, s, events...)
			if asks := strings.Contains(w.asked, "on the base branch as well: lint"); asks != merge {
				t.Errorf("merge %v: asked %q", merge, w.asked)
			}
			if (w.mergedBy != nil) != (merge && answered) || !merge && st.End != EndApproved {
				t.Errorf("merge %v, answered %v: merged %v, end %q", merge, answered, w.mergedBy != nil, st.End)
			}
		}
	}
}

// Guards against a fixer that is paid for a check that has passed meanwhile.
func TestACheckThatIsGreenAgainIsNoFinding(t *testing.T) {
	reads := 0
	w := &world{agents: willing, checks: func(string, time.Time) Checked {
		if reads++; reads == 1 {
			return unitIs(forge.ChecksFailed)
		}
		return unitIs(forge.ChecksPassed)
	}}
	st, _ := play(t, w, checkSpec())
	if st.End != EndApproved || st.Round != 0 || st.Ledger.Findings[0].State != Dropped {
		t.Errorf("end %q after %d rounds: %+v", st.End, st.Round, st.Ledger.Findings)
	}
}

// Guards against a question about a finding that came back once in one kind and once in the next.
func TestWhatComesBackIsCountedInOneKind(t *testing.T) {
	raised := map[Kind]int{}
	w := &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && j.Domain == "Security" {
			if raised[j.Kind]++; raised[j.Kind] <= 2 {
				return Report{OK: true, Answer: `{"verdict":"NEEDS_CHANGES","findings":[{"path":"a.go","severity":"major",` +
					`"text":"the same"}]}`}, nil
			}
		}
		if j.Role == Author && j.Kind == Building {
			return Report{OK: true}, []Commit{{Subject: "T1", Files: []string{"a.go"}}}
		}
		return willing(j)
	}}
	s := spec()
	s.Through = Building
	if st, _ := play(t, w, s); st.End != EndApproved || st.Kind != Building || w.asked != "" {
		t.Errorf("end %q of %s, asked %q", st.End, st.Kind, w.asked)
	}
}

// Guards against a phase that spins because a fixer declined to repair a check and the user said that it goes on.
func TestADeclinedCheckIsWaitedForAfterAnAnswer(t *testing.T) {
	green := after(5 * time.Hour)
	w := &world{checks: func(_ string, now time.Time) Checked {
		if now.After(green) {
			return unitIs(forge.ChecksPassed)
		}
		return unitIs(forge.ChecksFailed)
	}}
	w.agents = func(j Job) (Report, []Commit) {
		r, commits := willing(j)
		if j.Role == Fixer {
			commits = []Commit{{Subject: "no", Declined: []Reason{{Finding: asked(j)[0], Text: "it is not mine"}}}}
		}
		return r, commits
	}
	st, r := play(t, w, checkSpec(), Event{ID: "one", Kind: EventResume, At: after(time.Hour)},
		Event{ID: "two", Kind: EventResume, At: after(2 * time.Hour)})
	if st.End != EndApproved || r.now.Before(green) || !strings.Contains(w.asked, "declined to repair them: unit") {
		t.Errorf("end %q at %v, asked %q", st.End, r.now, w.asked)
	}
}

// Guards against a file that any comment seems to name, because its name is short or the end of another's.
func TestAFileIsNamedByAWord(t *testing.T) {
	for text, want := range map[string]bool{"tidy up `a/lib_test.go`.": true, "see lib_test.go, line 3": true,
		"a/lib_test.go:3": true, "mylib_test.go is wrong": false, "b/lib_test.go": false, "a lib": false, ".": false} {
		if namesFile(text, "a/lib_test.go") != want {
			t.Errorf("%q: not %v", text, want)
		}
	}
	if namesFile("what a mess", "e2e/a") {
		t.Error("an article is no name")
	}
}
