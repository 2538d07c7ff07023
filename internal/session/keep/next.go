package keep

import (
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/session"
)

// patience says how often and how long a run waits for a model that fails for the time being.
type patience struct {
	NoResume bool
	Tries    int           // failures in a row, without anything done between them
	Wait     time.Duration // of one run, in all; 0 is none
}

// history is how often and how long this run has waited so far.
type history struct {
	Failures int // in a row
	Waited   time.Duration
}

// The waits between attempts: they double from the first to the longest. The agents' CLIs have tried for minutes
// before.
const (
	firstWait   = 5 * time.Second
	longestWait = 10 * time.Minute
	// resetSlack is added to the time at which a limit is said to reset: clocks differ.
	resetSlack = 5 * time.Second
)

// verdict is what to do after an attempt.
type verdict struct {
	Resume bool
	Wait   time.Duration
	Until  time.Time
	Why    string // why it waits, or why it doesn't although it could
}

// next decides what follows an attempt that ended by itself. Jitter is from 0 to 1: many sessions must not come back at
// once.
func next(f event.Finished, h history, p patience, now time.Time, jitter float64) verdict {
	switch {
	case f.Outcome == event.OK || f.Asked || !f.Transient:
		return verdict{}
	case p.NoResume:
		return verdict{Why: "not tried again (--no-resume)"}
	case h.Failures >= p.Tries:
		return verdict{Why: fmt.Sprintf("tried %d times in a row", p.Tries)}
	}
	wait := min(firstWait<<min(h.Failures, 16), longestWait)
	wait += time.Duration(jitter * float64(wait) / 2)
	if reset := f.ResetAt.Sub(now); !f.ResetAt.IsZero() && reset > 0 {
		wait = reset + resetSlack + time.Duration(jitter*float64(resetSlack))
	}
	if h.Waited+wait > p.Wait {
		return verdict{Why: fmt.Sprintf("it would have to wait until %s, and push.max_wait is %s",
			clockTime(now.Add(wait), now), p.Wait)}
	}
	return verdict{Resume: true, Wait: wait, Until: now.Add(wait), Why: session.FirstLine(f.Error)}
}

// clockTime is a time as a person says it: the day only if it is another.
func clockTime(t, now time.Time) string {
	t, now = t.Local(), now.Local()
	if t.YearDay() == now.YearDay() && t.Year() == now.Year() {
		return t.Format("15:04:05")
	}
	return t.Format("2 Jan 15:04")
}
