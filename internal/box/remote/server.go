package remote

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"path/filepath"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/whole"
)

// Server answers calls with the driver of the machine that it runs on.
type Server struct {
	Driver   box.Driver
	Dir      string // where boxes are kept
	Exchange string // where the other machine's exchange directory is seen
	Doors    string // a directory for our ends of ways out, closed to other users
	Version  string
	Shared   bool // both machines see the same files

	mu sync.Mutex // for records
}

// record is what survives a restart.
type record struct {
	Spec box.Spec `json:"spec"`
	Boot string   `json:"boot,omitempty"`
}

// Serve answers calls until the listener is closed.
func (s *Server) Serve(ctx context.Context, l net.Listener) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var calls sync.WaitGroup
	defer calls.Wait()
	for {
		conn, err := l.Accept()
		if errors.Is(err, net.ErrClosed) {
			return nil
		}
		if err != nil {
			return err
		}
		calls.Go(func() { s.handle(ctx, conn) })
	}
}

// answering is one call at the server.
type answering struct {
	*Server
	mux     *mux
	control *stream
	in      *json.Decoder
	words   sync.Mutex
}

func (s *Server) handle(ctx context.Context, conn net.Conn) {
	a := &answering{Server: s, mux: newMux(conn, false)}
	defer func() { _ = a.mux.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	go func() {
		<-a.mux.Over()
		cancel()
	}()
	var err error
	if a.control, err = a.mux.accept(); err != nil {
		return
	}
	a.in = json.NewDecoder(a.control)
	var r request
	if err := decodeLine(a.in, &r); err != nil {
		a.send(reply{Done: true, Fault: newFault(fmt.Errorf("the caller is another version of cco: %w", err))})
		return
	}
	got, err := a.dispatch(ctx, cancel, r)
	got.Done, got.Fault = true, newFault(err)
	a.send(got)
	// The caller hangs up when it has read the reply.
	_ = a.control.CloseWrite()
	<-a.mux.Over()
}

func (a *answering) send(r reply) {
	data, err := json.Marshal(r)
	if err != nil {
		return
	}
	a.words.Lock()
	defer a.words.Unlock()
	_, _ = a.control.Write(append(data, '\n'))
}

func (a *answering) report(format string, args ...any) {
	a.send(reply{Report: fmt.Sprintf(format, args...)})
}

func (a *answering) dispatch(ctx context.Context, cancel func(), r request) (got reply, err error) {
	switch r.Call {
	case callHello:
		return reply{Version: a.Version}, nil
	case callTake:
		return got, a.receiveDir(r)
	}
	b, err := a.find(r)
	if err != nil {
		return got, err
	}
	d := a.Driver
	switch r.Call {
	case callCreate:
		err = a.keeping(b, func() error { return d.Create(ctx, b, a.report) })
	case callStart:
		err = a.keeping(b, func() error { return d.Start(ctx, b, a.report) })
	case callStop:
		err = a.keeping(b, func() error { return d.Stop(ctx, b) })
	case callDestroy:
		err = a.destroy(ctx, b)
	case callRunning:
		got.Running, err = d.Running(ctx, b)
	case callProvision:
		err = a.provision(ctx, b, r)
	case callPrepare:
		var place box.Place
		place, err = d.Prepare(ctx, b, r.Session)
		got.Place = &place
	case callRun:
		err = a.run(ctx, cancel, b, r.Exec)
	case callHalt:
		err = d.Halt(ctx, b, r.Session)
	case callDiscard:
		err = d.Discard(ctx, b, r.Session)
	case callLayers:
		got.Layers, err = d.Layers(ctx, b)
	default:
		err = fmt.Errorf("no call %q", r.Call)
	}
	return got, err
}

// find reads a box's record. The caller's settings override it, except for whether the box is running.
func (s *Server) find(r request) (*box.Box, error) {
	if err := box.CheckName(r.Box); err != nil {
		return nil, err
	}
	b := &box.Box{Name: r.Box, Dir: filepath.Join(s.Dir, r.Box), Exchange: s.Exchange}
	data, err := os.ReadFile(filepath.Join(b.Dir, "remote.json"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, err
	}
	if err == nil {
		var rec record
		if err := json.Unmarshal(data, &rec); err != nil {
			return nil, fmt.Errorf("read the record of box %s: %w", b.Name, err)
		}
		b.Spec, b.Boot = rec.Spec, rec.Boot
	}
	if r.Spec != nil {
		b.Spec = *r.Spec
	}
	return b, nil
}

// keeping applies do to a box and writes its record.
func (s *Server) keeping(b *box.Box, do func() error) error {
	if err := do(); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	data, err := json.Marshal(record{Spec: b.Spec, Boot: b.Boot})
	if err != nil {
		return err
	}
	if _, err := os.Stat(b.Dir); errors.Is(err, fs.ErrNotExist) {
		return nil // stopped, and never created
	}
	return whole.Write(filepath.Join(b.Dir, "remote.json"), data, 0o600)
}

func (s *Server) destroy(ctx context.Context, b *box.Box) error {
	if err := s.Driver.Destroy(ctx, b); err != nil {
		return err
	}
	return os.RemoveAll(filepath.Join(b.Dir, "remote.json"))
}

func (a *answering) provision(ctx context.Context, b *box.Box, r request) error {
	if r.Way != nil {
		way, done, err := a.way(r.Way)
		if err != nil {
			return err
		}
		defer done()
		b.Way = way
	}
	return a.Driver.Provision(ctx, b, r.Files, a.report)
}

// receiveDir receives a directory to show to programs.
func (a *answering) receiveDir(r request) error {
	if !filepath.IsAbs(r.Path) || filepath.Clean(r.Path) != r.Path || a.Shared {
		return fmt.Errorf("no place for %q", r.Path)
	}
	mark := r.Path + ".cco-mark"
	if have, err := os.ReadFile(mark); err == nil && string(have) == r.Mark {
		a.send(reply{Has: true})
		return nil
	}
	a.send(reply{})
	s, err := a.mux.accept()
	if err != nil {
		return err
	}
	if err := unpackTree(s, r.Path); err != nil {
		return err
	}
	return whole.Write(mark, []byte(r.Mark), 0o600)
}
