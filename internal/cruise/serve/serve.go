// Package serve is the one process of a data directory that runs phases, and the way in which other commands talk to
// it.
package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/gofrs/flock"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/socket"
	"github.com/cco-dev/cco/internal/store"
)

// Engine runs phases.
type Engine interface {
	// Start begins a life of a phase from a saved state. One that was begun is not begun again.
	Start(flow string, st cruise.State) error
	Send(flow string, ev cruise.Event) error
	// Runs says whether a life is under way here, and GiveUp ends one.
	Runs(flow string) bool
	GiveUp(flow string)
	Close() error
}

// Server is the process that runs phases.
type Server struct {
	Data  string
	Store *store.Store
	// Open opens the engine.
	Open func(ctx context.Context) (Engine, error)
	Now  func() time.Time
	// Inbox keeps what was sent to phases until they have read it.
	Inbox *steps.Inbox
	// Idle is how long the server stays without work; zero is for ever.
	Idle time.Duration
	// Hook handles webhooks, and Listen is where they come in; both are optional.
	Hook   http.Handler
	Listen net.Listener
	// Renew makes the engine read its key again, and use tokens and models' keys that a command found.
	Renew func(r Renewal)
	// Ready is called when commands can be taken.
	Ready func()

	engine   Engine
	starting sync.Mutex // one phase after another, so that no two have one pull request
}

// RunningError says that another process runs the phases of this data directory.
type RunningError struct{ Data string }

func (e *RunningError) Error() string {
	return "another cco runs the phases of " + e.Data + " already"
}

// WrongState marks an error about a state.
func (e *RunningError) WrongState() {}

// Socket is where the server listens.
func Socket(data string) string { return filepath.Join(data, store.EngineSocket) }

// Lock is what the server holds while it runs. It names the process.
func Lock(data string) string { return filepath.Join(data, "cruise.lock") }

// maxRequest bounds what a command sends: a task, a comment.
const maxRequest = 8 << 20

// Run runs phases until the context ends, or until there is nothing to do for too long.
func (s *Server) Run(ctx context.Context) error {
	return s.locked(func() (err error) {
		if s.engine, err = s.Open(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, s.engine.Close()) }()
		if err := s.adopt(ctx); err != nil {
			return err
		}
		l, err := s.listen()
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(Socket(s.Data)) }()
		return s.serve(ctx, l)
	})
}

// locked does something as the only process of the data directory that runs phases.
func (s *Server) locked(do func() error) (err error) {
	if err := os.MkdirAll(s.Data, 0o700); err != nil {
		return err
	}
	lock := flock.New(Lock(s.Data), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", s.Data, err)
	}
	if !ok {
		return &RunningError{Data: s.Data}
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	// The lock file names the process.
	if err := os.WriteFile(Lock(s.Data), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return err
	}
	return do()
}

// adopt goes on with every phase that has not ended, from the state that it saved last.
func (s *Server) adopt(ctx context.Context) error {
	before := LastLife(s.Data)
	list, err := s.Store.Phases(ctx, 1<<20)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.Ended {
			break // living phases come first
		}
		if p.Far() {
			continue // a service gives it to machines
		}
		full, err := s.Store.Phase(ctx, p.ID)
		if err != nil {
			return err
		}
		st, err := StateOf(full)
		if err != nil {
			continue // `cco cruise status` says what is wrong with it, and the others must go on
		}
		if err := s.engine.Start(cruise.FlowID(p.ID, st.Life.Number), st); err != nil {
			return err
		}
		logTakenUp(ctx, s.Store, p, s.Now(), before)
		if err := s.deliver(ctx, p.ID, st); err != nil {
			return err
		}
	}
	return nil
}

// deliver sends a phase the events that it has not read, because cco was killed before it sent them.
func (s *Server) deliver(ctx context.Context, id string, st cruise.State) error {
	unread, err := s.Inbox.Unread(ctx, id, st.Inbox.Events)
	if err != nil {
		return err
	}
	for _, ev := range unread {
		if err := s.engine.Send(cruise.FlowID(id, st.Life.Number), ev); err != nil {
			return err
		}
	}
	return nil
}

func (s *Server) listen() (net.Listener, error) {
	path := Socket(s.Data)
	l, err := socket.Listen(path) // we hold the lock, so an existing socket is stale
	if err != nil {
		return nil, fmt.Errorf("listen for commands: %w", err)
	}
	return l, os.Chmod(path, 0o600)
}

func (s *Server) serve(ctx context.Context, l net.Listener) error {
	srv := &http.Server{Handler: s.routes(), ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 2)
	go func() { failed <- srv.Serve(l) }()
	hooks := &http.Server{Handler: s.Hook, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	if s.Listen != nil && s.Hook != nil {
		go func() { failed <- hooks.Serve(s.Listen) }()
	}
	defer showLife(ctx, s.Data, s.Now)()
	if s.Ready != nil {
		s.Ready()
	}
	var err error
	select {
	case <-ctx.Done():
	case <-s.idle(ctx):
	case err = <-failed:
	}
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, srv.Shutdown(down), hooks.Shutdown(down))
}

// idle is closed when no phase has been alive for long enough.
func (s *Server) idle(ctx context.Context) <-chan struct{} {
	if s.Idle <= 0 {
		return nil
	}
	done := make(chan struct{})
	go func() {
		tick := time.NewTicker(min(s.Idle, 5*time.Second))
		defer tick.Stop()
		last := s.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			list, err := s.Store.Phases(ctx, 1<<20)
			if err != nil || slices.ContainsFunc(list, func(p store.Phase) bool { return !p.Ended && !p.Far() }) {
				last = s.Now()
			}
			if s.Now().Sub(last) >= s.Idle {
				close(done)
				return
			}
		}
	}()
	return done
}

