package broker

import (
	"bufio"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

const (
	theToken = "token-of-this-session"
	theKey   = "sk-ant-api03-REALKEYREALKEYREALKEY"
)

// names answers look-ups from a table, and tells what was asked.
type nameTable struct {
	mu    sync.Mutex
	addrs map[string][]string
	asked []string
}

func (n *nameTable) LookupNetIP(_ context.Context, _, name string) ([]netip.Addr, error) {
	n.mu.Lock()
	defer n.mu.Unlock()
	name = strings.TrimSuffix(name, ".")
	n.asked = append(n.asked, name)
	var out []netip.Addr
	for _, a := range n.addrs[name] {
		out = append(out, netip.MustParseAddr(a))
	}
	if out == nil {
		return nil, &net.DNSError{Err: "no such host", Name: name, IsNotFound: true}
	}
	return out, nil
}

// detour connects to servers of the test in place of public addresses, and tells where it was sent.
type detour struct {
	mu    sync.Mutex
	to    map[string]string // "93.184.216.34:443" → "127.0.0.1:12345"
	asked []string
}

func (d *detour) DialContext(ctx context.Context, network, address string) (net.Conn, error) {
	d.mu.Lock()
	d.asked = append(d.asked, address)
	to := d.to[address]
	d.mu.Unlock()
	if to == "" {
		if host, _, _ := net.SplitHostPort(address); host != "127.0.0.1" {
			return nil, &net.OpError{Op: "dial", Net: network, Err: errors.New("network is unreachable")}
		}
		to = address
	}
	return (&net.Dialer{}).DialContext(ctx, network, to)
}

// trial is a door under test.
type trial struct {
	t       *testing.T
	door    *Door
	socket  string
	names   *nameTable
	dials   *detour
	mu      sync.Mutex
	entries []Entry
	news    chan struct{}
}

func rules(t *testing.T, texts ...string) func() ([]Rule, error) {
	t.Helper()
	all := listed(t, texts...)
	return func() ([]Rule, error) { return all, nil }
}

func listed(t *testing.T, texts ...string) (all []Rule) {
	t.Helper()
	for _, s := range texts {
		r := must.Get(ParseRule(s))(t)
		all = append(all, r)
	}
	return all
}

func open(t *testing.T, c Config) *trial {
	t.Helper()
	tr := &trial{t: t, names: &nameTable{addrs: map[string][]string{}}, dials: &detour{to: map[string]string{}},
		news: make(chan struct{}, 1000)}
	if c.Token == "" {
		c.Token = theToken
	}
	c.Session, c.Resolver, c.Dialer = "0badcafe", tr.names, tr.dials
	if c.Own == nil {
		c.Own = func() []netip.Addr { return nil }
	}
	c.Record = func(e Entry) {
		tr.mu.Lock()
		tr.entries = append(tr.entries, e)
		tr.mu.Unlock()
		tr.news <- struct{}{}
	}
	var err error
	if tr.door, err = Open(c); err != nil {
		t.Fatal(err)
	}
	dir := must.Get(os.MkdirTemp("", "door-"))(t) //nolint:usetesting // names of tests are long, and a socket's may not be
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	tr.socket = filepath.Join(dir, "door.sock")
	l := must.Get(net.Listen("unix", tr.socket))(t)
	served := make(chan error, 1)
	go func() { served <- tr.door.Serve(l) }()
	t.Cleanup(func() {
		_ = tr.door.Close()
		if err := <-served; !errors.Is(err, errClosed) {
			t.Errorf("Serve ended with %v", err)
		}
	})
	return tr
}

// last waits for the n-th entry of the record.
func (tr *trial) entry(n int) Entry {
	tr.t.Helper()
	for {
		tr.mu.Lock()
		if len(tr.entries) >= n {
			e := tr.entries[n-1]
			tr.mu.Unlock()
			return e
		}
		tr.mu.Unlock()
		select {
		case <-tr.news:
		case <-time.After(time.Minute):
			tr.t.Fatalf("no %d. entry", n)
		}
	}
}

func (tr *trial) dial() net.Conn {
	tr.t.Helper()
	c := must.Get(net.Dial("unix", tr.socket))(tr.t)
	tr.t.Cleanup(func() { _ = c.Close() })
	_ = c.SetDeadline(time.Now().Add(time.Minute))
	return c
}

// raw sends bytes and gives the status line of the answer and its body.
func (tr *trial) raw(text string) (int, string) {
	tr.t.Helper()
	c := tr.dial()
	go func() { _, _ = io.WriteString(c, text) }()
	return readAnswer(tr.t, bufio.NewReader(c))
}

func readAnswer(t *testing.T, r *bufio.Reader) (int, string) {
	t.Helper()
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		t.Fatalf("no answer: %v", err)
	}
	defer func() { _ = res.Body.Close() }()
	body, _ := io.ReadAll(res.Body)
	return res.StatusCode, string(body)
}

func quietLog() *log.Logger { return log.New(io.Discard, "", 0) }

func basic(token string) string {
	return "Basic " + base64.StdEncoding.EncodeToString([]byte("cco:"+token))
}

// connect asks for a tunnel. The answer's body is read only if it was refused.
func (tr *trial) connect(to string) (net.Conn, *bufio.Reader, int, string) {
	tr.t.Helper()
	c := tr.dial()
	must.Get(fmt.Fprintf(c, "CONNECT %s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: %s\r\n\r\n", to,
		basic(theToken)))(tr.t)
	r := bufio.NewReader(c)
	res, err := http.ReadResponse(r, &http.Request{Method: http.MethodConnect})
	if err != nil {
		tr.t.Fatalf("CONNECT %q: %v", to, err)
	}
	defer func() { _ = res.Body.Close() }()
	body := ""
	if res.StatusCode != 200 {
		b, _ := io.ReadAll(res.Body)
		body = string(b)
	}
	return c, r, res.StatusCode, body
}

// client talks to model routes and the proxy as a CLI in the box does.
func (tr *trial) client() *http.Client {
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", tr.socket)
	}
	t := &http.Transport{DialContext: dial}
	tr.t.Cleanup(t.CloseIdleConnections)
	return &http.Client{Transport: t, Timeout: time.Minute,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (tr *trial) proxied(token string) *http.Client {
	c := tr.client()
	c.Transport.(*http.Transport).Proxy = http.ProxyURL(&url.URL{Scheme: "http", Host: "door",
		User: url.UserPassword("cco", token)})
	return c
}

func key(t *testing.T, secret string) Key {
	t.Helper()
	k := must.Get(NewKey(secret, false))(t)
	return k
}

// upstream is a model of the test.
func upstream(t *testing.T, name string, h http.HandlerFunc) (Upstream, *httptest.Server) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	base := must.Get(url.Parse(s.URL))(t)
	p := must.Get(FindProvider(name))(t)
	return Upstream{Provider: p, Base: base, Key: key(t, theKey)}, s
}

// ask sends a request to a model route with the session's token.
func (tr *trial) ask(method, path, body string, headers ...string) (int, string, http.Header) {
	tr.t.Helper()
	r := must.Get(http.NewRequestWithContext(tr.t.Context(), method, "http://door"+path, strings.NewReader(body)))(tr.t)
	r.Header.Set("X-Api-Key", theToken)
	r.Header.Set("Content-Type", "application/json")
	for i := 0; i+1 < len(headers); i += 2 {
		r.Header.Set(headers[i], headers[i+1])
	}
	res, err := tr.client().Do(r)
	if err != nil {
		tr.t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		tr.t.Errorf("the answer breaks off: %v", err)
	}
	return res.StatusCode, string(text), res.Header
}
