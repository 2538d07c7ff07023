// Package serve is the one process of a data directory that runs phases, and the way in which other commands talk to
// it. What they want is in the database before they do: the process is only told to look there.
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
	"slices"
	"strconv"
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
	Start(ctx context.Context, phase string, st cruise.State) (over <-chan struct{})
	Send(phase string, ev cruise.Event) error
	Close() error
}

// Server is the process that runs the phases of this machine.
type Server struct {
	Data   string
	Store  *store.Store
	Engine Engine
	Now    func() time.Time
	// Inbox keeps what was sent to phases until they have read it.
	Inbox *steps.Inbox
	// Idle is how long the server stays without work; zero is for ever.
	Idle time.Duration
	// Hook handles webhooks, and Listen is where they come in; both are optional.
	Hook   http.Handler
	Listen net.Listener
	Renew  func(Renewal)
	// Ready is called when commands can be taken.
	Ready func()
}

// RunningError says that another process runs the phases of this data directory.
type RunningError struct{ Data string }

func (e *RunningError) Error() string {
	return "another cco runs the phases of " + e.Data + " already"
}

// WrongState marks an error about a state.
func (e *RunningError) WrongState() {}

// Socket is where the process listens.
func Socket(data string) string { return filepath.Join(data, store.EngineSocket) }

// Lock is what the process holds while it runs. It names the process.
func Lock(data string) string { return filepath.Join(data, "cruise.lock") }

// Run runs phases until the context ends, or until there is nothing to do for too long.
func (s *Server) Run(ctx context.Context) error {
	return Alone(s.Data, func() (err error) {
		defer func() { err = errors.Join(err, s.Engine.Close()) }()
		if err := s.adopt(ctx); err != nil {
			return err
		}
		return Hear(ctx, s.Data, s.hear, s.stay)
	})
}

// Alone does something as the only process of the data directory that runs phases.
func Alone(data string, do func() error) (err error) {
	if err := os.MkdirAll(data, 0o700); err != nil {
		return err
	}
	lock := flock.New(Lock(data), flock.SetPermissions(0o600))
	ok, err := lock.TryLock()
	if err != nil {
		return fmt.Errorf("lock %s: %w", data, err)
	}
	if !ok {
		return &RunningError{Data: data}
	}
	defer func() { err = errors.Join(err, lock.Unlock()) }()
	if err := os.WriteFile(Lock(data), []byte(strconv.Itoa(os.Getpid())+"\n"), 0o600); err != nil {
		return err
	}
	return do()
}

// Request is what a command says to the process; nothing is whether it answers.
type Request struct {
	Phase string   `json:"phase,omitempty"` // of which something was recorded
	Renew *Renewal `json:"renew,omitempty"`
	Drain bool     `json:"drain,omitempty"` // take nothing new, and end when no turn is under way
}

// Renewal is what an engine should use from now on, with its key, which it reads again. It holds secrets: it goes over
// the socket, which only the user can open, and stays in memory.
type Renewal struct {
	Host     string `json:"host,omitempty"` // "" if only the key is new
	Token    string `json:"token,omitempty"`
	Reviewer string `json:"reviewer,omitempty"`
	// Vars are the variables with which the command's shell reaches models.
	Vars map[string]string `json:"vars,omitempty"`
}

// maxRequest bounds what a command says.
const maxRequest = 1 << 20

// Hear answers commands while something is done. Whoever does it holds the lock: an existing socket is stale.
func Hear(ctx context.Context, data string, answer func(context.Context, Request) error,
	do func(context.Context) error) error {
	l, err := socket.Listen(Socket(data))
	if err == nil {
		err = os.Chmod(Socket(data), 0o600)
	}
	if err != nil {
		return fmt.Errorf("listen for commands: %w", err)
	}
	defer func() { _ = os.Remove(Socket(data)) }()
	return during(ctx, l, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var req Request
		if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxRequest)).Decode(&req); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
		} else if err := answer(r.Context(), req); err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
		} else {
			w.WriteHeader(http.StatusNoContent)
		}
	}), do)
}

// during serves while something is done, which ends when that fails.
func during(ctx context.Context, l net.Listener, h http.Handler, do func(context.Context) error) error {
	srv := &http.Server{Handler: h, ReadHeaderTimeout: 10 * time.Second, ReadTimeout: time.Minute}
	failed := make(chan error, 1)
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	go func() {
		err := srv.Serve(l)
		stop()
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
		failed <- err
	}()
	err := do(ctx)
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, srv.Shutdown(down), <-failed)
}

// adopt goes on with every phase that has not ended, from the state that it saved last.
func (s *Server) adopt(ctx context.Context) error {
	before := LastLife(s.Data)
	list, err := s.Store.Living(ctx)
	if err != nil {
		return err
	}
	for _, p := range list {
		if p.Far() {
			continue // a service gives it to machines
		}
		err := s.take(ctx, p.ID)
		if _, broken := errors.AsType[*steps.BrokenError](err); broken {
			continue // `cco cruise status` says what is wrong with it, and the others must go on
		}
		if err != nil {
			return err
		}
		logTakenUp(ctx, s.Store, p, s.Now(), before)
	}
	return nil
}

// take has a phase run as it is recorded, and gives it what it has not read.
func (s *Server) take(ctx context.Context, id string) error {
	return s.Inbox.Read(ctx, id, func(st cruise.State, unread []cruise.Event) error {
		s.Engine.Start(context.WithoutCancel(ctx), id, st)
		for _, ev := range unread {
			if err := s.Engine.Send(id, ev); err != nil {
				return err
			}
		}
		return nil
	})
}

// hear does what a command asks for.
func (s *Server) hear(ctx context.Context, r Request) error {
	if r.Renew != nil && s.Renew != nil {
		s.Renew(*r.Renew)
	}
	if r.Drain {
		return &NoWorkerError{}
	}
	if r.Phase != "" {
		return s.take(ctx, r.Phase)
	}
	return nil
}

// stay waits until the context ends, or until there has been nothing to do for too long.
func (s *Server) stay(ctx context.Context) error {
	defer showLife(ctx, s.Data, s.Now)()
	if s.Ready != nil {
		s.Ready()
	}
	if s.Listen != nil {
		return during(ctx, s.Listen, s.Hook, s.idle)
	}
	return s.idle(ctx)
}

// idle ends when no phase has been alive for long enough.
func (s *Server) idle(ctx context.Context) error {
	if s.Idle <= 0 {
		<-ctx.Done()
		return nil
	}
	tick := time.NewTicker(min(s.Idle, 5*time.Second))
	defer tick.Stop()
	for last := s.Now(); s.Now().Sub(last) < s.Idle; {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		list, err := s.Store.Living(ctx)
		if err != nil || slices.ContainsFunc(list, func(p store.Phase) bool { return !p.Far() }) {
			last = s.Now()
		}
	}
	return nil
}
