package engine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
)

// world is steps that a test has a hand in, and the row that a phase saves.
type world struct {
	cruise.Steps
	mu    sync.Mutex
	row   []byte
	saves int
	named int
	looks int
	full  bool // the disk
	state forge.State
	log   []string
	told  []string
}

func (w *world) Metadata(context.Context, cruise.MetadataIn) (reading.Metadata, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.named++
	return reading.Metadata{}, errors.New("nobody names it")
}

func (w *world) Look(_ context.Context, in cruise.LookIn) (cruise.News, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looks++
	return cruise.News{Mark: in.Mark, State: w.state}, nil
}

func (w *world) looked() int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looks
}

func (w *world) Say(context.Context, cruise.SayIn) error { return nil }

func (w *world) Save(_ context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.full {
		return cruise.Saved{}, &cruise.Temporary{Err: errors.New("no space left on device")}
	}
	w.saves++
	data, err := json.Marshal(in.State)
	w.row = data
	return cruise.Saved{}, err
}

func (w *world) saved(t *testing.T) (st cruise.State) {
	t.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	must.Do(t, json.Unmarshal(w.row, &st))
	return st
}

func (w *world) engine(t *testing.T) *Engine {
	e := &Engine{Steps: w, Now: time.Now,
		Saved: func(context.Context, string) (cruise.State, error) { return w.saved(t), nil },
		Log: func(_, words string) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.log = append(w.log, words)
		},
		Report: func(format string, args ...any) {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.told = append(w.told, fmt.Sprintf(format, args...))
		}}
	t.Cleanup(func() { must.Do(t, e.Close()) })
	return e
}

// runs says whether a phase has a life.
func (e *Engine) runs(phase string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lives[phase] != nil
}

func fresh() cruise.State {
	return cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: 24 * time.Hour})
}

// watching is a phase that waits for news.
func watching() cruise.State {
	st := fresh()
	st.Stage, st.Started, st.LastActivity = cruise.StageWatch, time.Now(), time.Now()
	st.PR = &cruise.PullRequest{Number: 7}
	return st
}

// Guards against a phase that forgets in a crash what it knew, or does again what it had done.
func TestAPhaseGoesOnFromWhatItSaved(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		e := w.engine(t)
		first, second := e.Start(t.Context(), "aaaaaaaa", fresh()), e.Start(t.Context(), "aaaaaaaa", fresh())
		if first != second {
			t.Error("a life is begun twice")
		}
		synctest.Wait()
		must.Do(t, e.Close())
		if st := w.saved(t); st.Ask.Question == "" || e.runs("aaaaaaaa") {
			t.Fatalf("stage %s, runs %v", st.Stage, e.runs("aaaaaaaa"))
		}
		e = w.engine(t)
		e.Start(t.Context(), "aaaaaaaa", w.saved(t))
		synctest.Wait()
		ev := cruise.Event{ID: "e1", Kind: cruise.EventCleanup}
		must.Do(t, errors.Join(e.Send("aaaaaaaa", ev), e.Send("aaaaaaaa", ev)))
		synctest.Wait()
		if st := w.saved(t); st.End != cruise.EndCleanup || w.named != 1 || e.runs("aaaaaaaa") {
			t.Errorf("end %q, named %d times", st.End, w.named)
		}
		if e.Send("aaaaaaaa", ev) == nil {
			t.Error("what is sent to a phase that has ended is lost")
		}
	})
}

// Guards against a phase that works while nothing can be saved: a turn would be paid again after the next crash.
func TestNothingHappensWhileTheDiskIsFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{full: true}
		e := w.engine(t)
		e.Start(t.Context(), "aaaaaaaa", fresh())
		time.Sleep(time.Hour)
		w.mu.Lock()
		if w.named != 0 || len(w.told) == 0 || !strings.Contains(w.told[0], "no space left") {
			t.Errorf("named %d times, told %q", w.named, w.told)
		}
		w.full = false
		w.mu.Unlock()
		time.Sleep(time.Minute)
		if st := w.saved(t); st.Ask.Question == "" || w.named != 1 {
			t.Errorf("stage %s, named %d times", st.Stage, w.named)
		}
	})
}

