package cruise

import (
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// Guards against a phase that ends as approved, and a next kind that is begun and paid, although the approval was taken
// back while the checks ran.
func TestAnApprovalThatWasTakenBackEndsNothing(t *testing.T) {
	yes := approvalBy("1", "ann", "OWNER", "c0000001", time.Minute)
	word := comment("1", "ann", "OWNER", "[REVIEW COMPLETE]", time.Minute)
	objects := func(who string) func(*world) {
		return func(w *world) { w.objects = map[string]bool{who: true} }
	}
	for name, c := range map[string]struct {
		said Comment
		back func(*world)
	}{
		"dismissed":        {yes, func(*world) {}},
		"changes wanted":   {yes, objects("ann")},
		"word deleted":     {word, func(*world) {}},
		"another objects":  {word, objects("bob")},
		"nothing happened": {word, nil},
	} {
		for _, through := range []Kind{"", Building} {
			w := &world{agents: unsure, news: []Comment{c.said}}
			w.checks = func(_ string, now time.Time) Checked {
				if now.Before(after(20 * time.Minute)) {
					return unitIs(forge.ChecksPending)
				}
				if c.back != nil && w.news != nil {
					if c.back(w); w.objects["bob"] {
						return unitIs(forge.ChecksPassed)
					}
					w.news = nil
				}
				return unitIs(forge.ChecksPassed)
			}
			s := checkSpec()
			s.Through = through
			st, _ := play(t, w, s)
			begun := false
			for _, j := range w.jobs {
				begun = begun || j.Kind == Building
			}
			if good := c.back == nil; begun != (good && through != "") || good != (st.End == EndComplete) && through == "" {
				t.Errorf("%s: end %q, building begun: %v, said %q", name, st.End, begun, strings.Join(w.said, "\n"))
			}
		}
	}
}

// Guards against a merge over what a person asked for, because a fixer said that it is done or answered it in words.
func TestAPersonsDemandIsSettledByAPerson(t *testing.T) {
	decline := func(j Job) (Report, []Commit) {
		if j.Role == Fixer {
			return Report{OK: true}, []Commit{{Subject: "no", Declined: []Reason{{Finding: asked(j)[0], Text: "no need"}}}}
		}
		return willing(j)
	}
	inWords := func(j Job) (Report, []Commit) {
		if j.Role == Fixer {
			return Report{OK: true, Answer: "Cco-Answer: " + asked(j)[0] + " no need"}, nil
		}
		return willing(j)
	}
	ask := comment("1", "ann", "OWNER", "this must not be merged as it is", -time.Minute)
	by := func(who string, association string, commit string, at time.Duration) []Comment {
		return []Comment{approvalBy("2", who, association, commit, at)}
	}
	word := []Comment{comment("2", "bob", "MEMBER", "[REVIEW COMPLETE]", 2*time.Hour)}
	over := func(who string) Event { return Event{ID: "o", Kind: EventResume, Over: who, At: after(2 * time.Hour)} }
	for name, c := range map[string]struct {
		said   []Comment
		gone   []string
		event  Event
		merges bool
	}{
		"nobody":                      {},
		"its author approves":         {said: by("ann", "OWNER", "HEAD", 2*time.Hour), merges: true},
		"its author deletes it":       {gone: []string{"1"}, merges: true},
		"another who may write":       {said: by("bob", "MEMBER", "HEAD", 2*time.Hour), merges: true},
		"another's older approval":    {said: by("bob", "MEMBER", "c0000001", -time.Hour)},
		"another who may not write":   {said: by("eve", "NONE", "HEAD", 2*time.Hour)},
		"the word of another":         {said: word, merges: true},
		"the user overrules":          {event: over("ann"), merges: true},
		"the user overrules somebody": {event: over("bob")},
	} {
		for how, agents := range map[string]func(Job) (Report, []Commit){"fixed": willing, "declined": decline,
			"in words": inWords} {
			w := &world{agents: agents, news: []Comment{ask}}
			head := map[string]string{"fixed": "c0000002", "declined": "c0000002", "in words": "c0000001"}[how]
			for _, s := range c.said {
				s.Commit = strings.Replace(s.Commit, "HEAD", head, 1)
				w.news = append(w.news, s)
			}
			events := []Event{c.event}
			if c.event.ID == "" {
				events = nil
			}
			w.during = func(j Job) {
				if j.Role == Fixer {
					w.deleted = c.gone
				}
			}
			st, r := play(t, w, thatMerges(), events...)
			early := r.now.Before(after(2 * time.Hour))
			if merged := w.mergedBy != nil; merged != c.merges || merged && len(c.gone) == 0 && early {
				t.Errorf("%s, %s: merged %v, end %q at %v", name, how, merged, st.End, r.now)
			}
			if !c.merges && !strings.Contains(strings.Join(w.said, "\n"), "it is approved, and waits for ann") {
				t.Errorf("%s, %s: said %q", name, how, w.said)
			}
		}
	}
	w := &world{agents: willing, news: []Comment{ask}}
	if st, _ := play(t, w, spec()); st.End != EndApproved {
		t.Errorf("without a merge: end %q", st.End)
	}
}

// Guards against a phase that waits for ever for a forge that refuses to merge, and against a reason that nobody reads.
func TestARefusalThatLastsIsAQuestion(t *testing.T) {
	const why = "the branch protection wants two approvals, and there is one of them; ask somebody who may give another"
	w := &world{agents: willing, refuses: why}
	st, r := play(t, w, thatMerges(), Event{ID: "stop", Kind: EventCleanup, At: after(2 * time.Hour)})
	if !strings.Contains(w.asked, why) || w.mergedBy != nil || !strings.Contains(strings.Join(w.said, "\n"), why) {
		t.Errorf("end %q at %v, asked %q, said %q", st.End, r.now, w.asked, w.said)
	}
	w = &world{agents: willing, refuses: why, refusesUntil: after(2 * time.Minute)}
	if st, _ = play(t, w, thatMerges()); st.End != EndMerged || w.asked != "" {
		t.Errorf("one that passes: end %q, asked %q", st.End, w.asked)
	}
	w = &world{agents: willing, refuses: why, refusesUntil: after(time.Hour)}
	st, _ = play(t, w, thatMerges(), Event{ID: "yes", Kind: EventResume, At: after(2 * time.Hour)})
	if st.End != EndMerged {
		t.Errorf("after an answer: end %q", st.End)
	}
}
