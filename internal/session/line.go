package session

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/socket"
)

// request is what a client asks of a keeper, a line of JSON each. The keeper answers with the transcript.
type request struct {
	Op   string `json:"op"` // follow, input, resize, stop, kill
	Data []byte `json:"data,omitempty"`
	Cols uint16 `json:"cols,omitempty"`
	Rows uint16 `json:"rows,omitempty"`

	Interrupt bool `json:"interrupt,omitempty"` // the input is Ctrl-C, however the terminal spells it
}

// maxLine bounds a line in either direction: an event's text may grow sixfold when it is escaped.
const maxLine = 8 * maxChunk

type lineReader struct{ r *bufio.Reader }

func newLineReader(r io.Reader) *lineReader { return &lineReader{bufio.NewReaderSize(r, maxLine)} }

// next gives the next line, skipping any that is too long to be one of ours.
func (l *lineReader) next() ([]byte, error) {
	for {
		line, err := l.r.ReadSlice('\n')
		if !errors.Is(err, bufio.ErrBufferFull) {
			if len(line) > 0 && errors.Is(err, io.EOF) {
				return line, nil
			}
			return line, err
		}
		for errors.Is(err, bufio.ErrBufferFull) {
			_, err = l.r.ReadSlice('\n')
		}
		if err != nil {
			return nil, err
		}
	}
}

// line is the keeper's end of its socket.
type line struct {
	transcript *transcript
	handle     func(request)

	listener net.Listener
	wg       sync.WaitGroup
	quit     chan struct{}
}

func (l *line) serve() {
	l.quit = make(chan struct{})
	l.wg.Go(func() {
		for {
			c, err := l.listener.Accept()
			if err != nil {
				return
			}
			l.wg.Go(func() { l.talk(c) })
		}
	})
}

func (l *line) talk(c net.Conn) {
	defer func() { _ = c.Close() }()
	following := make(chan struct{})
	var once sync.Once
	go func() {
		// Reading ends when the client hangs up or, at the latest, when talk closes the connection.
		r := newLineReader(c)
		defer once.Do(func() { close(following) })
		for {
			text, err := r.next()
			if err != nil {
				return
			}
			var req request
			if json.Unmarshal(text, &req) != nil {
				return
			}
			if req.Op != "follow" {
				l.handle(req)
			}
		}
	}()
	_ = l.transcript.copyTo(c, following)
}

// close lets every follower read to the end of the transcript, which must be closed, and then hangs up.
func (l *line) close(wait time.Duration) {
	_ = l.listener.Close()
	done := make(chan struct{})
	go func() { l.wg.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(wait): // a follower that doesn't read must not keep the keeper alive
	}
}

// Link is a client's end of a keeper's socket.
type Link struct {
	conn net.Conn
	mu   sync.Mutex
	enc  *json.Encoder
}

// Dial connects to the keeper of a session.
func (s *Service) Dial(ctx context.Context, id string) (*Link, error) {
	c, err := socket.Dial(ctx, s.socket(id))
	if err != nil {
		return nil, fmt.Errorf("reach the keeper of session %s: %w", id, err)
	}
	return &Link{conn: c, enc: json.NewEncoder(c)}, nil
}

func (l *Link) send(r request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enc.Encode(r)
}

// Stop asks the agent to end by itself.
func (l *Link) Stop() error { return l.send(request{Op: "stop"}) }

// Kill ends the agent.
func (l *Link) Kill() error { return l.send(request{Op: "kill"}) }

// Input types into the agent's terminal.
func (l *Link) Input(data []byte) error { return l.send(request{Op: "input", Data: data}) }

// Interrupt types Ctrl-C into it, as the user's terminal spells that.
func (l *Link) Interrupt(data []byte) error {
	return l.send(request{Op: "input", Data: data, Interrupt: true})
}

// Resize tells the agent's terminal its size.
func (l *Link) Resize(cols, rows int) error {
	return l.send(request{Op: "resize", Cols: uint16(cols), Rows: uint16(rows)}) //nolint:gosec // a terminal's size fits
}

// Follow calls each for every event from the session's beginning until it ends or the link is closed.
func (l *Link) Follow(each func(Event) error) error { return readEvents(l.conn, each) }

// Close hangs up.
func (l *Link) Close() error { return l.conn.Close() }
