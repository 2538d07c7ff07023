package cruise

import (
	"slices"
	"strings"
	"testing"
	"time"
)

// A draft is marked as ready when it is approved, before it is merged, and stays one as long as nobody approves.
func TestADraftIsMarkedAsReadyWhenItIsApproved(t *testing.T) {
	for _, merge := range []bool{false, true} {
		w := &world{agents: picky}
		s := spec()
		s.Draft, s.Ready, s.Merge = true, true, merge
		st, _ := play(t, w, s)
		end, want := EndApproved, []string{"ready"}
		if merge {
			end, want = EndMerged, []string{"ready", "merge"}
		}
		order := slices.DeleteFunc(w.order, func(s string) bool { return s != "ready" && s != "merge" })
		if st.End != end || !slices.Equal(order, want) {
			t.Errorf("end %q, %v", st.End, order)
		}
	}
	w := &world{agents: func(j Job) (Report, []Commit) {
		r, c := picky(j)
		if j.Role == Reviewer {
			r.Answer = "no"
		}
		return r, c
	}}
	s := spec()
	s.Draft, s.Ready = true, true
	if st, _ := play(t, w, s); slices.Contains(w.order, "ready") || st.Review.Ready {
		t.Errorf("end %q, %v", st.End, w.order)
	}
}

func ann(write bool) Pushers { return Pushers{People: []Pusher{{Name: "ann", Write: write}}} }

// Guards against a phase that asks about every commit of a colleague, and against one that takes what nobody vouches
// for.
func TestCommitsOfOtherHandsAreTakenOrAskedAbout(t *testing.T) {
	for name, c := range map[string]struct {
		hands Pushers
		trust string
		asks  string // "" if they are taken
	}{
		"a person who may write":          {ann(true), "", ""},
		"somebody who may not":            {ann(false), "", "ann may not write"},
		"somebody who is trusted by name": {ann(false), "Ann", ""},
		"the user":                        {Pushers{People: []Pusher{{Name: "ada", Us: true}}}, "", ""},
		"what may be a key in the user's name": {Pushers{People: []Pusher{{Name: "ada", Us: true, Key: true}}}, "",
			"may have been a deploy key"},
		"what may be a key in another's": {Pushers{People: []Pusher{{Name: "ann", Write: true, Key: true}}}, "",
			"may have been a deploy key"},
		"a key in a trusted name": {Pushers{People: []Pusher{{Name: "ann", Key: true}}}, "ann", ""},
		"a bot":                   {Pushers{People: []Pusher{{Name: "renovate[bot]", Bot: true}}}, "", "is a program"},
		"a trusted bot":           {Pushers{People: []Pusher{{Name: "renovate[bot]", Bot: true}}}, "renovate[bot]", ""},
		"a person after a bot": {Pushers{People: []Pusher{{Name: "ann", Write: true}, {Name: "x[bot]", Bot: true}}}, "",
			"x[bot] is a program"},
		"nobody knows who": {Pushers{}, "", "does not say who"},
		"by force":         {Pushers{Forced: true, People: []Pusher{{Name: "ann", Write: true}}}, "", "by force"},
	} {
		t.Run(name, func(t *testing.T) {
			w := &world{agents: willing, head: "ffffffff", hands: c.hands}
			s := spec()
			s.Timeout = 2 * time.Hour
			if c.trust != "" {
				s.Trusted = []string{c.trust}
			}
			st, _ := play(t, w, s)
			if c.asks != "" {
				if !strings.Contains(w.asked, c.asks) || !strings.Contains(w.asked, "ffffffff") ||
					!strings.Contains(w.asked, "c0000001") || len(w.taken) > 0 || st.End != EndIdle {
					t.Errorf("end %q, asked %q, took %+v", st.End, w.asked, w.taken)
				}
				return
			}
			// It is reviewed from the new head on, and nothing is pushed over it.
			last := w.posted[len(w.posted)-1]
			if st.End != EndApproved || w.asked != "" || st.Head.Commit != "ffffffff" || last.Head != "ffffffff" ||
				len(w.taken) != 1 || len(w.pushes) != 1 {
				t.Errorf("end %q, asked %q, head %s, took %+v, pushes %+v", st.End, w.asked, st.Head.Commit, w.taken, w.pushes)
			}
		})
	}
}

// Guards against a question about every push, where a busy forge shows who pushed some seconds after the push.
func TestAForgeThatSaysLateWhoPushedIsWaitedFor(t *testing.T) {
	w := &world{agents: willing, head: "ffffffff", hands: ann(true), silent: 4}
	if st, _ := play(t, w, spec()); st.End != EndApproved || w.asked != "" || len(w.taken) != 1 {
		t.Errorf("end %q, asked %q, took %+v", st.End, w.asked, w.taken)
	}
}

