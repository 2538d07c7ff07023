package serve

import (
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a log that says when an engine took a phase up again, and not since when nobody watched it.
func TestALogSaysHowTheEngineBeforeEnded(t *testing.T) {
	data := t.TempDir()
	at := time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)
	clock := func() time.Time { return at }
	db := must.Get(store.Open(t.Context(), filepath.Join(data, "cco.db")))(t)
	defer func() { must.Do(t, db.Close()) }()
	note := func(id string, created, now time.Time, before Life) {
		logTakenUp(t.Context(), db, store.Phase{ID: id, Created: created}, now, before)
	}
	if LastLife(data) != (Life{}) {
		t.Error("an engine that never was is known")
	}
	note("aaaaaaaa", at, at, LastLife(data))
	stop := showLife(t.Context(), data, clock)
	killed := LastLife(data)
	stop()
	stopped := LastLife(data)
	if killed != (Life{Last: at}) || stopped != (Life{Last: at, Stopped: true}) {
		t.Errorf("killed %+v, stopped %+v", killed, stopped)
	}
	later := at.Add(time.Hour)
	note("bbbbbbbb", at.Add(-time.Hour), later, killed)
	note("cccccccc", at.Add(-time.Hour), later, stopped)
	note("dddddddd", at.Add(time.Minute), later, killed) // it never had that engine
	line := func(at time.Time, text string) store.Line { return store.Line{At: at, Text: text} }
	for phase, want := range map[string][]store.Line{
		"aaaaaaaa": {line(at, steps.TakenUp)},
		"bbbbbbbb": {line(at, steps.Died), line(later, steps.TakenUp)},
		"cccccccc": {line(at, steps.Stopped), line(later, steps.TakenUp)},
		"dddddddd": {line(later, steps.TakenUp)},
	} {
		if got := must.Get(db.ReadLog(t.Context(), phase, 0))(t); !slices.Equal(got, want) {
			t.Errorf("%s: %+v, not %+v", phase, got, want)
		}
	}
}
