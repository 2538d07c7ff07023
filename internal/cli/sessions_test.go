package cli

import (
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against a reason of many words or lines that pulls a whole listing apart.
func TestASessionIsOneLineWhateverItsReason(t *testing.T) {
	io, out, _ := term.Test("")
	a := &commands{&app.App{IO: io}}
	at := time.Now()
	a.listSessions([]store.Session{
		{ID: "00000001", State: store.Failed, Reason: strings.Repeat("many words\nand lines ", 50), Title: "one\ntwo",
			Created: at},
		{ID: "00000002", State: store.Done, Title: "x", Created: at, Started: at, Finished: at.Add(90 * time.Second)},
	}, 0, app.Which{})
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 || len(lines[1]) > 160 || !strings.HasPrefix(lines[1], "00000001  failed (many words and lines") {
		t.Errorf("%s", out)
	}
	if !strings.Contains(lines[2], " 1m ") {
		t.Errorf("%s", lines[2])
	}
}

func TestSinceIsATimeOrHowLongAgo(t *testing.T) {
	now := time.Date(2026, 11, 16, 12, 0, 0, 0, time.Local)
	for text, want := range map[string]time.Time{
		"": {}, "10m": now.Add(-10 * time.Minute), "2d": now.AddDate(0, 0, -2),
		"2026-11-15":          time.Date(2026, 11, 15, 0, 0, 0, 0, time.Local),
		"2026-11-15 08:30":    time.Date(2026, 11, 15, 8, 30, 0, 0, time.Local),
		"2026-11-15 08:30:01": time.Date(2026, 11, 15, 8, 30, 1, 0, time.Local),
	} {
		if got, err := parseSince(text, now); err != nil || !got.Equal(want) {
			t.Errorf("%q: %v, %v", text, got, err)
		}
	}
	for _, text := range []string{"yesterday", "-5m", "0", "d", "99999999d"} {
		if _, err := parseSince(text, now); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
