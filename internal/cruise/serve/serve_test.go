package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"path/filepath"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// engine remembers what it was asked.
type engine struct {
	mu      sync.Mutex
	started []string
	sent    []string
}

func (e *engine) Start(_ context.Context, phase string, st cruise.State) <-chan struct{} {
	e.mu.Lock()
	defer e.mu.Unlock()
	if flow := fmt.Sprintf("%s.%d", phase, st.Life.Number); !slices.Contains(e.started, flow) {
		e.started = append(e.started, flow)
	}
	return nil
}

func (e *engine) Send(phase string, ev cruise.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent = append(e.sent, phase+" "+ev.ID)
	return nil
}

func (e *engine) Close() error { return nil }

func newServer(t *testing.T) (*Server, *engine) {
	t.Helper()
	data := t.TempDir()
	db := must.Get(store.Open(t.Context(), filepath.Join(data, "cco.db")))(t)
	t.Cleanup(func() { _ = db.Close() })
	e := &engine{}
	return &Server{Data: data, Store: db, Now: time.Now, Inbox: &steps.Inbox{Store: db}, Engine: e}, e
}

func state(stage cruise.Stage) cruise.State {
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Repo: "/r"})
	st.Stage = stage
	return st
}

func save(t *testing.T, s *Server, id string, st cruise.State) {
	t.Helper()
	rec, err := steps.Record(id, st, time.Now())
	if err == nil {
		err = s.Store.SavePhase(t.Context(), rec)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// run runs the server until the test ends.
func run(t *testing.T, s *Server) {
	t.Helper()
	ready, done := make(chan struct{}), make(chan error, 1)
	s.Ready = func() { close(ready) }
	ctx, cancel := context.WithCancel(t.Context())
	go func() { done <- s.Run(ctx) }()
	select {
	case <-ready:
	case err := <-done:
		t.Fatal(err)
	}
	t.Cleanup(func() {
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

// send has an event recorded and delivered as a command does.
func send(t *testing.T, s *Server, c *Client, phase, id string) error {
	t.Helper()
	return c.Take(t.Context(), phase, func() error {
		return s.Store.Keep(t.Context(), phase, must.Get(steps.Sent(cruise.Event{ID: id, Kind: cruise.EventNews}))(t))
	})
}

func client(s *Server, launch func() error) *Client {
	return &Client{Data: s.Data, Launch: launch, Report: func(string, ...any) {}}
}

// Guards against one record that can't be read, which keeps every phase from running.
func TestOnePhaseThatCanNotBeReadStopsNoOther(t *testing.T) {
	t.Parallel()
	s, e := newServer(t)
	save(t, s, "bbbbbbbb", state(cruise.StageWatch))
	rec, err := steps.Record("aaaaaaaa", state(cruise.StageWatch), time.Now())
	if rec.State = []byte(`{"round":"many"}`); err == nil {
		err = s.Store.SavePhase(t.Context(), rec)
	}
	if err != nil {
		t.Fatal(err)
	}
	run(t, s)
	if want := []string{"bbbbbbbb.0"}; !slices.Equal(e.started, want) {
		t.Errorf("started %v, want %v", e.started, want)
	}
}

func TestASecondServerOfADirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	run(t, s)
	other := &Server{Data: s.Data, Store: s.Store, Now: time.Now, Inbox: s.Inbox, Engine: s.Engine}
	if _, ok := errors.AsType[*RunningError](other.Run(t.Context())); !ok {
		t.Error("two run at once")
	}
}

func TestAPhaseRunsAsItIsRecorded(t *testing.T) {
	t.Parallel()
	s, e := newServer(t)
	run(t, s)
	c := client(s, func() error { return errors.New("there is one") })
	st := state(cruise.StageWatch)
	for range 2 {
		must.Do(t, c.Take(t.Context(), "aaaaaaaa", func() error { save(t, s, "aaaaaaaa", st); return nil }))
	}
	must.Do(t, send(t, s, c, "aaaaaaaa", "e1"))
	st.Inbox.Events = []string{"e1"} // it has read that
	save(t, s, "aaaaaaaa", st)
	must.Do(t, send(t, s, c, "aaaaaaaa", "e2"))
	if !slices.Equal(e.started, []string{"aaaaaaaa.0"}) || !slices.Equal(e.sent, []string{"aaaaaaaa e1", "aaaaaaaa e2"}) {
		t.Errorf("started %v, sent %v", e.started, e.sent)
	}
	st.Stage = cruise.StageEnded
	save(t, s, "aaaaaaaa", st)
	must.Do(t, c.Take(t.Context(), "aaaaaaaa", func() error { return nil }))
	st.Stage, st.Life.Number = cruise.StageWatch, 1
	must.Do(t, c.Take(t.Context(), "aaaaaaaa", func() error { save(t, s, "aaaaaaaa", st); return nil }))
	if !slices.Equal(e.started, []string{"aaaaaaaa.0", "aaaaaaaa.1"}) {
		t.Errorf("started %v", e.started)
	}
	refused := errors.New("refused")
	if err := c.Take(t.Context(), "aaaaaaaa", func() error { return refused }); !errors.Is(err, refused) {
		t.Error(err)
	}
}

// Guards against a command that fails because the engine died under it.
func TestACommandWhoseServerDiesAsksTheNext(t *testing.T) {
	t.Parallel()
	s, e := newServer(t)
	save(t, s, "aaaaaaaa", state(cruise.StageWatch))
	l := must.Get(net.Listen("unix", Socket(s.Data)))(t)
	dying := &http.Server{ReadHeaderTimeout: time.Minute}
	dying.Handler = http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req Request
		if must.Do(t, json.NewDecoder(r.Body).Decode(&req)); req == (Request{}) {
			w.WriteHeader(http.StatusNoContent)
			return
		}
		_ = l.Close()
		conn, _, err := http.NewResponseController(w).Hijack()
		if err == nil {
			_ = conn.Close()
		}
	})
	go func() { _ = dying.Serve(l) }()
	defer func() { _ = dying.Close() }()
	launched := 0
	c := client(s, func() error { launched++; run(t, s); return nil })
	must.Do(t, send(t, s, c, "aaaaaaaa", "e1"))
	if launched != 1 || !slices.Equal(slices.Compact(e.sent), []string{"aaaaaaaa e1"}) { // the engine knows it by its id
		t.Errorf("launched %d, sent %v", launched, e.sent)
	}
}

// Guards against a command that fails because the engine before was still ending when it started another.
func TestACommandWaitsForAnEngineThatEnds(t *testing.T) {
	t.Parallel()
	s, e := newServer(t)
	save(t, s, "aaaaaaaa", state(cruise.StageWatch))
	ending := flock.New(Lock(s.Data))
	if !must.Get(ending.TryLock())(t) {
		t.Fatal("somebody has the lock")
	}
	launched := 0
	c := client(s, func() error {
		if launched++; launched > 1 {
			run(t, s)
			return nil
		}
		if _, refused := errors.AsType[*RunningError](s.Run(t.Context())); !refused {
			t.Error("two run at once")
		}
		return ending.Unlock()
	})
	must.Do(t, send(t, s, c, "aaaaaaaa", "e1"))
	if launched != 2 || !slices.Equal(e.sent, []string{"aaaaaaaa e1"}) {
		t.Errorf("launched %d, sent %v", launched, e.sent)
	}
}
