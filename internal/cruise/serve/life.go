package serve

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/store"
)

// Life is when an engine was last known to run, and how it ended if it does no more.
type Life struct {
	Last    time.Time // zero if there never was one
	Stopped bool      // in order; else it was killed, or runs
}

// lifeFile is touched while an engine runs, and has words in it when the engine was stopped.
func lifeFile(data string) string { return filepath.Join(data, "cruise.alive") }

// lifeEvery is how often an engine says that it runs: the death of one is known as exactly.
const lifeEvery = 2 * time.Second

// LastLife reads what is known of the last engine of a data directory.
func LastLife(data string) Life {
	info, err := os.Stat(lifeFile(data))
	if err != nil {
		return Life{}
	}
	return Life{Last: info.ModTime().UTC(), Stopped: info.Size() > 0}
}

// showLife says that an engine runs, until stop is called, which says that it was stopped. A failure must not stop it.
func showLife(ctx context.Context, data string, now func() time.Time) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	write := func(words string) {
		if os.WriteFile(lifeFile(data), []byte(words), 0o600) == nil {
			_ = os.Chtimes(lifeFile(data), now(), now())
		}
	}
	write("")
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lifeEvery)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
				_ = os.Chtimes(lifeFile(data), now(), now())
			}
		}
	}()
	return func() { cancel(); <-done; write("stopped\n") }
}

// logTakenUp notes that an engine goes on with a phase, and when the one before it ended, if that had the phase. A
// failure must not stop a phase.
func logTakenUp(ctx context.Context, s *store.Store, p store.Phase, now time.Time, before Life) {
	if !before.Last.IsZero() && before.Last.After(p.Created) && before.Last.Before(now) {
		how := steps.Died
		if before.Stopped {
			how = steps.Stopped
		}
		_ = s.Log(ctx, p.ID, before.Last, how)
	}
	_ = s.Log(ctx, p.ID, now, steps.TakenUp)
}
