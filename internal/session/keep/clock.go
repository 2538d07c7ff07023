package keep

import (
	"sync"
	"time"
)

// Clock is where a keeper's time comes from, so that a test need not wait.
type Clock interface {
	Now() time.Time
	// AfterFunc calls f once when d has passed, unless it is stopped before.
	AfterFunc(d time.Duration, f func()) (stop func())
}

// systemClock is the real one.
type systemClock struct{}

func (systemClock) Now() time.Time { return time.Now() }

func (systemClock) AfterFunc(d time.Duration, f func()) func() {
	t := time.AfterFunc(d, f)
	return func() { t.Stop() }
}

// stopwatch calls expired when its time has passed. It stands still while it is held.
type stopwatch struct {
	clock   Clock
	limit   time.Duration // 0 never ends
	expired func()

	mu     sync.Mutex
	used   time.Duration // up to since
	since  time.Time     // zero while it stands still
	disarm func()
	over   bool
}

// run lets it go on.
func (w *stopwatch) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit == 0 || w.over || !w.since.IsZero() {
		return
	}
	w.since = w.clock.Now()
	w.arm()
}

// hold makes it stand still: this time does not count against the agent.
func (w *stopwatch) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return
	}
	w.used += w.clock.Now().Sub(w.since)
	w.since = time.Time{}
	w.disarm()
}

// rang says that the time is over.
func (w *stopwatch) rang() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.over
}

// again starts it from the beginning. It is called for each event, so it leaves the timer alone, which finds out later
// that it rang too early.
func (w *stopwatch) again() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.used = 0
	if !w.since.IsZero() {
		w.since = w.clock.Now()
	}
}

func (w *stopwatch) arm() {
	w.disarm = w.clock.AfterFunc(max(0, w.limit-w.used), w.ring)
}

func (w *stopwatch) ring() {
	w.mu.Lock()
	if w.since.IsZero() || w.over {
		w.mu.Unlock()
		return
	}
	now := w.clock.Now()
	w.used, w.since = w.used+now.Sub(w.since), now
	if w.used < w.limit {
		w.arm()
		w.mu.Unlock()
		return
	}
	w.over = true
	w.mu.Unlock()
	w.expired()
}