// Guards against a fixer that is paid for work on a head that is no longer there.
func TestOtherHandsAreSeenBeforeAFixerIsPaid(t *testing.T) {
	w := &world{hands: ann(true)}
	w.agents = func(j Job) (Report, []Commit) {
		if j.Role == Reviewer && w.head == "" {
			w.head = "ffffffff" // while the reviewers look
		}
		if j.Role == Fixer && len(w.taken) == 0 {
			t.Error("a fixer was paid before the push of another was seen")
		}
		return picky(j)
	}
	st, _ := play(t, w, spec())
	if st.End != EndApproved || len(w.taken) != 1 || w.taken[0].Ours != "c0000001" {
		t.Errorf("end %q, took %+v, asked %q", st.End, w.taken, w.asked)
	}
}

// pushedDuringAFix is a world in which somebody pushes while the fixer works.
func pushedDuringAFix() *world {
	w := &world{hands: ann(true)}
	w.agents = func(j Job) (Report, []Commit) {
		if j.Role == Fixer && len(w.taken) == 0 {
			w.head = "ffffffff"
		}
		return picky(j)
	}
	return w
}

func TestWhatWasPushedWhileAFixerWorkedIsJoined(t *testing.T) {
	w := pushedDuringAFix()
	st, _ := play(t, w, spec())
	push := w.pushes[len(w.pushes)-1]
	if len(w.taken) != 1 || w.taken[0].Ours != "c0000002" || push.New != "joined" || push.Old != "ffffffff" ||
		w.asked != "" || len(w.replies) == 0 {
		t.Errorf("end %q, took %+v, pushes %+v, asked %q", st.End, w.taken, w.pushes, w.asked)
	}
}

func TestTheUserChoosesASide(t *testing.T) {
	for side, check := range map[Side]func(w *world, st State) bool{
		Theirs: func(w *world, st State) bool {
			return len(w.pushes) == 1 && w.posted[len(w.posted)-1].Head == "ffffffff" && st.Head.Commit == "ffffffff"
		},
		Ours: func(w *world, st State) bool {
			last := w.pushes[len(w.pushes)-1]
			return last.Old == "ffffffff" && last.New == "joined" && st.Head.Commit == "joined"
		},
	} {
		w := &world{agents: willing, head: "ffffffff", hands: Pushers{Forced: true}}
		w.during = func(j Job) {
			if j.Role == Reviewer && len(w.taken) > 0 && side == Ours {
				w.head = "joined"
			}
		}
		st, _ := play(t, w, spec(), Event{ID: "r", Kind: EventResume, At: after(time.Hour), Take: side})
		if st.End != EndApproved || len(w.taken) != 1 || w.taken[0].Side != side || !check(w, st) {
			t.Errorf("%s: end %q, head %s, took %+v, pushes %+v, asked %q", side, st.End, st.Head.Commit, w.taken, w.pushes,
				w.asked)
		}
	}
	// While a round waits to be pushed, its answers are posted with the head that joins both.
	w := pushedDuringAFix()
	w.clash = true
	st, _ := play(t, w, spec(), Event{ID: "r", Kind: EventResume, At: after(time.Hour), Take: Ours})
	if push := w.pushes[len(w.pushes)-1]; !strings.Contains(w.asked, "conflicts with ours in a.go") ||
		push.New != "joined" || len(w.replies) == 0 || st.Ask.Question != "" {
		t.Errorf("end %q, took %+v, pushes %+v, asked %q", st.End, w.taken, w.pushes, w.asked)
	}
	// What must not be there is asked about, and the user may take it all the same.
	w = &world{agents: willing, head: "ffffffff", hands: ann(true), badPush: true}
	st, _ = play(t, w, spec(), Event{ID: "r", Kind: EventResume, At: after(time.Hour), Take: Theirs})
	if !strings.Contains(w.asked, "secrets: a key") || st.End != EndApproved || st.Head.Commit != "ffffffff" {
		t.Errorf("end %q, asked %q", st.End, w.asked)
	}
	if slices.ContainsFunc(w.said, func(s string) bool { return strings.Contains(s, "secrets") }) {
		t.Errorf("said %q", w.said)
	}
	// A wish to look that is read together with the answer does not take it away.
	w = &world{agents: willing, head: "ffffffff", hands: Pushers{Forced: true}}
	st, _ = play(t, w, spec(), Event{ID: "f", Kind: EventNews, At: after(time.Hour)},
		Event{ID: "r", Kind: EventResume, At: after(time.Hour), Take: Theirs})
	if st.End != EndApproved || st.Head.Commit != "ffffffff" || len(w.taken) != 1 || st.Life.Again != 1 {
		t.Errorf("end %q, head %s, went on %d times, took %+v", st.End, st.Head.Commit, st.Life.Again, w.taken)
	}
	// A resume without a side, or a wish to look, asks again as long as it is still there.
	for _, kind := range []string{EventResume, EventNews} {
		w = &world{agents: willing, head: "ffffffff", hands: Pushers{Forced: true}}
		st, _ = play(t, w, spec(), Event{ID: "r", Kind: kind, At: after(time.Hour)})
		if st.End != EndIdle || st.Life.Again != 1 || len(w.taken) > 0 {
			t.Errorf("%s: end %q, went on %d times, took %+v", kind, st.End, st.Life.Again, w.taken)
		}
	}
}