// broken is a state with which a phase's function panics.
func broken() cruise.State {
	st := watching()
	st.Stage = cruise.StageMerge // without an approval
	return st
}

// Guards against one phase whose function panics and takes all others with it, again after every start, or dies in
// silence.
func TestAPhaseThatGoesWrongIsBegunAgainAndAskedAbout(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{}
		e := w.engine(t)
		w.row = must.Get(json.Marshal(broken()))(t)
		e.Start(t.Context(), "aaaaaaaa", broken())
		for i, after := range []time.Duration{0, 5 * time.Second, 30 * time.Second, 300 * time.Second} {
			time.Sleep(after)
			synctest.Wait()
			if len(w.log) != i+1 || !strings.Contains(w.log[i], "cco went wrong") {
				t.Fatalf("after %v: the log has %q", after, w.log)
			}
			if st := w.saved(t); (st.Ask.Question != "") != (i == 3) {
				t.Errorf("after %v it asks %q", after, st.Ask.Question)
			}
		}
		if !strings.Contains(w.told[len(w.told)-1], "engine.go") {
			t.Errorf("where it went wrong is not told: %q", w.told)
		}
		must.Do(t, e.Send("aaaaaaaa", cruise.Event{ID: "w", Kind: cruise.EventWake}))
		time.Sleep(24 * time.Hour)
		if len(w.log) != 4 || !e.runs("aaaaaaaa") {
			t.Errorf("it is begun again although nobody said so: %q", w.log)
		}
		must.Do(t, e.Send("aaaaaaaa", cruise.Event{ID: "r", Kind: cruise.EventCleanup}))
		synctest.Wait()
		if st := w.saved(t); st.End != cruise.EndCleanup {
			t.Errorf("stage %s, end %q: %q", st.Stage, st.End, w.log)
		}
	})
}

// Guards against what a phase has read and not saved when it goes wrong: it must read it again.
func TestWhatNoSavedStateKnowsOfIsReadAgain(t *testing.T) {
	w := &world{}
	l := &life{Engine: w.engine(t), phase: "aaaaaaaa", ctx: t.Context(), arrived: make(chan struct{}, 1),
		events: []cruise.Event{{ID: "a"}, {ID: "b"}}}
	read := func(want string) {
		t.Helper()
		if e := must.Get(l.Recv(0))(t); e == nil || e.ID != want {
			t.Errorf("read %+v, want %s", e, want)
		}
	}
	read("a")
	must.Get(cruise.StepSave.Begin(l, cruise.SaveIn{})())(t)
	read("b")
	l.putBack()
	read("b")
	if e := must.Get(l.Recv(0))(t); e != nil {
		t.Errorf("read %+v", e)
	}
}

// Guards against a wait that fills the record with looks that found nothing, finds something and tells nobody, or
// outlives a stop.
func TestAWaitLooksAndSavesNothing(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{state: forge.Open}
		e := w.engine(t)
		e.Start(t.Context(), "aaaaaaaa", watching())
		time.Sleep(10 * time.Minute)
		w.mu.Lock()
		saves, looks := w.saves, w.looks
		w.mu.Unlock()
		time.Sleep(40 * time.Minute)
		w.mu.Lock()
		if w.saves != saves || w.looks < looks+5 {
			t.Errorf("%d saves and %d looks, before %d and %d", w.saves, w.looks, saves, looks)
		}
		w.state = forge.Merged
		w.mu.Unlock()
		time.Sleep(11 * time.Minute)
		if st := w.saved(t); st.End != cruise.EndMerged {
			t.Errorf("stage %s", st.Stage)
		}
	})
}

