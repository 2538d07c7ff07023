package forgetest

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

// mishap is a way in which a forge or the network misbehaves, for one request.
type mishap struct {
	Name string
	// Refuse answers with this status, and the server never hears of it.
	Refuse int
	Header map[string]string
	Body   string
	// Lose lets the server do its work, and then answers with this status.
	Lose int
	// DropBefore closes the connection before the server hears of it, DropAfter when it has done its work, DropAmid in the
	// middle of its answer.
	DropBefore, DropAfter, DropAmid bool
	// Slow waits before the server hears of it, also when the client has gone away meanwhile.
	Slow time.Duration
}

// proxy stands before a server and misbehaves when told to.
type proxy struct {
	http   *httptest.Server
	target *url.URL

	mu     sync.Mutex
	faults []planned
	before func(*http.Request)
	log    []string
	busy   int
	idle   chan struct{} // closed when the last request has ended
}

type planned struct {
	match func(*http.Request) bool
	fault mishap
	times int
}

// newProxy starts a proxy that ends with the test.
func newProxy(t *testing.T, target string) *proxy {
	t.Helper()
	u := must.Get(url.Parse(target))(t)
	p := &proxy{target: u}
	p.http = httptest.NewServer(p)
	t.Cleanup(func() {
		_ = p.settle(context.WithoutCancel(t.Context()))
		p.http.Close()
	})
	return p
}

// URL is where the proxy is.
func (p *proxy) URL() string { return p.http.URL }

// Inject makes the next requests that match misbehave.
func (p *proxy) Inject(f mishap, times int, match func(*http.Request) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.faults = append(p.faults, planned{match, f, times})
}

// Heal forgets all faults, and says how many were left.
func (p *proxy) Heal() (left int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, f := range p.faults {
		left += f.times
	}
	p.faults = nil
	return left
}

// Before has something done before each request is passed on.
func (p *proxy) Before(do func(*http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.before = do
}

// Requests gives "METHOD path?query" of all requests so far.
func (p *proxy) Requests() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return append([]string{}, p.log...)
}

func (p *proxy) next(r *http.Request) (mishap, func(*http.Request)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.log = append(p.log, r.Method+" "+r.URL.RequestURI())
	for i := range p.faults {
		if f := &p.faults[i]; f.times > 0 && f.match(r) {
			f.times--
			return f.fault, p.before
		}
	}
	return mishap{}, p.before
}

func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.begin()
	defer p.end()
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	f, before := p.next(r)
	if before != nil {
		before(r)
	}
	switch {
	case f.DropBefore:
		drop(w)
		return
	case f.Refuse != 0:
		for k, v := range f.Header {
			w.Header().Set(k, v)
		}
		http.Error(w, f.Body, f.Refuse)
		return
	}
	time.Sleep(f.Slow) // it is what the test is about
	status, header, data, err := p.pass(r, body)
	switch {
	case err != nil:
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	case f.DropAfter:
		drop(w)
		return
	case f.Lose != 0:
		for k, v := range f.Header {
			w.Header().Set(k, v)
		}
		http.Error(w, `{"message":"Server Error"}`, f.Lose)
		return
	}
	for k, v := range header {
		w.Header()[k] = v
	}
	if f.DropAmid {
		w.Header().Set("Content-Length", strconv.Itoa(len(data)+10))
		w.WriteHeader(status)
		_, _ = w.Write(data[:len(data)/2])
		_ = http.NewResponseController(w).Flush()
		drop(w)
		return
	}
	w.WriteHeader(status)
	_, _ = w.Write(data)
}

func (p *proxy) begin() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy++; p.busy == 1 {
		p.idle = make(chan struct{})
	}
}

func (p *proxy) end() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.busy--; p.busy == 0 {
		close(p.idle)
	}
}

// settle waits until no request is under way, also none that nobody waits for any more.
func (p *proxy) settle(ctx context.Context) error {
	p.mu.Lock()
	idle := p.idle
	if p.busy == 0 {
		idle = nil
	}
	p.mu.Unlock()
	if idle == nil {
		return nil
	}
	select {
	case <-idle:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// pass hands a request on, and waits for its end even if the client does not.
func (p *proxy) pass(r *http.Request, body []byte) (int, http.Header, []byte, error) {
	out := r.Clone(context.WithoutCancel(r.Context()))
	out.RequestURI, out.URL.Scheme, out.URL.Host = "", p.target.Scheme, p.target.Host
	out.Body, out.ContentLength = io.NopCloser(bytes.NewReader(body)), int64(len(body))
	out.Header.Del("Accept-Encoding")
	resp, err := http.DefaultTransport.RoundTrip(out)
	if err != nil {
		return 0, nil, nil, err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	resp.Header.Del("Content-Length")
	return resp.StatusCode, resp.Header, data, err
}

func drop(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

// api matches requests to the interface, not to git.
func api(method string, parts ...string) func(*http.Request) bool {
	return func(r *http.Request) bool {
		if !strings.HasPrefix(r.URL.Path, "/api/") || method != "" && r.Method != method {
			return false
		}
		for _, part := range parts {
			if !strings.Contains(r.URL.Path, part) {
				return false
			}
		}
		return true
	}
}
