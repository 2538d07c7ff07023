package durable

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
)

// calm is a world in which a phase does nothing but wait for a person.
type calm struct {
	cruise.Steps
	named   atomic.Int32
	refuses atomic.Bool
	saved   chan cruise.State
}

func (c *calm) Metadata(context.Context, cruise.MetadataIn) (cruise.Metadata, error) {
	c.named.Add(1)
	if c.refuses.Load() {
		return cruise.Metadata{}, errors.New("not now")
	}
	return cruise.Metadata{Title: "x", Branch: "x"}, nil
}

func (c *calm) Workspace(context.Context, cruise.WorkspaceIn) (cruise.Workspace, error) {
	return cruise.Workspace{}, errors.New("no box") // which is asked about
}

func (c *calm) Close(context.Context, cruise.CloseIn) error { return nil }

func (c *calm) Save(_ context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	select {
	case c.saved <- in.State:
	default:
	}
	return cruise.Saved{}, nil
}

func open(t *testing.T, dir string, c *calm) *Engine {
	t.Helper()
	e, err := Open(t.Context(), filepath.Join(dir, "cruise.db"), c, slog.New(slog.DiscardHandler))
	if err != nil {
		t.Fatal(err)
	}
	return e
}

func (c *calm) await(t *testing.T, what string, ok func(cruise.State) bool) {
	t.Helper()
	timeout := time.After(time.Minute)
	for {
		select {
		case st := <-c.saved:
			if ok(st) {
				return
			}
		case <-timeout:
			t.Fatalf("the phase is never %s", what)
		}
	}
}

// Guards against an engine that takes its own end for the end of its phases.
func TestAPhaseGoesOnAfterTheEngineWasClosed(t *testing.T) {
	dir := t.TempDir()
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := open(t, dir, c)
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})
	if err := errors.Join(e.Start("aaaaaaaa", st), e.Start("aaaaaaaa", st)); err != nil {
		t.Fatal(err)
	}
	c.await(t, "asking", func(s cruise.State) bool { return s.Question != "" })
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, c)
	defer func() { _ = e.Close() }()
	if dead, err := e.Dead(); err != nil || len(dead) > 0 {
		t.Errorf("dead: %v, %v", dead, err)
	}
	ev := cruise.Event{ID: "e1", Kind: cruise.EventCleanup}
	if err := errors.Join(e.Send("aaaaaaaa", ev), e.Send("aaaaaaaa", ev)); err != nil {
		t.Fatal(err)
	}
	end, err := e.Wait("aaaaaaaa")
	if err != nil || end.End != cruise.EndCleanup || c.named.Load() != 1 || !slices.Equal(end.Seen, []string{"e1"}) {
		data, _ := json.Marshal(end)
		t.Errorf("named %d times, %v: %s", c.named.Load(), err, data)
	}
}

// Guards against phases that an older cco recorded, whose steps come in another order: replayed they would fail, or wait for ever.
func TestAPhaseOfAnotherVersionIsGivenUpAndNotReplayed(t *testing.T) {
	dir := t.TempDir()
	c := &calm{saved: make(chan cruise.State, 1000)}
	e := open(t, dir, c)
	if err := e.Start("aaaaaaaa", cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})); err != nil {
		t.Fatal(err)
	}
	c.await(t, "asking", func(s cruise.State) bool { return s.Question != "" })
	if _, err := e.db.ExecContext(t.Context(), "UPDATE workflow_status SET application_version = '1'"); err != nil {
		t.Fatal(err)
	}
	if err := e.Close(); err != nil {
		t.Fatal(err)
	}
	e = open(t, dir, c)
	defer func() { _ = e.Close() }()
	for range 2 { // whoever takes it up may be killed before it has
		if dead, err := e.Dead(); err != nil || !slices.Equal(dead, []string{"aaaaaaaa"}) {
			t.Errorf("dead: %v, %v", dead, err)
		}
	}
}
