package keep

import (
	"encoding/json"
	"net"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/session"
)

// line is the keeper's end of its socket.
type line struct {
	transcript *session.Transcript
	handle     func(*client, session.Request)
	gone       func(*client)

	listener net.Listener
	wg       sync.WaitGroup
}

// client is one connection.
type client struct{ net.Conn }

func (l *line) serve() {
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
	who := &client{c}
	defer func() { _ = c.Close(); l.gone(who) }()
	following := make(chan struct{})
	go func() {
		// Reading ends when the client hangs up or, at the latest, when talk closes the connection.
		r := event.NewReader(c)
		defer close(following)
		for {
			text, _, err := r.Next()
			if err != nil {
				return
			}
			var req session.Request
			if json.Unmarshal(text, &req) != nil {
				return
			}
			if req.Op != "follow" {
				l.handle(who, req)
			}
		}
	}()
	_ = l.transcript.CopyTo(c, following)
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
