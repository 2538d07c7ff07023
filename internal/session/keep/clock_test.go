package keep

import (
	"slices"
	"sync"
	"testing"
	"time"
)

// fakeClock moves when it is told to, and then calls what is due.
type fakeClock struct {
	mu     sync.Mutex
	now    time.Time
	timers []*fakeTimer
}

type fakeTimer struct {
	at time.Time
	f  func()
}

func newFakeClock() *fakeClock { return &fakeClock{now: time.Date(2026, 11, 3, 14, 0, 0, 0, time.UTC)} }

func (c *fakeClock) Now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.now
}

func (c *fakeClock) AfterFunc(d time.Duration, f func()) func() {
	c.mu.Lock()
	defer c.mu.Unlock()
	t := &fakeTimer{c.now.Add(d), f}
	c.timers = append(c.timers, t)
	return func() {
		c.mu.Lock()
		defer c.mu.Unlock()
		c.timers = slices.DeleteFunc(c.timers, func(o *fakeTimer) bool { return o == t })
	}
}

// advance moves on, timer by timer.
func (c *fakeClock) advance(d time.Duration) {
	end := c.Now().Add(d)
	for {
		c.mu.Lock()
		var due *fakeTimer
		for _, t := range c.timers {
			if !t.at.After(end) && (due == nil || t.at.Before(due.at)) {
				due = t
			}
		}
		if due == nil {
			c.now = end
			c.mu.Unlock()
			return
		}
		c.timers = slices.DeleteFunc(c.timers, func(o *fakeTimer) bool { return o == due })
		c.now = due.at
		c.mu.Unlock()
		due.f()
	}
}

func (c *fakeClock) waiting() int {
	c.mu.Lock()
	defer c.mu.Unlock()
	return len(c.timers)
}

func TestAStopwatchRingsWhenItsTimeHasPassed(t *testing.T) {
	t.Parallel()
	c, rang := newFakeClock(), 0
	w := &stopwatch{clock: c, limit: 30 * time.Minute, expired: func() { rang++ }}
	w.run()
	w.run() // twice is once
	c.advance(29 * time.Minute)
	if rang != 0 {
		t.Fatal("too early")
	}
	c.advance(time.Minute)
	c.advance(time.Hour)
	if rang != 1 || c.waiting() != 0 {
		t.Fatalf("rang %d times, %d timers left", rang, c.waiting())
	}
	w.run()
	c.advance(time.Hour)
	if rang != 1 {
		t.Error("it rang again")
	}
}

// Guards against an agent that is ended for the time in which it waited for a person.
func TestAHeldStopwatchStandsStill(t *testing.T) {
	t.Parallel()
	c, rang := newFakeClock(), 0
	w := &stopwatch{clock: c, limit: 30 * time.Minute, expired: func() { rang++ }}
	w.hold() // before it ran
	w.run()
	c.advance(20 * time.Minute)
	w.hold()
	w.hold()
	c.advance(10 * time.Hour)
	if rang != 0 || c.waiting() != 0 {
		t.Fatalf("rang %d times while it was held, %d timers left", rang, c.waiting())
	}
	w.run()
	c.advance(9 * time.Minute)
	if rang != 0 {
		t.Fatal("it counted what passed while it was held")
	}
	c.advance(time.Minute)
	if rang != 1 {
		t.Error("it never rang")
	}
}

// Guards against an idle timeout that ends a busy agent, and against a timer for each of a million events.
func TestEachEventStartsAnIdleStopwatchAgain(t *testing.T) {
	t.Parallel()
	c, rang := newFakeClock(), 0
	w := &stopwatch{clock: c, limit: 30 * time.Minute, expired: func() { rang++ }}
	w.run()
	for range 1000 {
		c.advance(time.Minute)
		w.again()
		if n := c.waiting(); n != 1 {
			t.Fatalf("%d timers", n)
		}
	}
	if rang != 0 {
		t.Fatal("it rang although something happened each minute")
	}
	c.advance(29 * time.Minute)
	if rang != 0 {
		t.Fatal("too early after the last event")
	}
	c.advance(2 * time.Minute)
	if rang != 1 {
		t.Error("it never rang")
	}
}

func TestAStopwatchWithoutALimitNeverRings(t *testing.T) {
	t.Parallel()
	c := newFakeClock()
	w := &stopwatch{clock: c, expired: func() { t.Error("it rang") }}
	w.run()
	w.again()
	w.hold()
	c.advance(1000 * time.Hour)
}
