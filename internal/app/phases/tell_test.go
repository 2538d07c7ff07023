package phases

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a session of a phase that is never told of, because it was seen between the making of its workspace
// and its first turn.
func TestASessionIsOfItsPhaseFromItsFirstTurnOn(t *testing.T) {
	const id = "0000000a"
	told := &teller{svc: &session.Service{Data: t.TempDir()}}
	order := func(text string) {
		file := filepath.Join(told.svc.Data, "sessions", id, "order.json")
		must.Do(t, os.MkdirAll(filepath.Dir(file), 0o700))
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
	}
	rec := store.Session{ID: id, State: store.Done}
	is := func(want string) {
		t.Helper()
		if got := told.phaseOf(rec); got != want {
			t.Errorf("it is of %q, want %q", got, want)
		}
	}
	is("")
	order(`{}`)
	is("")
	rec.State, rec.Started = store.Running, time.Now()
	is("")
	order(`{"phase":"p"}`)
	is("p")
	must.Do(t, os.RemoveAll(told.svc.Data))
	is("p") // it is remembered
}
