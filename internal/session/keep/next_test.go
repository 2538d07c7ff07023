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
	usual := patience{Tries: 5, Wait: 6 * time.Hour}
	for _, c := range []struct {
		name   string
		f      event.Finished
		h      history
		p      patience
		jitter float64
		resume bool
		wait   time.Duration
		why    string
	}{
		{"done", event.Finished{Outcome: event.OK}, history{}, usual, 0, false, 0, ""},
		{"a failure of its own", event.Finished{Outcome: event.Failed, Error: "401"}, history{}, usual, 0, false, 0, ""},
		{"a spend limit", event.Finished{Outcome: event.Limit}, history{}, usual, 0, false, 0, ""},
		{"killed", event.Finished{Outcome: event.Killed}, history{}, usual, 0, false, 0, ""},
		{"a question beats a failure", event.Finished{Outcome: event.Failed, Transient: true, Asked: true}, history{}, usual,
			0, false, 0, ""},
		{"overloaded", overloaded, history{}, usual, 0, true, firstWait, "529"},
		{"with jitter", overloaded, history{}, usual, 1, true, firstWait + firstWait/2, "529"},
		{"again, longer", overloaded, history{Failures: 2}, usual, 0, true, 4 * firstWait, ""},
		{"never longer than that", overloaded, history{Failures: 90}, patience{Tries: 100, Wait: 6 * time.Hour}, 0, true,
			longestWait, ""},
		{"too often", overloaded, history{Failures: 5}, usual, 0, false, 0, "5 times"},
		{"switched off", overloaded, history{}, patience{NoResume: true, Tries: 5, Wait: time.Hour}, 0, false, 0,
			"--no-resume"},
		{"reset is honoured", at(time.Hour), history{}, usual, 0, true, time.Hour + resetSlack, "limit reached"},
		{"reset beats the backoff", at(time.Second), history{Failures: 4}, usual, 0, true, time.Second + resetSlack, ""},
		{"a reset in the past is none", at(-time.Hour), history{}, usual, 0, true, firstWait, ""},
		{"a reset too far away", at(7 * time.Hour), history{}, usual, 0, false, 0, "push.max_wait is 6h"},
		{"waited enough", at(time.Hour), history{Waited: 5*time.Hour + time.Minute}, usual, 0, false, 0, "until 15:00:05"},
		{"no waiting at all", overloaded, history{}, patience{Tries: 5}, 0, false, 0, "push.max_wait is 0s"},
	} {
		t.Run(c.name, func(t *testing.T) {
			v := next(c.f, c.h, c.p, now, c.jitter)
			if v.Resume != c.resume || v.Wait != c.wait || !strings.Contains(v.Why, c.why) {
				t.Errorf("%+v, want resume %v after %s because of %q", v, c.resume, c.wait, c.why)
			}
			if v.Resume && !v.Until.Equal(now.Add(c.wait)) {
				t.Errorf("until %s", v.Until)
			}
		})
	}
}
