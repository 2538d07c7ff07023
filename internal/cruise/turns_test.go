package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// leftovers are what a box commits of a turn that left something uncommitted.
func leftovers(j Job) Commit {
	lines := strings.Split(strings.TrimSpace(j.Message), "\n")
	c := Commit{Subject: lines[0], Files: []string{"a.go"}}
	for _, l := range lines[1:] {
		if id, ok := strings.CutPrefix(l, TrailerFinding+": "); ok {
			c.Findings = append(c.Findings, id)
		}
	}
	return c
}

// Guards against a fixer that fails, or is killed in the middle, and whose leftovers answer all findings.
func TestATurnThatFailedAnswersNothing(t *testing.T) {
	for fails, want := range map[int]End{1: EndApproved, 9: EndIdle} {
		left := fails
		w := &world{}
		w.agents = func(j Job) (Report, []Commit) {
			if j.Role == Fixer {
				if left--; left >= 0 {
					return Report{Error: "exit status 1"}, []Commit{leftovers(j)}
				}
				return Report{OK: true}, []Commit{{Subject: "fix it", Files: []string{"a.go"}, Findings: asked(j)}}
			}
			return picky(j)
		}
		st, _ := play(t, w, spec())
		if st.End != want {
			t.Errorf("%d fail: end %q, asked %q", fails, st.End, w.asked)
		}
		if fails == 9 && (len(w.replies) != 0 || len(w.pushes) != 1 || !strings.Contains(w.asked, "exit status 1")) {
			t.Errorf("replies %+v, pushes %+v, asked %q", w.replies, w.pushes, w.asked)
		}
		if fails == 1 && (len(w.replies) != 1 || !strings.Contains(w.replies[0].Text, "fix it")) {
			t.Errorf("replies %+v", w.replies)
		}
	}
}

// Guards against leftovers that answer findings that nobody has worked on.
func TestLeftoversAnswerWhatTheAgentSaysTheyDo(t *testing.T) {
	two := []Comment{comment("1", "ann", "OWNER", "rename it", 0), comment("2", "ann", "OWNER", "document it", 0)}
	for name, c := range map[string]struct {
		news   []Comment
		report func(ids []string) string
		which  func(ids []string) string
		want   int // answered in the first round
		asked  bool
	}{
		"the only one":     {two[:1], func([]string) string { return "done" }, nil, 1, false},
		"the report names": {two, func(ids []string) string { return "I did " + ids[1] + "." }, nil, 1, false},
		"asked, and one": {two, func([]string) string { return "done" },
			func(ids []string) string { return "Not " + ids[0] + ".\nCco-Finding: " + ids[1] }, 1, true},
		"asked, and none": {two, func([]string) string { return "done" }, func([]string) string { return "None." }, 0, true},
	} {
		w := &world{news: c.news}
		var ids []string
		asks := 0
		w.agents = func(j Job) (Report, []Commit) {
			switch {
			case j.Role == Reviewer && strings.Contains(j.Prompt, "left uncommitted"):
				asks++
				return Report{OK: true, Answer: c.which(ids)}, nil
			case j.Role == Fixer && ids == nil:
				ids = asked(j)
				return Report{OK: true, Answer: c.report(ids)}, []Commit{leftovers(j)}
			}
			return unsure(j)
		}
		play(t, w, spec())
		var first []string
		for _, r := range w.replies {
			if strings.Contains(r.Text, "c0000002") {
				first = append(first, r.Finding)
			}
		}
		if len(first) != c.want || (asks == 1) != c.asked || len(c.news) == 2 && c.want == 1 && first[0] != ids[1] {
			t.Errorf("%s: answered %v of %v, asked %d times", name, first, ids, asks)
		}
	}
}

// Guards against a phase that waits in silence for a reviewer that failed.
func TestAReviewerThatFailsTwiceIsAskedAbout(t *testing.T) {
	fails := 2
	w := &world{}
	w.agents = func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && j.Domain == "Security" {
			if fails--; fails >= 0 {
				return Report{Error: "exit status 1", Answer: approval}, nil
			}
		}
		return willing(j)
	}
	st, r := play(t, w, spec(), Event{ID: "go on", Kind: EventResume, At: after(time.Hour)})
	if !strings.Contains(w.asked, "exit status 1") || st.End != EndApproved || r.now.Before(after(time.Hour)) ||
		!slices.Contains(w.order, "verdict c0000001 true") {
		t.Errorf("asked %q, end %q at %v, %q", w.asked, st.End, r.now, w.order)
	}
}

// Guards against a phase that ended while it asked about a failed review, and is resumed without another.
func TestAResumedPhaseHasAFailedReviewMadeAgain(t *testing.T) {
	broken := true
	w := &world{}
	w.agents = func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && broken {
			return Report{Error: "exit status 1"}, nil
		}
		return willing(j)
	}
	st, r := play(t, w, spec())
	if st.End != EndIdle {
		t.Fatalf("end %q", st.End)
	}
	broken = false
	st, err := st.Revive(Event{ID: "r", Kind: EventResume}, r.now)
	if err == nil {
		st, err = Phase(r, st)
	}
	if err != nil || st.End != EndApproved {
		t.Errorf("end %q, %v", st.End, err)
	}
}
