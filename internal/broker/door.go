package broker

import (
	"context"
	"crypto/sha256"
	"crypto/subtle"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"sync"
	"time"
)

// What one box may keep busy at once. A box that wants more waits, and harms itself only.
const (
	maxConns      = 256
	maxModelCalls = 16
	maxHeader     = 64 << 10
)

// Door is one session's way out. It is safe for use by many goroutines.
type Door struct {
	cfg    Config
	token  [sha256.Size]byte
	spent  ledger
	calls  chan struct{} // one place for each model request under way
	routes map[string]*route
	plain  http.RoundTripper // for requests that are proxied without CONNECT
	server *http.Server
	quiet  *silences
	ctx    context.Context // ends with the door
	cancel context.CancelFunc

	mu     sync.Mutex
	open   map[io.Closer]struct{} // what the server has handed to us
	closed bool
}

// Open makes a door. Nothing listens until Serve.
func Open(c Config) (*Door, error) {
	if c.Token == "" {
		return nil, errors.New("broker: a door without a token would be open to everybody")
	}
	if err := c.defaults(); err != nil {
		return nil, fmt.Errorf("broker: %w", err)
	}
	d := &Door{
		cfg: c, token: sha256.Sum256([]byte(c.Token)), calls: make(chan struct{}, maxModelCalls),
		routes: map[string]*route{}, open: map[io.Closer]struct{}{},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
	d.plain = d.plainTransport()
	for _, u := range c.Models {
		if _, twice := d.routes[u.Provider.Name]; twice {
			return nil, fmt.Errorf("broker: two upstreams for %s", u.Provider.Name)
		}
		r, err := d.newRoute(u)
		if err != nil {
			return nil, fmt.Errorf("broker: %s: %w", u.Provider.Name, err)
		}
		d.routes[u.Provider.Name] = r
	}
	d.quiet = newSilences(d)
	d.server = &http.Server{
		Handler:           http.HandlerFunc(d.serve),
		ReadHeaderTimeout: c.Timeouts.Header,
		IdleTimeout:       c.Timeouts.Idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // what the box does wrong is in the record
		BaseContext:       func(net.Listener) context.Context { return d.ctx },
		ConnState:         d.quiet.change,
	}
	return d, nil
}

func (c *Config) defaults() error {
	var err error
	if c.Prices == nil {
		if c.Prices, err = DefaultPrices(); err != nil {
			return err
		}
	}
	if c.Limits.Tokens < 0 || !(c.Limits.Cost >= 0) {
		return errors.New("a limit is negative")
	}
	if c.Record == nil {
		c.Record = func(Entry) {}
	}
	if c.Resolver == nil {
		c.Resolver = &net.Resolver{PreferGo: true}
	}
	if c.Dialer == nil {
		c.Dialer = &net.Dialer{}
	}
	if c.Own == nil {
		c.Own = ownAddresses
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	c.Timeouts.defaults()
	return c.Prices.check()
}

func (t *Timeouts) defaults() {
	for _, v := range []struct {
		at    *time.Duration
		value time.Duration
	}{
		{&t.Header, 20 * time.Second},
		{&t.Dial, 20 * time.Second},
		{&t.Hello, 20 * time.Second},
		{&t.Idle, 15 * time.Minute},
		{&t.Response, 15 * time.Minute},
	} {
		if *v.at <= 0 {
			*v.at = v.value
		}
	}
}

// Serve lets the box in through l until Close. Who can connect to l is not trusted for that: each request shows the token.
func (d *Door) Serve(l net.Listener) error {
	err := d.server.Serve(&crowd{Listener: l, places: make(chan struct{}, maxConns), done: d.ctx.Done()})
	if errors.Is(err, http.ErrServerClosed) {
		return ErrClosed
	}
	return err
}

// Close closes the door at once, with everything that passes through it.
func (d *Door) Close() error {
	d.cancel()
	err := d.server.Close()
	d.mu.Lock()
	d.closed = true
	open := d.open
	d.open = map[io.Closer]struct{}{}
	d.mu.Unlock()
	for c := range open {
		_ = c.Close()
	}
	for _, r := range d.routes {
		r.transport.CloseIdleConnections()
	}
	return err
}

// Spent is what the session used up to now. Requests under way are not in it.
func (d *Door) Spent() Spend { return d.spent.sum() }

// hold makes Close close c too. It gives false if that has happened already.
func (d *Door) hold(c io.Closer) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		_ = c.Close()
		return false
	}
	d.open[c] = struct{}{}
	return true
}

func (d *Door) release(c io.Closer) {
	_ = c.Close()
	d.mu.Lock()
	defer d.mu.Unlock()
	delete(d.open, c)
}

// ours says whether a token is this session's, in a time that tells nothing of it.
func (d *Door) ours(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], d.token[:]) == 1
}

func (d *Door) serve(w http.ResponseWriter, r *http.Request) {
	d.quiet.spoke(r)
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs():
		d.proxy(w, r)
	default:
		d.model(w, r)
	}
}

// crowd bounds the connections that are served at once.
type crowd struct {
	net.Listener
	places chan struct{}
	done   <-chan struct{}
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
	return &guest{Conn: conn, leave: sync.OnceFunc(func() { <-c.places })}, nil
}

// guest is a connection from the box.
type guest struct {
	net.Conn
	leave func()
}

func (g *guest) Close() error {
	defer g.leave()
	return g.Conn.Close()
}

// CloseWrite is how one side of a tunnel says that it has no more to say.
func (g *guest) CloseWrite() error { return closeWrite(g.Conn) }

func closeWrite(c net.Conn) error {
	if h, ok := c.(interface{ CloseWrite() error }); ok {
		return h.CloseWrite()
	}
	return c.Close()
}
