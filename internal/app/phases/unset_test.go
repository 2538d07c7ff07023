package phases

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against the engine of this machine running what another may have, because a setting was removed.
func TestAPhaseThatMachinesShareHearsNothingWithoutTheirService(t *testing.T) {
	data := t.TempDir()
	a := shell(data, nil)
	io, _, said := term.Test("")
	a.IO, a.App.Mirror = io, a.Mirror
	db := must.Get(a.Store(t.Context()))(t)
	defer func() { _ = db.Close() }()
	st := cruise.NewState(cruise.Spec{Remote: "https://forge.example/ada/shop.git", Kind: cruise.Building})
	st.Stage, st.Home, st.Paused = cruise.StageWatch, "other", true
	must.Do(t, db.SavePhase(t.Context(), must.Get(steps.Record("aaaaaaaa", st, time.Now()))(t)))
	hear := func(_ context.Context, r serve.Request) error {
		if r.Phase != "" {
			t.Errorf("the engine here is told of %+v", r)
		}
		return nil
	}
	must.Do(t, serve.Hear(t.Context(), data, hear, func(ctx context.Context) error {
		for _, kind := range []string{cruise.EventNews, cruise.EventComment, cruise.EventResume, cruise.EventPause,
			cruise.EventCleanup} {
			_, err := a.Send(ctx, "aaaaaaaa", cruise.Event{Kind: kind})
			if _, refused := errors.AsType[*StateError](err); !refused || !strings.Contains(err.Error(), "engine.temporal") {
				t.Errorf("%s: %v", kind, err)
			}
		}
		n, err := a.WatchAll(ctx, &cruise.Event{Kind: cruise.EventResume})
		if n != 0 || !strings.Contains(said.String(), "engine.temporal") {
			t.Errorf("%d go on: %q", n, said)
		}
		return err
	}))
	if sent := must.Get(db.Unread(t.Context(), "aaaaaaaa", nil))(t); len(sent) > 0 {
		t.Errorf("kept for nobody: %+v", sent)
	}
	a.far.asked = time.Time{} // a second ago, say
	must.Do(t, a.Mirror(t.Context(), db))
	if why := a.Waiting()["aaaaaaaa"]; !strings.Contains(why, "engine.temporal") {
		t.Errorf("nobody is told why nothing is known of it: %q", why)
	}
}

// Guards against a worker that nobody asked for, and that does not run the phase for which it was started.
func TestAPhaseOfThisMachineRestsWhereMachinesSharePhases(t *testing.T) {
	data := t.TempDir()
	a := shell(data, nil)
	db := must.Get(a.Store(t.Context()))(t)
	defer func() { _ = db.Close() }()
	st := cruise.NewState(cruise.Spec{Repo: "/r", Kind: cruise.Building})
	must.Do(t, errors.Join(db.SavePhase(t.Context(), must.Get(steps.Record("aaaaaaaa", st, time.Now()))(t)),
		os.WriteFile(filepath.Join(data, "config.toml"), []byte("[engine]\ntemporal = \"localhost:1\"\n"), 0o600)))
	hear := func(_ context.Context, r serve.Request) error {
		if r.Phase != "" {
			t.Errorf("a worker is told of %+v", r)
		}
		return nil
	}
	must.Do(t, serve.Hear(t.Context(), data, hear, func(ctx context.Context) error {
		_, err := a.Send(ctx, "aaaaaaaa", cruise.Event{Kind: cruise.EventResume})
		if _, refused := errors.AsType[*StateError](err); !refused || !strings.Contains(err.Error(), "engine.temporal") {
			t.Error(err)
		}
		words, err := a.Watched(ctx)
		if !strings.Contains(words, "engine.temporal") {
			t.Errorf("it says %q", words)
		}
		return err
	}))
}
