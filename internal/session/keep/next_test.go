package keep

import (
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
)

func TestNext(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 3, 14, 0, 0, 0, time.Local)
	overloaded := event.Finished{Outcome: event.Failed, Error: "API Error: 529 overloaded", Transient: true}
	at := func(d time.Duration) event.Finished {
		return event.Finished{Outcome: event.Failed, Error: "limit reached", Transient: true, ResetAt: now.Add(d)}
	}
	const usual = 6 * time.Hour
	for _, c := range []struct {
		name   string
		f      event.Finished
		h      history
		never  bool
		most   time.Duration
		jitter float64
		wait   time.Duration
		why    string
	}{
		{"done", event.Finished{Outcome: event.OK}, history{}, false, usual, 0, 0, ""},
		{"a failure of its own", event.Finished{Outcome: event.Failed, Error: "401"}, history{}, false, usual, 0, 0, ""},
		{"a spend limit", event.Finished{Outcome: event.Limit}, history{}, false, usual, 0, 0, ""},
		{"killed", event.Finished{Outcome: event.Killed}, history{}, false, usual, 0, 0, ""},
		{"a question beats a failure", event.Finished{Outcome: event.Failed, Transient: true, Asked: true}, history{}, false,
			usual, 0, 0, ""},
		{"overloaded", overloaded, history{}, false, usual, 0, firstWait, "529"},
		{"with jitter", overloaded, history{}, false, usual, 1, firstWait + firstWait/2, "529"},
		{"again, longer", overloaded, history{Failures: 2}, false, usual, 0, 4 * firstWait, ""},
		{"too often", overloaded, history{Failures: 5}, false, usual, 0, 0, "5 times"},
		{"switched off", overloaded, history{}, true, time.Hour, 0, 0,
			"--no-resume"},
		{"reset is honoured", at(time.Hour), history{}, false, usual, 0, time.Hour + resetSlack, "limit reached"},
		{"reset beats the backoff", at(time.Second), history{Failures: 4}, false, usual, 0, time.Second + resetSlack, ""},
		{"a reset in the past is none", at(-time.Hour), history{}, false, usual, 0, firstWait, ""},
		{"a reset too far away", at(7 * time.Hour), history{}, false, usual, 0, 0, "push.max_wait is 6h"},
		{"waited enough", at(time.Hour), history{Waited: 5*time.Hour + time.Minute}, false, usual, 0, 0, "until 15:00:05"},
		{"no waiting at all", overloaded, history{}, false, 0, 0, 0, "push.max_wait is 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			wait, why := next(c.f, c.h, c.never, c.most, now, c.jitter)
			if wait != c.wait || !strings.Contains(why, c.why) {
				t.Errorf("%s because of %q, want %s because of %q", wait, why, c.wait, c.why)
			}
		})
	}
}
