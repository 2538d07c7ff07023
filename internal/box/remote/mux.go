package remote

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"sync"
)

// A connection carries several streams, each with a window: unread data holds up its own stream and no other.
const (
	frameOpen   = iota // a stream begins; its kind is the payload
	frameData          //
	frameEnd           // the sender sends no more
	frameReset         // the sender neither sends nor receives more
	frameCredit        // the sender has consumed this many bytes

	window   = 256 << 10
	maxFrame = 32 << 10
)

var (
	errReset  = errors.New("the other side has closed the stream")
	errBroken = errors.New("the connection has ended")
)

// mux is one end of a connection.
type mux struct {
	conn    net.Conn
	writing sync.Mutex

	mu      sync.Mutex
	streams map[uint32]*stream
	next    uint32 // the id of the next stream that we open: odd for the caller, even for the server
	err     error
	arrived chan *stream
	over    chan struct{}
}

func newMux(conn net.Conn, caller bool) *mux {
	m := &mux{conn: conn, streams: map[uint32]*stream{}, next: 2, arrived: make(chan *stream, 64),
		over: make(chan struct{})}
	if caller {
		m.next = 1
	}
	go m.read()
	return m
}

// Close ends the connection and every stream of it.
func (m *mux) Close() error {
	m.fail(errBroken)
	return m.conn.Close()
}

// Over returns a channel that is closed when the connection has ended.
func (m *mux) Over() <-chan struct{} { return m.over }

// accept returns the next stream that the other side opens.
func (m *mux) accept() (*stream, error) {
	select {
	case s := <-m.arrived:
		return s, nil
	case <-m.over:
		return nil, errBroken
	}
}

func (m *mux) open(kind string) (*stream, error) {
	m.mu.Lock()
	if m.err != nil {
		m.mu.Unlock()
		return nil, m.err
	}
	s := m.add(m.next, kind)
	m.next += 2
	m.mu.Unlock()
	return s, m.send(frameOpen, s.id, []byte(kind))
}

// add makes a stream. The caller holds the lock.
func (m *mux) add(id uint32, kind string) *stream {
	s := &stream{mux: m, id: id, kind: kind, credit: window}
	s.cond = sync.NewCond(&s.mu)
	m.streams[id] = s
	return s
}

func (m *mux) send(kind byte, id uint32, payload []byte) error {
	head := make([]byte, 9, 9+len(payload))
	head[0] = kind
	binary.BigEndian.PutUint32(head[1:], id)
	binary.BigEndian.PutUint32(head[5:], uint32(len(payload))) // at most maxFrame
	m.writing.Lock()
	_, err := m.conn.Write(append(head, payload...))
	m.writing.Unlock()
	if err != nil {
		m.fail(errBroken)
		return errBroken
	}
	return nil
}

func (m *mux) read() {
	head := make([]byte, 9)
	payload := make([]byte, maxFrame)
	for {
		if _, err := io.ReadFull(m.conn, head); err != nil {
			m.fail(errBroken)
			return
		}
		n := binary.BigEndian.Uint32(head[5:])
		if n > maxFrame {
			m.fail(fmt.Errorf("received a frame of %d bytes", n))
			_ = m.conn.Close()
			return
		}
		if _, err := io.ReadFull(m.conn, payload[:n]); err != nil {
			m.fail(errBroken)
			return
		}
		if err := m.handleFrame(head[0], binary.BigEndian.Uint32(head[1:]), payload[:n]); err != nil {
			m.fail(err)
			_ = m.conn.Close()
			return
		}
	}
}

func (m *mux) handleFrame(kind byte, id uint32, payload []byte) error {
	m.mu.Lock()
	s, known := m.streams[id]
	if kind == frameOpen {
		defer m.mu.Unlock()
		if known || id%2 == m.next%2 || len(m.streams) > 4096 {
			return errors.New("a stream was opened out of turn")
		}
		select {
		case m.arrived <- m.add(id, string(payload)):
			return nil
		default:
			return errors.New("too many streams were opened at once")
		}
	}
	m.mu.Unlock()
	if !known {
		return nil // for a stream that we have closed
	}
	return s.handleFrame(kind, payload)
}

