package keep

import (
	"sync"
	"time"
)

// stopwatch calls expired when its time has passed. It stands still while it is held.
type stopwatch struct {
	limit   time.Duration // 0 never ends
	expired func()

	mu    sync.Mutex
	used  time.Duration // up to since
	since time.Time     // zero while it stands still
	timer *time.Timer
	over  bool
}

// run lets it go on.
func (w *stopwatch) run() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.limit == 0 || w.over || !w.since.IsZero() {
		return
	}
	w.since = time.Now()
	w.timer = time.AfterFunc(max(0, w.limit-w.used), w.ring)
}

// hold makes it stand still: this time does not count against the agent.
func (w *stopwatch) hold() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return
	}
	w.used += time.Since(w.since)
	w.since = time.Time{}
	w.timer.Stop()
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
		w.since = time.Now()
	}
}

func (w *stopwatch) ring() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() || w.over {
		return
	}
	if used := w.used + time.Since(w.since); used < w.limit {
		w.timer.Reset(w.limit - used)
		return
	}
	w.over = true
	go w.expired()
}
