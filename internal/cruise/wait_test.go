package cruise

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestAWaitEndsWhenThereIsSomethingToSee(t *testing.T) {
	known := News{Mark: "m", State: PullOpen, Head: "aaaa", Updated: begin, Comments: []Comment{{ID: "old"}}}
	quiet := known
	quiet.Comments = nil
	moved, said := quiet, quiet
	moved.Head, said.Comments = "bbbb", []Comment{{ID: "new"}}
	tests := []struct {
		name  string
		third any // what the third look finds: news, an error or a failure
		after time.Duration
		last  time.Duration // when a look last found nothing
	}{
		{name: "nothing", third: quiet, after: 3615 * time.Second, last: 3615 * time.Second},
		{name: "a comment", third: said, after: 35 * time.Second, last: 15 * time.Second},
		{name: "a push", third: moved, after: 35 * time.Second, last: 15 * time.Second},
		{name: "a failure", third: &StepError{Msg: "down"}, after: 35 * time.Second, last: 15 * time.Second},
		{name: "it is elsewhere", third: errors.New("lost"), after: 35 * time.Second, last: 15 * time.Second},
		{name: "away", third: 20 * time.Minute, after: 35*time.Second + 20*time.Minute, last: 15 * time.Second},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				start, looks := time.Now(), 0
				w := Wait{Known: known, Due: start.Add(5 * time.Second), Until: start.Add(5*time.Second + longestWait)}
				last := w.Watch(t.Context(), time.Now, func(context.Context) (News, error) {
					if looks++; looks != 3 {
						return quiet, nil
					}
					switch third := tt.third.(type) {
					case error:
						return News{}, third
					case time.Duration:
						time.Sleep(third)
						return quiet, nil
					default:
						return third.(News), nil
					}
				})
				if time.Since(start) != tt.after || last.Sub(start) != tt.last {
					t.Errorf("it ended after %v, and last found nothing after %v", time.Since(start), last.Sub(start))
				}
			})
		})
	}
}

func TestAWaitThatIsGivenUpFoundNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, stop := context.WithTimeout(t.Context(), time.Minute)
		defer stop()
		news := News{State: PullOpen}
		w := Wait{Known: news, Due: time.Now().Add(50 * time.Second), Until: time.Now().Add(time.Hour)}
		last := w.Watch(ctx, time.Now, func(ctx context.Context) (News, error) {
			if _, slow := ctx.Deadline(); !slow {
				t.Error("a look outlives its wait")
			}
			<-ctx.Done()
			return News{}, ctx.Err()
		})
		if !last.IsZero() {
			t.Errorf("last %v", last)
		}
	})
}

// Guards against time that a machine slept, or was off, counted as time in which nothing happened, because no look of
// that wait was made before: the phase would end as idle when the laptop is opened.
func TestTimeBeforeTheFirstLookOfAWaitCountsOnlyIfItWasShort(t *testing.T) {
	for asleep, known := range map[time.Duration]bool{0: true, 2*lastWait - time.Second: true, 30 * time.Hour: false} {
		synctest.Test(t, func(t *testing.T) {
			due := time.Now().Add(-asleep)
			w := Wait{Known: News{State: PullOpen}, Due: due, Pace: Backoff{Secs: 300}, Until: due.Add(longestWait)}
			ctx, stop := context.WithTimeout(t.Context(), lastWait+time.Second)
			defer stop()
			last := w.Watch(ctx, time.Now, func(context.Context) (News, error) { return News{State: PullOpen}, nil })
			if ended := ctx.Err() == nil; last.IsZero() == known || ended == known {
				t.Errorf("%v after it was due: ended %v, and nothing new found at %v", asleep, ended, last)
			}
		})
	}
}

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

// looking is an engine whose waits have looks that are not recorded.
type looking struct {
	*memory
	waits int
}

func (l *looking) Await(w Wait) (*Event, time.Time, error) {
	l.waits++
	var last time.Time
	for {
		due, _ := next(w.Due, w.Pace, l.now)
		if e, err := l.Recv(due.Sub(l.now)); e != nil || err != nil {
			return e, last, err
		}
		l.w.now = l.now
		news, err := l.w.Look(context.Background(), w.Look)
		if err != nil || !w.Known.same(news) || !l.now.Before(w.Until) {
			return nil, last, nil
		}
		last = l.now
	}
}

func TestUnrecordedLooksChangeNothing(t *testing.T) {
	for name, said := range map[string][]Comment{
		"nothing is said": nil,
		"it is approved":  {comment("2", "ann", "OWNER", "[REVIEW COMPLETE]", 7*time.Hour)},
		"work late":       {comment("2", "ann", "OWNER", "Rename it.", 9*time.Hour)},
	} {
		t.Run(name, func(t *testing.T) {
			world := func() *world { return &world{agents: unsure, news: said, still: true} }
			all, some := &memory{t: t, w: world(), now: begin}, &looking{memory: &memory{t: t, w: world(), now: begin}}
			a := must.Get(Phase(all, NewState(spec())))(t)
			b := must.Get(Phase(some, NewState(spec())))(t)
			if a.End != b.End || a.Round != b.Round || some.waits == 0 || 2*some.steps > all.steps*3 {
				t.Errorf("%q after %d rounds, want %q after %d", b.End, b.Round, a.End, a.Round)
			}
			if gap := some.now.Sub(all.now).Abs(); gap > lastWait {
				t.Errorf("it ended after %v, want %v", some.now.Sub(begin), all.now.Sub(begin))
			}
			if len(some.w.looks) < len(all.w.looks) || len(some.w.looks) > len(all.w.looks)*5/4 {
				t.Errorf("%d looks, want some %d", len(some.w.looks), len(all.w.looks))
			}
		})
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
