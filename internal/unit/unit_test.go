package unit

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestSecondsAreSeconds(t *testing.T) {
	for d, want := range map[time.Duration]string{
		0: "0", 1500 * time.Millisecond: "1.5", 2 * time.Hour: "7200", 1234567 * time.Microsecond: "1.235",
	} {
		text := must.Get(json.Marshal(Seconds(d)))(t)
		var back Seconds
		must.Do(t, json.Unmarshal(text, &back))
		if string(text) != want || back.Duration() != d.Round(time.Millisecond) {
			t.Errorf("%s: %s, and back %s", d, text, back.Duration())
		}
	}
}

func TestOneThingHasNoS(t *testing.T) {
	for n, want := range map[int]string{0: "0 commits", 1: "1 commit", 2: "2 commits"} {
		if got := Count(n, "commit"); got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
