package broker

import (
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// crowd bounds the connections that are served at once.
type crowd struct {
	net.Listener
	places chan struct{}
	done   <-chan struct{}
	now    func() time.Time
}

func (c *crowd) Accept() (net.Conn, error) {
	select {
	case c.places <- struct{}{}:
	case <-c.done:
		return nil, net.ErrClosed
	}
	conn, err := c.Listener.Accept()
	if err != nil {
		<-c.places
		return nil, err
	}
	return &guest{Conn: conn, since: c.now(), leave: sync.OnceFunc(func() { <-c.places })}, nil
}

// guest is a connection from the box.
type guest struct {
	net.Conn
	since time.Time
	leave func()
	bytes atomic.Int64 // that it sent
	heard atomic.Bool  // a request of it was understood
}

type guestKey struct{}

func (g *guest) Read(p []byte) (int, error) {
	n, err := g.Conn.Read(p)
	g.bytes.Add(int64(n))
	return n, err
}

func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// CloseWrite tells the other side of a tunnel that no more data follows.
func (g *guest) CloseWrite() error { return closeWrite(g.Conn) }

func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return c.Close()
}

// unheard records connections that sent something but no request, which the server has answered by itself.
func (d *Door) unheard(c net.Conn, state http.ConnState) {
	g, ok := c.(*guest)
	if !ok || state != http.StateClosed || g.heard.Load() || g.bytes.Load() == 0 {
		return
	}
	d.cfg.Record(Entry{
		Time: g.since, Session: d.cfg.Session, Kind: "garbage", Decision: Refused,
		Reason: "it was no HTTP request, or not a whole one, or too much of one",
		In:     g.bytes.Load(), Millis: d.cfg.Now().Sub(g.since).Milliseconds(),
	})
}

// buffers is a pool of copy buffers.
type buffers struct{ pool sync.Pool }

const bufferSize = 32 << 10

// Get is for httputil.ReverseProxy.
func (b *buffers) Get() []byte {
	if p, ok := b.pool.Get().(*[bufferSize]byte); ok {
		return p[:]
	}
	return make([]byte, bufferSize)
}

// Put is for httputil.ReverseProxy.
func (b *buffers) Put(p []byte) {
	if cap(p) >= bufferSize {
		b.pool.Put((*[bufferSize]byte)(p[:bufferSize]))
	}
}
