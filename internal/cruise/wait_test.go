package cruise

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestWhenTheNextLookIs(t *testing.T) {
	st := State{Stage: StageWatch, Looks: Looks{Next: begin, Backoff: Backoff{Secs: 80}}}
	for now, want := range map[time.Duration]time.Duration{
		-time.Second: 0, 0: 160 * time.Second, 159 * time.Second: 160 * time.Second, 160 * time.Second: 460 * time.Second,
		461 * time.Second: 760 * time.Second, 24 * time.Hour: 24*time.Hour + 160*time.Second,
	} {
		if got, _ := st.Next(begin.Add(now)); got.Sub(begin) != want {
			t.Errorf("after %v: in %v, want %v", now, got.Sub(begin), want)
		}
	}
	if _, pace := st.Next(begin.Add(time.Second)); pace.Interval() != 160*time.Second {
		t.Errorf("it waits for %v", pace.Interval())
	}
	st.Stage = StageChecks
	if got, _ := st.Next(begin.Add(time.Hour)); !got.Equal(begin) {
		t.Error("a phase that waits for checks looks when it said")
	}
}

// saving counts what is saved, and when the machine dies.
type saving struct {
	*memory
	saves int
	dies  time.Time
}

func (s *saving) Start(step string, in any, run StepFunc) Pending {
	if !s.dies.IsZero() && s.now.After(s.dies) {
		return over(errKilled)
	}
	if step == StepSave.Name {
		s.saves++
	}
	return s.memory.Start(step, in, run)
}

// Guards against a phase that does little else than write down that nothing happened.
func TestLooksThatFindNothingAreNotSaved(t *testing.T) {
	for name, said := range map[string][]Comment{
		"nothing is said": nil,
		"it is approved":  {comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", 7*time.Hour)},
		"work late":       {comment("2", "ann", "OWNER", "Rename it.", 9*time.Hour)},
	} {
		s := &saving{memory: &memory{t: t, w: &world{agents: unsure, news: said, still: true}, now: begin}}
		st := must.Get(Phase(s, NewState(spec())))(t)
		if hours := int(s.now.Sub(begin).Hours()); s.saves > hours+40 || len(s.w.looks) < 10*hours {
			t.Errorf("%s: end %q, %d saves and %d looks in %d hours", name, st.End, s.saves, len(s.w.looks), hours)
		}
	}
}

// Guards against time that a machine was off counted as time in which nothing happened: the phase would end as idle
// when it is switched on.
func TestTimeOffIsNotIdle(t *testing.T) {
	w := &world{agents: unsure, still: true}
	dies := &saving{memory: &memory{t: t, w: w, now: begin}, dies: after(20 * time.Hour)}
	if _, err := Phase(dies, NewState(spec())); !errors.Is(err, errKilled) {
		t.Fatal(err)
	}
	r := &memory{t: t, w: w, now: after(60 * time.Hour)}
	if st, err := Phase(r, w.saved); err != nil || st.End != EndIdle || r.now.Before(after(63*time.Hour)) ||
		r.now.After(after(66*time.Hour)) {
		t.Errorf("end %q at %v: %v", st.End, r.now.Sub(begin), err)
	}
}

// Guards against a round that begins while somebody is still commenting, because a hint that brings nothing new ends
// the wait for more: one of another phase's look, of a webhook for something else, or of a wait that is over.
func TestAHintThatBringsNothingDoesNotEndTheWaitForMoreComments(t *testing.T) {
	at := time.Hour
	for _, kind := range []string{EventWake} {
		w := &world{agents: unsure, news: []Comment{comment("1", "ann", "OWNER", "Rename it.", at),
			comment("2", "ann", "OWNER", "And document it.", at+7*time.Second),
			comment("3", "ann", "OWNER", "[REVIEW COMPLETE]", 9*time.Hour)}}
		wake := func(id string, d time.Duration) Event { return Event{ID: id, Kind: kind, At: after(at + d)} }
		st, _ := play(t, w, spec(), Event{ID: "a", Kind: EventWake, At: after(at + time.Second)}, wake("b", 3*time.Second),
			wake("c", 5*time.Second))
		if st.End != EndComplete || st.Round != 1 {
			t.Errorf("%s: %q after %d rounds", kind, st.End, st.Round)
		}
	}
}

// Guards against a user who asks for a round, and is kept waiting for comments that nobody writes.
func TestARoundThatTheUserAsksForBeginsAtOnce(t *testing.T) {
	var began time.Time
	w := &world{agents: unsure, news: []Comment{comment("1", "ann", "OWNER", "rename it", time.Hour-time.Second),
		comment("9", "ann", "OWNER", "[REVIEW COMPLETE]", 3*time.Hour)}}
	w.during = func(j Job) {
		if j.Role == Fixer {
			began = w.now
		}
	}
	st, _ := play(t, w, spec(), Event{ID: "e1", Kind: EventNews, At: after(time.Hour)})
	if st.Round != 1 || !began.Equal(after(time.Hour)) {
		t.Errorf("round %d began at %v, not %v", st.Round, began, after(time.Hour))
	}
}

// Guards against "1 rounds" on somebody's request.
func TestAPullRequestReadsOneRound(t *testing.T) {
	s := spec()
	s.MaxRounds = 1
	w := &world{agents: func(j Job) (Report, []Commit) {
		if j.Role == Reviewer {
			return Report{OK: true, Answer: `{"verdict":"NEEDS_CHANGES","findings":[{"path":"a.go","severity":"major",` +
				`"text":"more of ` + j.Key + `"}]}`}, nil
		}
		return willing(j)
	}}
	st, _ := play(t, w, s)
	if said := strings.Join(w.said, "\n"); st.End != EndRounds || st.Round != 1 || strings.Contains(said, "1 rounds") {
		t.Errorf("end %q, round %d: %s", st.End, st.Round, said)
	}
}
