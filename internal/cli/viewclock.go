package cli

import (
	"time"

	"github.com/cco-dev/cco/internal/term"
)

// clock ticks until it is stopped.
func (v *view) clock() (stop func()) {
	quit, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		ticker := time.NewTicker(time.Second)
		defer ticker.Stop()
		for {
			select {
			case <-quit:
				return
			case now := <-ticker.C:
				v.tick(now)
			}
		}
	}()
	return func() { close(quit); <-done }
}

// tick shows how long the agent has been at work, behind what it does.
func (v *view) tick(now time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.began.IsZero() && !v.drawn {
		v.live(now)
	}
}

func (v *view) live(now time.Time) {
	if v.began.IsZero() {
		v.a.IO.Live("%s", v.status)
		return
	}
	v.a.IO.Live("%s, %s", v.status, max(0, now.Sub(v.began)).Round(time.Second))
}

// leave shows what could not be shown while the terminal was the agent's.
func (v *view) leave() {
	v.console = nil
	for _, words := range v.refused {
		v.line(term.Yellow, "✗ "+words)
	}
}
