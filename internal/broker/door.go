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
	"sync/atomic"
	"time"
)

// What one box may keep busy at once. A box that wants more has to wait, and harms only itself.
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
	held   holds
	calls  chan struct{} // one place for each model request under way
	asking atomic.Int64  // model requests that are not on record yet
	routes map[string]*route
	server *http.Server
	ctx    context.Context // ends with the door
	cancel context.CancelFunc

	buffers buffers
	bodies  bodies

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
		routes: map[string]*route{}, open: map[io.Closer]struct{}{}, bodies: bodies{to: c.RecordBodies},
	}
	d.ctx, d.cancel = context.WithCancel(context.Background())
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
	d.server = d.newServer(d.serve)
	d.server.ConnState = d.unheard
	d.server.ConnContext = func(ctx context.Context, c net.Conn) context.Context {
		return context.WithValue(ctx,
			guestKey{}, c)
	}
	return d, nil
}

func (d *Door) newServer(handle http.HandlerFunc) *http.Server {
	return &http.Server{
		Handler: handle,

		DisableGeneralOptionsHandler: true,

		ReadHeaderTimeout: d.cfg.Timeouts.Header,
		IdleTimeout:       d.cfg.Timeouts.Idle,
		MaxHeaderBytes:    maxHeader,
		ErrorLog:          log.New(io.Discard, "", 0), // the record has the box's mistakes
		BaseContext:       func(net.Listener) context.Context { return d.ctx },
	}
}

func (c *Config) defaults() error {
	var err error
	if c.Prices == nil && len(c.Models) > 0 {
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

// Serve lets the box in through l until Close. Being able to connect to l is not enough: each request must show the
// token.
func (d *Door) Serve(l net.Listener) error {
	err := d.server.Serve(&crowd{Listener: l, places: make(chan struct{}, maxConns), done: d.ctx.Done(), now: d.cfg.Now})
	if errors.Is(err, http.ErrServerClosed) || d.ctx.Err() != nil { // a waiting Accept may return first
		return errClosed
	}
	return err
}

// Close closes the door at once, with everything that passes through it. After it Spent no longer changes.
func (d *Door) Close() error {
	d.cancel()
	err := d.server.Close()
	d.mu.Lock()
	first := !d.closed
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
	for i := 0; first && i < maxModelCalls; i++ {
		d.calls <- struct{}{} // each request frees its place when it has been charged
	}
	return err
}

// Busy says that a request to a model is under way.
func (d *Door) Busy() bool { return len(d.calls) > 0 }

// Settled says that every request to a model has ended and is on record.
func (d *Door) Settled() bool { return d.asking.Load() == 0 }

// Spent is what the session used up to now. Requests under way are not in it.
func (d *Door) Spent() Spend { return d.spent.sum() }

// SpentByModel is the same for each model.
func (d *Door) SpentByModel() map[string]Spend { return d.spent.byModel() }

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

// ours says whether a token is this session's, in constant time.
func (d *Door) ours(token string) bool {
	sum := sha256.Sum256([]byte(token))
	return subtle.ConstantTimeCompare(sum[:], d.token[:]) == 1
}

func (d *Door) serve(w http.ResponseWriter, r *http.Request) {
	if g, ok := r.Context().Value(guestKey{}).(*guest); ok {
		g.heard.Store(true)
	}
	switch {
	case r.Method == http.MethodConnect || r.URL.IsAbs():
		d.proxy(w, r)
	default:
		d.model(w, r)
	}
}
