package view

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
)

// guestsMost is how many connections wait that nobody was let in on: a browser opens six.
const guestsMost = 256

// guests are connections on which nobody was let in yet. They may say nothing for minutes, since browsers open some
// before they need them; but when there are too many, the oldest is hung up on.
type guests struct {
	mu      sync.Mutex
	waiting *list.List
	at      map[net.Conn]*list.Element
}

func newGuests() *guests { return &guests{waiting: list.New(), at: map[net.Conn]*list.Element{}} }

type guestKey struct{}

// come is called with each connection. Its requests carry it.
func (g *guests) come(ctx context.Context, c net.Conn) context.Context {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.at[c] = g.waiting.PushBack(c)
	if g.waiting.Len() > guestsMost {
		oldest := g.waiting.Remove(g.waiting.Front()).(net.Conn)
		delete(g.at, oldest)
		_ = oldest.Close()
	}
	return context.WithValue(ctx, guestKey{}, c)
}

// forget is called with a connection that has ended, or on which somebody was let in.
func (g *guests) forget(c net.Conn) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if e := g.at[c]; e != nil {
		g.waiting.Remove(e)
		delete(g.at, c)
	}
}

// changed is the server's word about a connection.
func (g *guests) changed(c net.Conn, s http.ConnState) {
	if s == http.StateClosed || s == http.StateHijacked {
		g.forget(c)
	}
}

// letIn says that a request was.
func (g *guests) letIn(r *http.Request) {
	if c, ok := r.Context().Value(guestKey{}).(net.Conn); ok {
		g.forget(c)
	}
}