// startRequest asks for a phase.
type startRequest struct {
	ID    string       `json:"id"`
	State cruise.State `json:"state"`
}

// sendRequest asks to send a phase an event.
type sendRequest struct {
	ID    string       `json:"id"`
	Event cruise.Event `json:"event"`
}

// Renewal is what an engine should use from now on. It holds secrets: it goes over the socket, which only the user can
// open, and stays in memory.
type Renewal struct {
	Host     string `json:"host,omitempty"` // "" if only the key is new
	Token    string `json:"token,omitempty"`
	Reviewer string `json:"reviewer,omitempty"`
	// Vars are the variables with which the command's shell reaches models.
	Vars map[string]string `json:"vars,omitempty"`
}

func (s *Server) routes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /start", handle(s.start))
	mux.HandleFunc("POST /send", handle(s.send))
	s.plain(mux)
	return mux
}

// plain adds what needs no engine.
func (s *Server) plain(mux *http.ServeMux) {
	mux.HandleFunc("POST /renew", handle(func(_ context.Context, r Renewal) error {
		if s.Renew != nil {
			s.Renew(r)
		}
		return nil
	}))
	mux.HandleFunc("GET /ping", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) })
}

func (s *Server) start(ctx context.Context, r startRequest) error {
	flow := cruise.FlowID(r.ID, r.State.Life.Number)
	if p, err := s.Store.Phase(ctx, r.ID); err == nil {
		if was, err := StateOf(p); err == nil && was.Life.Number >= r.State.Life.Number {
			if p.Ended || was.Life.Number > r.State.Life.Number {
				return nil // it ended meanwhile, and its record is gone
			}
			return s.engine.Start(flow, r.State) // asked for again, because the answer was lost
		}
	}
	s.starting.Lock()
	defer s.starting.Unlock()
	if r.State.PR != nil {
		if err := alone(ctx, s.Store, r.ID, r.State.PR.URL); err != nil {
			return err
		}
	}
	rec, err := steps.Record(r.ID, r.State, s.Now())
	if err != nil {
		return err
	}
	// The record first: a recorded phase is started, if need be by the next server.
	if err := s.Store.SavePhase(ctx, rec); err != nil {
		return err
	}
	return s.engine.Start(flow, r.State)
}

// TakenError says that another phase has a pull request.
type TakenError struct{ ID, URL string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("phase %s is at work on %s: `cco cruise resume %[1]s`", e.ID, e.URL)
}

// WrongState marks an error about a state.
func (e *TakenError) WrongState() {}

// alone gives a *TakenError if another living phase has the same pull request: two would answer the same comments.
func alone(ctx context.Context, st *store.Store, id, url string) error {
	list, err := st.Phases(ctx, 1<<20)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.Ended {
			break // living phases come first
		}
		if p.ID != id && p.PRURL == url {
			return &TakenError{ID: p.ID, URL: p.PRURL}
		}
	}
	return nil
}

// send sends a phase an event, or revives one that has ended.
func (s *Server) send(ctx context.Context, r sendRequest) error {
	if !eventID.MatchString(r.Event.ID) {
		return fmt.Errorf("%q is not the id of an event", r.Event.ID)
	}
	return s.Inbox.Send(ctx, r.ID, r.Event, func() error { return s.hand(ctx, r) })
}

// eventID is the form of an event's id, which is also a file name.
var eventID = regexp.MustCompile(`^[0-9a-f]{1,64}$`)

func (s *Server) hand(ctx context.Context, r sendRequest) error {
	p, err := s.Store.Phase(ctx, r.ID)
	if err != nil {
		return err
	}
	st, err := StateOf(p)
	if err != nil {
		return err
	}
	if slices.Contains(st.Inbox.Events, r.Event.ID) {
		return nil // sent again, because the answer was lost
	}
	if p.Ended {
		if st, err = st.Revive(r.Event, s.Now()); err != nil {
			return err
		}
		if err := s.start(ctx, startRequest{ID: r.ID, State: st}); err != nil {
			return err
		}
		// its record was not readable before
	} else if err := s.engine.Start(cruise.FlowID(r.ID, st.Life.Number), st); err != nil {
		return err
	}
	return s.engine.Send(cruise.FlowID(r.ID, st.Life.Number), r.Event)
}

// stateError is an error about a phase's state.
type stateError interface {
	error
	WrongState()
}

func handle[R any](do func(context.Context, R) error) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		var req R
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		if err := do(r.Context(), req); err != nil {
			code := http.StatusInternalServerError
			if _, state := errors.AsType[stateError](err); state {
				code = http.StatusConflict
			}
			http.Error(w, err.Error(), code)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	}
}

// StateOf is what a recorded phase goes on from.
func StateOf(p store.Phase) (st cruise.State, err error) {
	if err := json.Unmarshal(p.State, &st); err != nil {
		return st, fmt.Errorf("read phase %s: %w", p.ID, err)
	}
	return st, nil
}

// Flow names the present life of a recorded phase.
func Flow(p store.Phase) (string, error) {
	st, err := StateOf(p)
	return cruise.FlowID(p.ID, st.Life.Number), err
}
