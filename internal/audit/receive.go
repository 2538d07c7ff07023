package audit

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/unit"
)

// Bounds on what one session may report. An agent that calls its hook in a loop must neither fill the disk nor push
// what others have reported out of the log.
const (
	maxLine     = 64 << 10
	maxSession  = 1 << 20 // bytes of input written down
	burst       = 100     // entries at once,
	perSecond   = 5       // and then so many a second
	connections = 16
	patience    = 5 * time.Second
)

// Receive writes down what the hooks of a session report on a socket, until ctx ends. It closes the listener. Turn is
// told that a turn of the agent has begun or ended.
func Receive(ctx context.Context, listener net.Listener, log *Log, session string, turn func(conversation string,
	ended bool)) error {
	r := &receiver{log: log, session: session, tokens: burst, last: log.Now(), turn: turn}
	stop := context.AfterFunc(ctx, func() { _ = listener.Close() })
	defer stop()
	slots := make(chan struct{}, connections)
	var wg sync.WaitGroup
	defer wg.Wait()
	for {
		conn, err := listener.Accept()
		if err != nil {
			_ = listener.Close()
			wg.Wait()
			if ctx.Err() != nil || errors.Is(err, net.ErrClosed) {
				err = nil
			}
			return errors.Join(err, r.settle())
		}
		slots <- struct{}{}
		wg.Go(func() {
			defer func() { <-slots }()
			r.serve(conn)
		})
	}
}

// Collect writes down what hooks append to a file that the program can write, until ctx ends.
func Collect(ctx context.Context, file string, every time.Duration, log *Log) error {
	r := &receiver{log: log, tokens: burst, last: log.Now()}
	seen, from := 0, &Log{File: file}
	err := from.Follow(ctx, every, func(e Entry) error {
		seen++
		r.report(e, len(e.Input)+len(e.Reason))
		return nil
	})
	if err == nil { // the last look may be long ago
		err = from.Read(func(e Entry) error {
			if seen--; seen < 0 {
				r.report(e, len(e.Input)+len(e.Reason))
			}
			return nil
		})
	}
	return errors.Join(err, r.settle())
}

type receiver struct {
	log     *Log
	session string
	turn    func(session string, ended bool)

	mu      sync.Mutex
	tokens  float64
	last    time.Time
	written int
	dropped int
}

// serve takes one line from a connection.
func (r *receiver) serve(conn net.Conn) {
	defer func() { _ = conn.Close() }() // only read
	_ = conn.SetDeadline(time.Now().Add(patience))
	data, err := io.ReadAll(io.LimitReader(conn, maxLine+1))
	if err != nil && len(data) == 0 {
		return
	}
	line, _, _ := bytes.Cut(data, []byte("\n"))
	e := Entry{Kind: Denial, Reason: "a report that can't be read"}
	var sent Entry
	if len(line) <= maxLine && json.Unmarshal(line, &sent) == nil {
		e = sent
	}
	if e.Kind == turnKind {
		r.takeTurn(e.Session, e.Part == "ended")
		return
	}
	r.report(e, len(line))
}

// report takes an entry. Who reports, when and about what is not the sender's to say.
func (r *receiver) report(e Entry, size int) {
	if e.Session, e.Time = r.session, (time.Time{}); e.Kind != Noted {
		e.Kind = Denial
	}
	r.take(e, size)
}

// turnKind is the kind of a report about a turn, which is not written down.
const turnKind = "turn"

func (r *receiver) takeTurn(session string, ended bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.spend() && r.turn != nil {
		r.turn(session, ended)
	}
}

// spend takes one of the tokens that bound how often a session reports.
func (r *receiver) spend() bool {
	now := r.log.Now()
	r.tokens = min(burst, r.tokens+max(0, now.Sub(r.last).Seconds())*perSecond)
	r.last = now
	if r.tokens < 1 {
		return false
	}
	r.tokens--
	return true
}

func (r *receiver) take(e Entry, size int) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.written+size > maxSession || !r.spend() {
		r.dropped++
		return
	}
	r.written += size
	if r.log.Add(e) != nil {
		r.dropped++ // said at the end, if the disk lets us
	}
}

// settle says how much was not written down.
func (r *receiver) settle() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.dropped == 0 {
		return nil
	}
	return r.log.Add(Entry{Session: r.session, Kind: Dropped,
		Reason: unit.Count(r.dropped, "more denial") + ", reported and not written down"})
}
