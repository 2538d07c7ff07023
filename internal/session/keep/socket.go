package keep

import (
	"encoding/json"
	"net"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/session"
)

// client is one connection to the keeper's socket.
type client struct{ net.Conn }

func (k *keeper) serve() {
	k.clients.Go(func() {
		for {
			c, err := k.listener.Accept()
			if err != nil {
				return
			}
			k.clients.Go(func() { k.talk(&client{c}) })
		}
	})
}

func (k *keeper) talk(c *client) {
	defer func() { _ = c.Close(); k.gone(c) }()
	following := make(chan struct{})
	go func() {
		// Reading ends when the client hangs up or, at the latest, when talk closes the connection.
		defer close(following)
		r := event.NewReader(c)
		for {
			text, _, err := r.Next()
			var req session.Request
			if err != nil || json.Unmarshal(text, &req) != nil {
				return
			}
			if req.Op != "follow" {
				k.handle(c, req)
			}
		}
	}()
	_ = k.transcript.CopyTo(c, following)
}

// hangUp lets every client read to the end of the transcript, which must be closed.
func (k *keeper) hangUp(wait time.Duration) {
	_ = k.listener.Close()
	done := make(chan struct{})
	go func() { k.clients.Wait(); close(done) }()
	select {
	case <-done:
	case <-time.After(wait): // a follower that doesn't read must not keep the keeper alive
	}
}
