package broker

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
)

// forward sends one plain HTTP request to its target, over a connection of its own: the decision is made for each.
func (d *Door) forward(w http.ResponseWriter, r *http.Request, t target, e *Entry) {
	if r.Header.Get("Upgrade") != "" {
		// What follows would be a raw connection, on which nobody sees which host is asked for. No rule can allow that.
		w.Header().Set("Connection", "close")
		d.answerText(w, e, http.StatusForbidden, Refused,
			"another protocol behind a plain request (Upgrade) is not let through: use TLS")
		return
	}
	conn, rule, err := d.reach(r.Context(), t)
	e.Rule = rule
	if err != nil {
		d.failed(w, e, err)
		return
	}
	if !d.hold(conn) {
		e.Decision, e.Error = Failed, "the door was closed"
		return
	}
	defer d.release(conn)
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	watch := newWatch(w, d.cfg.Timeouts.Idle, cancel)
	defer watch.stop()
	var in atomic.Int64 // another goroutine reads the body
	defer func() { e.In = in.Load() }()
	if r.Body != nil && r.Body != http.NoBody {
		r.Body = &tapped{ReadCloser: r.Body, watch: watch, see: func(p []byte) error {
			in.Add(int64(len(p)))
			return nil
		}}
	}
	proxy := httputil.ReverseProxy{
		FlushInterval: -1, BufferPool: &d.buffers, ErrorLog: d.server.ErrorLog, Transport: d.over(conn),
		Rewrite: func(pr *httputil.ProxyRequest) {
			pr.Out.URL.Scheme, pr.Out.URL.Host, pr.Out.URL.User = "http", t.String(), nil
			pr.Out.URL.RawQuery = pr.In.URL.RawQuery
			if pr.Out.Host = t.String(); t.port == portHTTP {
				pr.Out.Host = bracketed(t.host)
			}
		},
		ModifyResponse: func(res *http.Response) error {
			if res.StatusCode == http.StatusSwitchingProtocols { // nobody asked for it
				return refuse("the server switches to another protocol")
			}
			e.Status, e.Decision = res.StatusCode, Allowed
			res.Body = &tapped{ReadCloser: res.Body, watch: watch, count: &e.Out}
			return nil
		},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { d.failed(w, e, err) },
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

func bracketed(h host) string {
	if h.addr.Is6() {
		return "[" + h.String() + "]"
	}
	return h.String()
}

// over makes a transport from one connection that was already checked.
func (d *Door) over(conn net.Conn) *http.Transport {
	once := make(chan net.Conn, 1)
	once <- conn
	return &http.Transport{
		DisableKeepAlives: true, DisableCompression: true, MaxResponseHeaderBytes: 256 << 10,
		ResponseHeaderTimeout: d.cfg.Timeouts.Response,
		DialContext: func(context.Context, string, string) (net.Conn, error) {
			select {
			case c := <-once:
				return c, nil
			default:
				return nil, errors.New("the connection was lost")
			}
		},
	}
}

// serveHTTP serves plain HTTP that was found inside CONNECT: each request must be for the host that CONNECT asked for,
// and goes out by itself.
func (t *tunnel) serveHTTP(early bool, back <-chan struct{}) error {
	t.spare.Store(true)
	_ = t.out.Close()
	if early {
		<-back
		if t.got.Load() > 0 {
			return refuse("HTTP to a server that spoke first")
		}
	}
	d := t.door
	server := d.newServer(func(w http.ResponseWriter, r *http.Request) {
		e := Entry{Time: d.cfg.Now(), Session: d.cfg.Session, Kind: "http", Method: printable(r.Method, 20),
			Host: t.target.host.String(), Port: t.target.port}
		defer func() {
			e.Millis = d.cfg.Now().Sub(e.Time).Milliseconds()
			d.cfg.Record(e)
		}()
		asked, err := parseTarget(r.Host, t.target.port)
		if err != nil || asked != t.target || r.Method == http.MethodConnect {
			w.Header().Set("Connection", "close")
			d.answerText(w, &e, http.StatusForbidden, Refused, "the request asks for "+printable(r.Host, 80)+
				", and CONNECT asked for "+t.target.String())
			return
		}
		d.forward(w, r, t.target, &e)
	})
	l := &single{conn: &tunnelled{Conn: t.in, t: t, gone: make(chan struct{})}}
	if err := server.Serve(l); !errors.Is(err, net.ErrClosed) {
		return err
	}
	return nil
}

// tunnelled is the box's side of a tunnel, including the bytes that were peeked at.
type tunnelled struct {
	net.Conn
	t    *tunnel
	once sync.Once
	gone chan struct{} // closed with it
}

func (c *tunnelled) Close() error {
	defer c.once.Do(func() { close(c.gone) })
	return c.Conn.Close()
}

func (c *tunnelled) Read(p []byte) (int, error) {
	n, err := c.t.read.Read(p)
	c.t.moved()
	c.t.sent.Add(int64(n))
	return n, err
}

func (c *tunnelled) Write(p []byte) (int, error) {
	n, err := c.Conn.Write(p)
	c.t.moved()
	c.t.got.Add(int64(n))
	return n, err
}

// single is a listener for one existing connection.
type single struct {
	conn  *tunnelled
	given bool
}

func (l *single) Accept() (net.Conn, error) {
	if !l.given {
		l.given = true
		return l.conn, nil
	}
	<-l.conn.gone
	return nil, net.ErrClosed
}

func (l *single) Close() error   { return nil }
func (l *single) Addr() net.Addr { return l.conn.LocalAddr() }