func (m *mux) drop(id uint32) {
	m.mu.Lock()
	delete(m.streams, id)
	m.mu.Unlock()
}

func (m *mux) fail(err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return
	}
	m.err = err
	close(m.over)
	for _, s := range m.streams {
		s.fail(err)
	}
}

// stream is one stream of a connection.
type stream struct {
	mux  *mux
	id   uint32
	kind string

	mu       sync.Mutex
	cond     *sync.Cond
	buf      []byte
	credit   int  // how much we may still send
	consumed int  // how much we have read but not yet reported
	ended    bool // the other side sends no more
	closed   bool // we send no more
	err      error
}

func (s *stream) handleFrame(kind byte, payload []byte) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	defer s.cond.Broadcast()
	switch kind {
	case frameData:
		if len(s.buf)+len(payload) > window {
			return errors.New("received more on a stream than its window holds")
		}
		s.buf = append(s.buf, payload...)
	case frameEnd:
		s.ended = true
	case frameReset:
		s.ended = true
		if s.err == nil {
			s.err = errReset
		}
	case frameCredit:
		if len(payload) != 4 {
			return errors.New("received a credit that is not a number")
		}
		s.credit += int(binary.BigEndian.Uint32(payload))
		if s.credit > window {
			return errors.New("received more credit than was used")
		}
	default:
		return fmt.Errorf("received a frame of unknown kind %d", kind)
	}
	return nil
}

func (s *stream) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.err == nil {
		s.err = err
	}
	s.cond.Broadcast()
}

// Read returns received data. Data that came before the stream broke is returned first.
func (s *stream) Read(p []byte) (int, error) {
	s.mu.Lock()
	for len(s.buf) == 0 && !s.ended && s.err == nil {
		s.cond.Wait()
	}
	if len(s.buf) == 0 {
		defer s.mu.Unlock()
		if s.ended {
			return 0, io.EOF
		}
		return 0, s.err
	}
	n := copy(p, s.buf)
	s.buf = s.buf[n:]
	s.consumed += n
	var grant int
	if s.consumed >= window/4 {
		grant, s.consumed = s.consumed, 0
	}
	s.mu.Unlock()
	if grant > 0 {
		_ = s.mux.send(frameCredit, s.id, binary.BigEndian.AppendUint32(nil, uint32(grant))) // at most window
	}
	return n, nil
}

// Write sends data, and waits while the other side has no room.
func (s *stream) Write(p []byte) (sent int, err error) {
	for len(p) > 0 {
		s.mu.Lock()
		for s.credit == 0 && s.err == nil && !s.closed {
			s.cond.Wait()
		}
		if s.err != nil || s.closed {
			err := s.err
			s.mu.Unlock()
			if err == nil {
				err = io.ErrClosedPipe
			}
			return sent, err
		}
		n := min(len(p), s.credit, maxFrame)
		s.credit -= n
		s.mu.Unlock()
		if err := s.mux.send(frameData, s.id, p[:n]); err != nil {
			return sent, err
		}
		p, sent = p[n:], sent+n
	}
	return sent, nil
}

// CloseWrite says that no more data will come.
func (s *stream) CloseWrite() error {
	s.mu.Lock()
	if s.closed {
		s.mu.Unlock()
		return nil
	}
	s.closed = true
	s.cond.Broadcast()
	s.mu.Unlock()
	return s.mux.send(frameEnd, s.id, nil)
}

// Close closes the stream in both directions.
func (s *stream) Close() error {
	s.mu.Lock()
	done := s.closed && s.ended
	s.closed = true
	if s.err == nil {
		s.err = io.ErrClosedPipe
	}
	s.cond.Broadcast()
	s.mu.Unlock()
	s.mux.drop(s.id)
	if done {
		return nil
	}
	return s.mux.send(frameReset, s.id, nil)
}
