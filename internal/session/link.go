package session

import (
	"cmp"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/socket"
)

// Request is what a client asks of a keeper, a line of JSON each. The keeper answers with the transcript.
type Request struct {
	Op   string `json:"op"`            // follow, take, input, resize, say, end, stop, kill
	Who  string `json:"who,omitempty"` // a name of the client's own, which says whose keyboard was taken
	Data []byte `json:"data,omitempty"`
	Cols uint16 `json:"cols,omitempty"`
	Rows uint16 `json:"rows,omitempty"`

	Interrupt bool `json:"interrupt,omitempty"` // the input is Ctrl-C, however the terminal spells it
}

// Link is a client's end of a keeper's socket.
type Link struct {
	conn net.Conn
	mu   sync.Mutex
	enc  *json.Encoder
}

// Dial connects to the keeper of a session.
func (s *Service) Dial(ctx context.Context, id string) (*Link, error) {
	c, err := socket.Dial(ctx, s.Socket(id))
	if err != nil {
		return nil, fmt.Errorf("reach the keeper of session %s: %w", id, err)
	}
	return &Link{conn: c, enc: json.NewEncoder(c)}, nil
}

func (l *Link) send(r Request) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.enc.Encode(r)
}

// replyTime is how long a keeper may take to answer.
const replyTime = 30 * time.Second

// request asks something of a session's keeper, and gives its answer.
func (s *Service) request(ctx context.Context, id string, r Request) (answer string, err error) {
	link, err := s.Dial(ctx, id)
	if err != nil {
		return "", err
	}
	defer func() { _ = link.Close() }()
	ctx, cancel := context.WithTimeout(ctx, replyTime)
	defer cancel()
	defer context.AfterFunc(ctx, func() { _ = link.Close() })()
	r.Who = rand.Text()
	if err := link.send(r); err != nil {
		return "", fmt.Errorf("ask the keeper of session %s: %w", id, err)
	}
	heard := false
	err = link.Follow(func(e Event) error {
		if heard = e.Kind == KindReply && e.Writer == r.Who; heard {
			answer = e.Text
			return io.EOF
		}
		return nil
	})
	if !heard {
		return "", fmt.Errorf("the keeper of session %s does not answer: %w", id, cmp.Or(err, ctx.Err(), io.EOF))
	}
	return answer, nil
}

// Stop asks the agent to end by itself.
func (l *Link) Stop() error { return l.send(Request{Op: "stop"}) }

// Kill ends the agent.
func (l *Link) Kill() error { return l.send(Request{Op: "kill"}) }

// Take takes the keyboard of the agent's terminal, by a name that no other client has: the transcript says who has it,
// and what others type is dropped until they take it back.
func (l *Link) Take(who string) error { return l.send(Request{Op: "take", Who: who}) }

// Input types into the agent's terminal.
func (l *Link) Input(data []byte) error { return l.send(Request{Op: "input", Data: data}) }

// Interrupt types Ctrl-C into it, as the user's terminal spells that.
func (l *Link) Interrupt(data []byte) error {
	return l.send(Request{Op: "input", Data: data, Interrupt: true})
}

// Resize tells the agent's terminal its size.
func (l *Link) Resize(cols, rows int) error {
	return l.send(Request{Op: "resize", Cols: uint16(cols), Rows: uint16(rows)}) // a terminal's size fits
}

// Follow calls each for every event from the session's beginning until it ends or the link is closed.
func (l *Link) Follow(each func(Event) error) error { return ReadEvents(l.conn, each) }

// Close hangs up.
func (l *Link) Close() error { return l.conn.Close() }
