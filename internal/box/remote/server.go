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

	mu    sync.Mutex // for records
	calls sync.Map   // those under way, by their ids
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
	*conn
	ctx     context.Context
	streams map[string]chan *conn // that the caller opens when it is asked, by kind
	words   chan word
}

// maxRequest limits what a caller says.
const maxRequest = 64 << 20

func (s *Server) handle(ctx context.Context, raw net.Conn) {
	in, err := newConn(raw, maxRequest)
	if err != nil {
		return
	}
	var r request
	if err := in.receive(&r); err != nil {
		_ = in.send(reply{Done: true, Fault: newFault(fmt.Errorf("the caller is another version of cco: %w", err))})
		_ = in.Close()
		return
	}
	if r.Call == callStream {
		s.handStream(in, r)
		return
	}
	defer func() { _ = in.Close() }()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	a := &answering{Server: s, conn: in, ctx: ctx, streams: map[string]chan *conn{}, words: make(chan word)}
	for _, kind := range []string{kindIn, kindOut, kindErr, kindTree, kindWay} {
		a.streams[kind] = make(chan *conn)
	}
	s.calls.Store(r.ID, a)
	defer s.calls.Delete(r.ID)
	go a.readWords(cancel)
	got, err := a.dispatch(ctx, r)
	got.Done, got.Fault = true, newFault(err)
	_ = a.send(got)
	// The caller hangs up when it has read the reply.
	_ = a.CloseWrite()
	for ctx.Err() == nil {
		select {
		case <-a.words: // too late
		case <-ctx.Done():
		}
	}
}

// handStream gives a stream to its call, which waits for it.
func (s *Server) handStream(in *conn, r request) {
	if found, ok := s.calls.Load(r.ID); ok {
		a := found.(*answering) // nothing else is in there
		select {
		case a.streams[r.Kind] <- in: // nobody ever waits for an unknown kind
			return
		case <-a.ctx.Done():
		}
	}
	_ = in.Close()
}

// stream asks the caller for a stream, which ends with the call.
func (a *answering) stream(kind string) (*conn, error) {
	if err := a.send(reply{Open: kind}); err != nil {
		return nil, err
	}
	select {
	case s := <-a.streams[kind]:
		return s.tie(a.ctx), nil
	case <-a.ctx.Done():
		return nil, a.ctx.Err()
	}
}

// readWords reads what the caller says during the call. If it hangs up, the call ends.
func (a *answering) readWords(cancel func()) {
	defer cancel()
	for {
		var w word
		if err := a.receive(&w); err != nil {
			return
		}
		select {
		case a.words <- w:
		case <-a.ctx.Done():
			return
		}
	}
}

func (a *answering) report(format string, args ...any) {
	_ = a.send(reply{Report: fmt.Sprintf(format, args...)})
}

func (a *answering) dispatch(ctx context.Context, r request) (got reply, err error) {
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
		err = a.run(ctx, b, r.Exec)
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
		return nil
	}
	s, err := a.stream(kindTree)
	if err != nil {
		return err
	}
	if err := unpackTree(s, r.Path); err != nil {
		return err
	}
	return whole.Write(mark, []byte(r.Mark), 0o600)
}
