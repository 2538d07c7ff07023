package cruise

import (
	"encoding/json"
	"slices"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestTheFirstWaitIsFiveSeconds(t *testing.T) {
	if got := (Backoff{}).Interval(); got != 5*time.Second {
		t.Errorf("first wait is %v", got)
	}
}

func TestEachWaitWithoutNewsIsTwiceTheLast(t *testing.T) {
	var b Backoff
	for _, want := range []time.Duration{10, 20, 40, 80, 160} {
		if b = b.Slower(); b.Interval() != want*time.Second {
			t.Errorf("wait is %v, want %vs", b.Interval(), int(want))
		}
	}
}

func TestNoWaitIsLongerThanFiveMinutes(t *testing.T) {
	var b Backoff
	for range 100 {
		b = b.Slower()
	}
	if b.Interval() != 300*time.Second {
		t.Errorf("wait is %v", b.Interval())
	}
	if got := (Backoff{Secs: 1 << 40}).Interval(); got != 300*time.Second {
		t.Errorf("a wait read from a file is %v", got)
	}
	if got := (Backoff{Secs: -7}).Interval(); got != 5*time.Second {
		t.Errorf("a wait read from a file is %v", got)
	}
}

func TestNewsBringsTheWaitBackToTheStart(t *testing.T) {
	m := &machine{State: &State{Looks: Looks{Backoff: Backoff{Secs: 160}}}}
	if m.lookNow(); m.Looks.Backoff.Interval() != 5*time.Second {
		t.Errorf("wait after news is %v", m.Looks.Backoff.Interval())
	}
}

func TestTheWaitIsKeptAcrossARestart(t *testing.T) {
	data := must.Get(json.Marshal(Backoff{}.Slower().Slower()))(t)
	var b Backoff
	if err := json.Unmarshal(data, &b); err != nil || b.Interval() != 20*time.Second {
		t.Errorf("%s reads as %v, %v", data, b.Interval(), err)
	}
}

func TestAPhaseThatIsWokenLooksOftenAgain(t *testing.T) {
	for _, kind := range []string{EventWake, EventNews, EventResume} {
		w := &world{agents: unsure}
		play(t, w, spec(), Event{ID: "a", Kind: kind, At: after(time.Hour)},
			Event{ID: "c", Kind: EventCleanup, At: after(2 * time.Hour)})
		i := slices.IndexFunc(w.looks, func(at time.Time) bool { return at.Equal(after(time.Hour)) })
		if i < 0 || !w.looks[i+1].Equal(after(time.Hour+firstWait)) || !w.looks[i+2].Equal(after(time.Hour+3*firstWait)) {
			t.Errorf("%s: looks at %v", kind, w.looks)
		}
	}
}

func TestThePaceCanBeSet(t *testing.T) {
	b := NewState(Spec{PollMin: 20 * time.Second, PollMax: 30 * time.Minute}).Looks.Backoff
	if first, second := b.Interval(), b.Slower().Interval(); first != 20*time.Second || second != 40*time.Second {
		t.Errorf("%v, then %v", first, second)
	}
	for range 20 {
		b = b.Slower()
	}
	if b.Interval() != 30*time.Minute {
		t.Errorf("%+v", b)
	}
	if b = (Backoff{Min: 600}); b.Interval() != 10*time.Minute || b.Slower().Interval() != 10*time.Minute {
		t.Errorf("a shortest wait above the usual longest: %v", b.Slower().Interval())
	}
}
