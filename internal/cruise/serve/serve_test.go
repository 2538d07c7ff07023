package serve

import (
	"context"
	"errors"
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

func (e *engine) Start(flow string, _ cruise.State) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	if !slices.Contains(e.started, flow) {
		e.started = append(e.started, flow)
	}
	return nil
}

func (e *engine) Send(flow string, ev cruise.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.sent = append(e.sent, flow+" "+ev.ID)
	return nil
}

func (e *engine) Runs(string) bool { return true }
func (e *engine) GiveUp(string)    {}
func (e *engine) Close() error     { return nil }

func newServer(t *testing.T) (*Server, *engine) {
	t.Helper()
	data := t.TempDir()
	db := must.Get(store.Open(t.Context(), filepath.Join(data, "cco.db")))(t)
	t.Cleanup(func() { _ = db.Close() })
	e := &engine{}
	s := &Server{Data: data, Store: db, Now: time.Now, Inbox: &steps.Inbox{Store: db}, engine: e}
	s.Open = func(context.Context) (Engine, error) { return e, nil }
	return s, e
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
	if want := []string{"bbbbbbbb"}; !slices.Equal(e.started, want) {
		t.Errorf("started %v, want %v", e.started, want)
	}
}

func TestASecondServerOfADirectoryIsRefused(t *testing.T) {
	t.Parallel()
	s, _ := newServer(t)
	run(t, s)
	other := &Server{Data: s.Data, Store: s.Store, Now: time.Now, Inbox: s.Inbox, Open: s.Open}
	if _, ok := errors.AsType[*RunningError](other.Run(t.Context())); !ok {
		t.Error("two run at once")
	}
}

func TestSendingAndStartingTwiceIsTheSameAsOnce(t *testing.T) {
	t.Parallel()
	s, e := newServer(t)
	run(t, s)
	c := client(s, func() error { return errors.New("there is one") })
	for range 2 {
		must.Do(t, c.Start(t.Context(), "aaaaaaaa", state(cruise.StageName)))
	}
	st := state(cruise.StageWatch)
	st.Inbox.Events = []string{"e1"}
	save(t, s, "aaaaaaaa", st)
	must.Do(t, c.Start(t.Context(), "aaaaaaaa", state(cruise.StageName)))
	if p, err := s.Store.Phase(t.Context(), "aaaaaaaa"); err != nil || p.Stage != "watching" {
		t.Errorf("started again, it stands at %s, %v", p.Stage, err)
	}
	for _, id := range []string{"e1", "e2", "e2"} {
		must.Do(t, c.Send(t.Context(), "aaaaaaaa", cruise.Event{ID: id, Kind: cruise.EventNews}))
	}
	if want := []string{"aaaaaaaa e2", "aaaaaaaa e2"}; !slices.Equal(e.sent, want) { // the engine knows it by its id
		t.Errorf("sent %v", e.sent)
	}
}

func TestAnEndedPhaseIsTakenUpOrRefused(t *testing.T) {
	t.Parallel()
	s, e := newServer(t)
	run(t, s)
	c := client(s, func() error { return errors.New("there is one") })
	st := state(cruise.StageEnded)
	st.End = cruise.EndRounds
	save(t, s, "aaaaaaaa", st)
	must.Do(t, c.Send(t.Context(), "aaaaaaaa", cruise.Event{ID: "e1", Kind: cruise.EventComment, Text: "x"}))
	if !slices.Equal(e.started, []string{"aaaaaaaa.1"}) || !slices.Equal(e.sent, []string{"aaaaaaaa.1 e1"}) {
		t.Errorf("started %v, sent %v", e.started, e.sent)
	}
	st.End = cruise.EndMerged
	save(t, s, "bbbbbbbb", st)
	if _, ok := errors.AsType[*RefusedError](c.Send(t.Context(), "bbbbbbbb",
		cruise.Event{ID: "e1", Kind: cruise.EventResume})); !ok {
		t.Error("a merged phase goes on")
	}
	if left, _ := s.Inbox.Unread(t.Context(), "bbbbbbbb", nil); len(left) > 0 {
		t.Errorf("what was refused is kept: %v", left)
	}
	if err := c.Send(t.Context(), "bbbbbbbb", cruise.Event{ID: "../../x", Kind: cruise.EventResume}); err == nil {
		t.Error("an id that is a path is taken")
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
		if r.URL.Path == "/ping" {
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
	must.Do(t, c.Send(t.Context(), "aaaaaaaa", cruise.Event{ID: "e1", Kind: cruise.EventNews}))
	if launched != 1 || !slices.Equal(e.sent, []string{"aaaaaaaa e1"}) {
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
	must.Do(t, c.Send(t.Context(), "aaaaaaaa", cruise.Event{ID: "e1", Kind: cruise.EventNews}))
	if launched != 2 || !slices.Equal(e.sent, []string{"aaaaaaaa e1"}) {
		t.Errorf("launched %d, sent %v", launched, e.sent)
	}
}
