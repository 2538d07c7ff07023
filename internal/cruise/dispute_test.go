package cruise

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
)

// insisting has a reviewer of Security who always wants one thing, and a fixer who always declines it.
func insisting(severity string, again bool) func(Job) (Report, []Commit) {
	reviews := 0
	return func(j Job) (Report, []Commit) {
		switch {
		case j.Role == Reviewer && j.Domain == "Security":
			if reviews++; reviews > 1 && !again {
				return willing(j)
			}
			return Report{OK: true, Answer: fmt.Sprintf(`{"verdict":"NEEDS_CHANGES","findings":[{"path":"a.go","line":3,`+
				`"severity":%q,"text":"quote it"}]}`, severity)}, nil
		case j.Role == Fixer:
			var no []Reason
			for _, id := range asked(j) {
				no = append(no, Reason{Finding: id, Text: "the caller quotes it"})
			}
			return Report{OK: true}, []Commit{{Subject: "decline", Declined: no}}
		}
		return willing(j)
	}
}

// Guards against an approval that nobody gave: a reviewer insisted, the fixer declined, and cco approved in the
// reviewer's name and merged.
func TestAVerdictIsWhatItsAuthorSaid(t *testing.T) {
	for _, c := range []struct {
		severity string
		again    bool
		asks     bool
	}{{"blocker", true, true}, {"major", true, true}, {"blocker", false, true}, {"major", false, false},
		{"minor", true, false}, {"minor", false, false}} {
		for _, answered := range []bool{false, true} {
			name := fmt.Sprintf("%s again %v answered %v", c.severity, c.again, answered)
			w := &world{agents: insisting(c.severity, c.again)}
			events := []Event{{ID: "stop", Kind: EventCleanup, At: after(9 * time.Hour)}}
			if answered {
				events = append(events, Event{ID: "yes", Kind: EventResume, At: after(time.Hour)})
			}
			st, _ := play(t, w, thatMerges(), events...)
			if asks := strings.Contains(w.asked, "quote it"); asks != c.asks || asks && !strings.Contains(w.asked,
				"the caller quotes it") {
				t.Errorf("%s: asked %q", name, w.asked)
			}
			if merged := w.mergedBy != nil; merged != (!c.asks || answered) {
				t.Errorf("%s: merged %v, end %q", name, merged, st.End)
			}
			wrong := slices.ContainsFunc(w.posted, func(p PostReviewIn) bool {
				return strings.HasPrefix(p.Body, "**Security**: APPROVED")
			})
			if wrong != !c.again || slices.Contains(w.order, "verdict c0000002 true") != !c.again {
				t.Errorf("%s: posted %+v, %q", name, w.posted, w.order)
			}
			if w.replies[0].Text != "Declined: the caller quotes it" || w.replies[0].Resolve {
				t.Errorf("%s: replies %+v", name, w.replies)
			}
			if st.End == EndMerged && !strings.Contains(w.said[len(w.said)-1], "the caller quotes it") {
				t.Errorf("%s: the end does not say what was declined: %q", name, w.said[len(w.said)-1])
			}
		}
	}
}

// Guards against a question that comes back in every round, and against an answer that is taken for the opposite.
func TestTheAnswerToADisputeHolds(t *testing.T) {
	w := &world{agents: insisting("blocker", true), news: []Comment{comment("1", "ann", "OWNER", "rename it",
		30*time.Minute)}}
	asks := 0
	w.during = func(Job) {
		if w.asked != "" {
			asks, w.asked = asks+1, ""
		}
	}
	st, _ := play(t, w, spec(), Event{ID: "yes", Kind: EventResume, At: after(time.Hour)})
	if f := st.Ledger.Findings[0]; asks != 1 || w.asked != "" || st.Round != 2 || f.State != Declined || !f.Ruled {
		t.Errorf("%d questions, %+v", asks, f)
	}
	if end := w.said[len(w.said)-1]; !strings.Contains(end, "overruled by the user") {
		t.Errorf("end %q", end)
	}
	// Words instead of consent: the finding is work again, together with the words.
	w = &world{agents: insisting("blocker", true)}
	play(t, w, spec(), Event{ID: "no", Kind: EventComment, Text: "do as it says", At: after(time.Hour)},
		Event{ID: "stop", Kind: EventCleanup, At: after(9 * time.Hour)})
	last := w.jobs[len(w.jobs)-1]
	for _, j := range w.jobs {
		if j.Role == Fixer {
			last = j
		}
	}
	if !strings.Contains(last.Prompt, "quote it") || !strings.Contains(last.Prompt, "do as it says") {
		t.Errorf("the fixer was told %q", last.Prompt)
	}
}

// Guards against a request for changes that nobody made: no domain had anything to say.
func TestWhenAllDomainsSkipNoVerdictIsGiven(t *testing.T) {
	w := &world{agents: unsure}
	play(t, w, spec())
	if slices.ContainsFunc(w.order, func(s string) bool { return strings.HasPrefix(s, "verdict") }) {
		t.Errorf("%q", w.order)
	}
}

// Guards against two rounds of answers, and two threads, about one thing.
func TestWhatTwoDomainsFindIsOneFinding(t *testing.T) {
	w := &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && !strings.Contains(j.Prompt, "[fixed]") {
			return Report{OK: true, Answer: `{"verdict":"NEEDS_CHANGES","findings":[{"path":"a.go","line":3,` +
				`"severity":"major","text":"quote it"}]}`}, nil
		}
		return willing(j)
	}}
	st, _ := play(t, w, spec())
	posted := 0
	for _, p := range w.posted {
		posted += len(p.Findings)
	}
	if st.End != EndApproved || len(st.Ledger.Findings) != 1 || len(w.replies) != 1 || posted != 1 {
		t.Errorf("end %q, %d posted, replies %+v, %+v", st.End, posted, w.replies, st.Ledger.Findings)
	}
}

// Guards against a question that is lost because the phase ended as idle before anybody answered it.
func TestADisputeIsAskedAboutAgainAfterTheEnd(t *testing.T) {
	w := &world{agents: insisting("blocker", true)}
	st, r := play(t, w, spec())
	if st.End != EndIdle {
		t.Fatalf("end %q", st.End)
	}
	w.asked = ""
	st, err := st.Revive(Event{ID: "r", Kind: EventResume}, r.now)
	if err != nil {
		t.Fatal(err)
	}
	r.inbox = []Event{{ID: "yes", Kind: EventResume, At: r.now.Add(time.Hour)}}
	if st, err = Phase(r, st); err != nil || st.End != EndApproved || w.asked == "" {
		t.Errorf("end %q, asked %q: %v", st.End, w.asked, err)
	}
}