// Guards against a phase that forgets its pace in a crash, or a hundred that all look at once after it.
func TestTheNextLookIsWhenItWasDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{state: forge.Open}
		st := watching()
		st.Looks.Backoff, st.Looks.Next = cruise.Backoff{Secs: 160}, time.Now().Add(100*time.Second)
		e := w.engine(t)
		e.Start(t.Context(), "aaaaaaaa", st)
		time.Sleep(99 * time.Second)
		if got := w.saved(t); w.looked() != 0 || !got.Looks.Next.Equal(st.Looks.Next) ||
			got.Looks.Backoff != st.Looks.Backoff {
			t.Errorf("%d looks, next at %v, want %v", w.looked(), got.Looks.Next, st.Looks.Next)
		}
		time.Sleep(2 * time.Second)
		if w.looked() != 1 {
			t.Errorf("%d looks when it was due", w.looked())
		}
		// The clock was set back by a day while no engine ran.
		must.Do(t, e.Close())
		late := watching()
		late.Looks.Backoff, late.Looks.Next = st.Looks.Backoff, time.Now().Add(24*time.Hour)
		e = w.engine(t)
		e.Start(t.Context(), "aaaaaaaa", late)
		time.Sleep(301 * time.Second)
		if w.looked() != 2 {
			t.Errorf("%d looks", w.looked())
		}
	})
}

// lost is an error of a phase that is another machine's by now.
type lost struct{}

func (lost) Error() string { return "lost" }
func (lost) Unrecorded()   {}

// Guards against a life that goes on, or is begun again, where its phase is no longer at home.
func TestALifeEndsWhereItsPhaseIsNoMore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{state: forge.Open}
		e := w.engine(t)
		e.Steps = &elsewhere{world: w}
		e.Start(t.Context(), "aaaaaaaa", watching())
		time.Sleep(time.Hour)
		if e.runs("aaaaaaaa") || len(w.log) > 0 {
			t.Errorf("it lives, and says %q", w.log)
		}
	})
}

// stuck is steps of which the first look does not end, whoever wants it to.
type stuck struct {
	*world
	began atomic.Bool
	free  chan struct{}
}

func (s *stuck) Look(ctx context.Context, in cruise.LookIn) (cruise.News, error) {
	if !s.began.Swap(true) {
		<-s.free
	}
	return s.world.Look(ctx, in)
}

// Guards against a life that runs beside the next one of its phase, and against one that does not end and keeps the
// next from running.
func TestALaterLifeEndsTheOneBefore(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := &world{state: forge.Open}
		e := w.engine(t)
		before := e.Start(t.Context(), "aaaaaaaa", watching())
		synctest.Wait()
		next := watching()
		next.Life.Number++
		e.Start(t.Context(), "aaaaaaaa", next)
		<-before
		synctest.Wait()
		if w.looked() != 2 || !e.runs("aaaaaaaa") || len(w.log) > 0 {
			t.Errorf("%d lives have looked, and the log has %q", w.looked(), w.log)
		}

		w = &world{state: forge.Open}
		hangs := &stuck{world: w, free: make(chan struct{})}
		e = w.engine(t)
		e.Steps = hangs
		e.Start(t.Context(), "bbbbbbbb", watching())
		synctest.Wait()
		e.Start(t.Context(), "bbbbbbbb", next)
		time.Sleep(closing - time.Second)
		if w.looked() != 0 {
			t.Error("it does not wait for the life before")
		}
		time.Sleep(2 * time.Second)
		if w.looked() != 1 || len(w.log) != 1 {
			t.Errorf("it waits for a life that does not end: %d looks, and the log has %q", w.looked(), w.log)
		}
		saves := w.saves
		close(hangs.free)
		synctest.Wait()
		if w.saves != saves || !e.runs("bbbbbbbb") {
			t.Error("a life that was ended saves, or ends the one after it")
		}
	})
}

type elsewhere struct{ *world }

func (e *elsewhere) Look(context.Context, cruise.LookIn) (cruise.News, error) {
	return cruise.News{}, lost{}
}
