package keep

import (
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/session"
)

// history is how often and how long this run has waited so far.
type history struct {
	Failures int // in a row
	Waited   time.Duration
}

// maxTries is how often in a row a model may fail, without anything done between, before somebody has to look.
const maxTries = 5

const (
	// firstWait is the wait after the first failure, which doubles with each. The agents' CLIs have tried for minutes
	// before.
	firstWait = 5 * time.Second
	// resetSlack is added to the time at which a limit is said to reset: clocks differ.
	resetSlack = 5 * time.Second
)

// next says how long to wait before the next attempt, after one that ended by itself, and why; or, if it is 0, why
// there is none although there could be. One run waits for most in all. Jitter is from 0 to 1: many sessions must not
// come back at once.
func next(f event.Finished, h history, noResume bool, most time.Duration, now time.Time, jitter float64) (time.Duration,
	string) {
	switch {
	case f.Outcome == event.OK || f.Asked || !f.Transient:
		return 0, ""
	case noResume:
		return 0, "not tried again (--no-resume)"
	case h.Failures >= maxTries:
		return 0, fmt.Sprintf("tried %d times in a row", maxTries)
	}
	wait := firstWait << h.Failures
	wait += time.Duration(jitter * float64(wait) / 2)
	if reset := f.ResetAt.Sub(now); !f.ResetAt.IsZero() && reset > 0 {
		wait = reset + resetSlack + time.Duration(jitter*float64(resetSlack))
	}
	if h.Waited+wait > most {
		return 0, fmt.Sprintf("it would have to wait until %s, and push.max_wait is %s", clockTime(now.Add(wait), now), most)
	}
	return wait, session.FirstLine(f.Error)
}

// clockTime is a time as a person says it: the day only if it is another.
func clockTime(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2 Jan 15:04")
}
