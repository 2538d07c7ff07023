package broker

import (
	"bufio"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

const publicAddr = "93.184.216.34"

// site is a TLS server that the test's names lead to.
func (tr *trial) site(host string, port string, tlsToo bool, h http.Handler) *httptest.Server {
	tr.t.Helper()
	s := httptest.NewUnstartedServer(h)
	s.Config.ErrorLog = quietLog()
	if tlsToo {
		s.StartTLS()
	} else {
		s.Start()
	}
	tr.t.Cleanup(s.Close)
	tr.names.addrs[host] = []string{publicAddr}
	tr.dials.to[net.JoinHostPort(publicAddr, port)] = s.Listener.Addr().String()
	return s
}

func hello200(body string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = io.WriteString(w, body+" "+r.Host) })
}

func TestConnectReachesWhatIsAllowed(t *testing.T) {
	tr := open(t, Config{Mode: ModeAllowlist, Allowed: rules(t, "example.com")})
	s := tr.site("example.com", "443", true, hello200("hello"))
	c := tr.proxied(theToken)
	pool := x509.NewCertPool()
	pool.AddCert(s.Certificate())
	c.Transport.(*http.Transport).TLSClientConfig = &tls.Config{RootCAs: pool}
	res, err := c.Get("https://example.com/")
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if string(body) != "hello example.com" {
		t.Errorf("got %q", body)
	}
	c.CloseIdleConnections()
	e := tr.entry(1)
	if e.Kind != "connect" || e.Host != "example.com" || e.Port != 443 || e.Decision != Allowed ||
		e.Rule != "example.com" || e.In == 0 || e.Out == 0 || e.Session != "0badcafe" || e.Error != "" &&
		!strings.Contains(e.Error, "reset") {
		t.Errorf("the record says %+v", e)
	}
}

func TestPlainRequestsReachWhatIsAllowed(t *testing.T) {
	tr := open(t, Config{Mode: ModeAllowlist, Allowed: rules(t, "example.com")})
	tr.site("example.com", "80", false, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		for _, h := range []string{"Proxy-Authorization", "Proxy-Connection", "X-Forwarded-For"} {
			if r.Header.Get(h) != "" {
				t.Errorf("the server sees %s", h)
			}
		}
		body, _ := io.ReadAll(r.Body)
		_, _ = fmt.Fprintf(w, "%s %s %s %s", r.Method, r.Host, r.RequestURI, body)
	}))
	res, err := tr.proxied(theToken).Post("http://EXAMPLE.com./a%2Fb?x=1;y", "text/plain", strings.NewReader("body"))
	if err != nil {
		t.Fatal(err)
	}
	body, _ := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if string(body) != "POST example.com /a%2Fb?x=1;y body" {
		t.Errorf("got %q", body)
	}
	if e := tr.entry(1); e.Kind != "http" || e.Host != "example.com" || e.Port != 80 || e.Status != 200 || e.In != 4 ||
		e.Out == 0 || e.Rule != "example.com" {
		t.Errorf("the record says %+v", e)
	}
}

// Guards against a rule for this machine's own address that opens the page, which can start agents, to a box.
func TestNoRuleOpensThePage(t *testing.T) {
	for _, to := range []string{"127.0.0.1:7626", "[::1]:7626", "rebind.example:7626"} {
		tr := open(t, Config{Mode: ModeOpen, Page: func() int { return 7626 },
			Allowed: rules(t, "127.0.0.1:7626", "[::1]:7626", "rebind.example:7626")})
		tr.names.addrs = map[string][]string{"rebind.example": {"127.0.0.1"}}
		if _, _, status, body := tr.connect(to); status != 403 || !strings.Contains(body, "page") {
			t.Errorf("%s gives %d %s", to, status, body)
		}
	}
}

// Every way to name what is not allowed, in one list: each is refused, nothing is resolved that need not be, and
// nothing is connected to.
func TestProxyRefuses(t *testing.T) {
	for _, c := range []struct {
		name, to string
		mode     Mode
		rules    []string
		lookup   bool // the name is allowed, so that it is looked up
	}{
		{"a name that is not on the list", "evil.example:443", ModeAllowlist, []string{"example.com"}, false},
		{"an empty list", "example.com:443", ModeAllowlist, nil, false},
		{"no network", "example.com:443", ModeNone, []string{"example.com"}, false},
		{"another port", "example.com:22", ModeAllowlist, []string{"example.com"}, false},
		{"an address in place of the name", publicAddr + ":443", ModeAllowlist, []string{"example.com"}, false},
		{"loopback by name", "localhost:443", ModeAllowlist, []string{"localhost"}, true},
		{"loopback by name, open", "localhost:443", ModeOpen, nil, true},
		{"a name that leads to loopback", "rebind.example:443", ModeAllowlist, []string{"rebind.example"}, true},
		{"a name that leads to both", "mixed.example:443", ModeAllowlist, []string{"mixed.example"}, true},
		{"a name that leads to both, open", "mixed.example:443", ModeOpen, nil, true},
		{"a name that leads to metadata", "meta.example:80", ModeOpen, nil, true},
		{"a name that leads to mapped loopback", "mapped.example:443", ModeOpen, nil, true},
		{"decimal loopback", "2130706433:443", ModeOpen, nil, false},
		{"octal loopback", "0177.0.0.1:443", ModeOpen, nil, false},
		{"hexadecimal loopback", "0x7f000001:443", ModeOpen, nil, false},
		{"short loopback", "127.1:443", ModeOpen, nil, false},
		{"full-width loopback", "１２７.０.０.１:443", ModeOpen, nil, false},
		{"mapped loopback", "[::ffff:127.0.0.1]:443", ModeOpen, nil, false},
		{"IPv6 loopback", "[::1]:443", ModeOpen, nil, false},
		{"a zone", "[fe80::1%25eth0]:443", ModeOpen, nil, false},
		{"a zone, plain", "[fe80::1%eth0]:443", ModeOpen, nil, false},
		{"link-local", "169.254.169.254:80", ModeOpen, nil, false},
		{"unspecified", "0.0.0.0:80", ModeOpen, nil, false},
		{"NAT64 of loopback", "[64:ff9b::127.0.0.1]:443", ModeOpen, nil, false},
		{"percent", "ex%61mple.com:443", ModeAllowlist, []string{"example.com"}, false},
		{"NUL by percent", "example.com%00.evil.org:443", ModeOpen, nil, false},
		{"a password", "example.com:443@evil.example:443", ModeOpen, nil, false},
		{"no port", "example.com", ModeOpen, nil, false},
		{"port 0", "example.com:0", ModeOpen, nil, false},
		{"a star", "*.example.com:443", ModeAllowlist, []string{"*.example.com"}, false},
		{"a prefix of the name", "xexample.com:443", ModeAllowlist, []string{"example.com", "*.example.com"}, false},
		{"the host's own address", "8.8.4.4:443", ModeOpen, nil, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			tr := open(t, Config{Mode: c.mode, Allowed: rules(t, c.rules...),
				Own: func() []netip.Addr { return []netip.Addr{netip.MustParseAddr("8.8.4.4")} }})
			tr.names.addrs = map[string][]string{
				"localhost": {"127.0.0.1"}, "rebind.example": {"127.0.0.1"}, "mixed.example": {publicAddr, "10.0.0.1"},
				"meta.example":   {"169.254.169.254"},
				"mapped.example": {"::ffff:127.0.0.1"}, "example.com": {publicAddr}, "evil.example": {publicAddr},
			}
			_, _, status, body := tr.connect(c.to)
			if status != 403 && status != 400 {
				t.Errorf("status %d: %s", status, body)
			}
			if status == 403 && !strings.HasPrefix(body, "cco: ") {
				t.Errorf("it says %q", body)
			}
			if len(tr.dials.asked) > 0 {
				t.Errorf("it connected to %q", tr.dials.asked)
			}
			if (len(tr.names.asked) > 0) != c.lookup {
				t.Errorf("it looked up %q", tr.names.asked)
			}
			if e := tr.entry(1); e.Decision != Refused || e.Reason == "" {
				t.Errorf("the record says %+v", e)
			}
		})
	}
}

func TestOddBytesInARequestLineAreRefused(t *testing.T) {
	tr := open(t, Config{Mode: ModeOpen})
	for _, to := range []string{"example.com\x00.evil.org:443", "exam\x01ple.com:443", "exam\x7fple.com:443",
		"example.com :443", "http:a", "http:", "http://", "http:///x", "ftp://example.com/", "https://example.com/",
		"http://user:pw@example.com/"} {
		method := "CONNECT"
		if strings.Contains(to, "//") || strings.HasPrefix(to, "http:") {
			method = "GET"
		}
		status, _ := tr.raw(fmt.Sprintf("%s %s HTTP/1.1\r\nHost: x\r\nProxy-Authorization: %s\r\nConnection: close\r\n\r\n",
			method, to, basic(theToken)))
		if status < 400 || status >= 500 {
			t.Errorf("%q: status %d", to, status)
		}
	}
	if len(tr.dials.asked) > 0 || len(tr.names.asked) > 0 {
		t.Errorf("it went to %q, %q", tr.dials.asked, tr.names.asked)
	}
}

// A name whose answer changes between check and connection must not lead anywhere new: it is asked once.
func TestNamesAreResolvedOnce(t *testing.T) {
	tr := open(t, Config{Mode: ModeAllowlist, Allowed: rules(t, "example.com")})
	tr.site("example.com", "443", true, hello200(""))
	tr.connect("example.com:443")
	if len(tr.names.asked) != 1 || len(tr.dials.asked) != 1 || tr.dials.asked[0] != publicAddr+":443" {
		t.Errorf("looked up %q, connected to %q", tr.names.asked, tr.dials.asked)
	}
}

func TestChangesOfTheListHoldAtOnce(t *testing.T) {
	allowed := make(chan []Rule, 1)
	allowed <- nil
	tr := open(t, Config{Mode: ModeAllowlist, Allowed: func() ([]Rule, error) {
		now := <-allowed
		allowed <- now
		return now, nil
	}})
	tr.site("example.com", "443", true, hello200(""))
	for _, want := range []int{403, 200, 403} {
		if _, _, status, body := tr.connect("example.com:443"); status != want {
			t.Fatalf("status %d, want %d: %s", status, want, body)
		}
		if now := <-allowed; now == nil {
			allowed <- listed(t, "example.com")
		} else {
			allowed <- nil
		}
	}
}

// Guards against a box that is closed by an error in its user's settings, of which nobody is told.
func TestRulesThatCanNotBeReadCloseAndSayWhy(t *testing.T) {
	why := errors.New("config.toml:3: network.allow: no rule")
	for mode, want := range map[Mode]int{ModeAllowlist: 403, ModeOpen: 200} {
		tr := open(t, Config{Mode: mode, Allowed: func() ([]Rule, error) { return nil, why }})
		tr.site("example.com", "443", true, hello200(""))
		_, _, status, body := tr.connect("example.com:443")
		if status != want || (status == 403) != strings.Contains(body, why.Error()) {
			t.Errorf("%v: status %d: %s", mode, status, body)
		}
	}
}

func TestOnlyThisSessionsTokenOpensTheProxy(t *testing.T) {
	other := open(t, Config{Token: "token-of-another-session", Mode: ModeOpen})
	tr := open(t, Config{Mode: ModeOpen})
	for _, d := range []*trial{tr, other} {
		d.site("example.com", "443", true, hello200(""))
	}
	for _, cred := range []string{
		"", "Basic", "Basic !!!", basic(""), basic("token-of-another-session"), basic(theToken + "x"), basic(theToken[1:]),
		"Bearer " + theToken,
		"Basic " + theToken, strings.Replace(basic(theToken), "Basic", "Digest", 1),
	} {
		line := ""
		if cred != "" {
			line = "Proxy-Authorization: " + cred + "\r\n"
		}
		for _, first := range []string{"CONNECT example.com:443", "GET http://example.com/"} {
			if status, _ := tr.raw(first + " HTTP/1.1\r\nHost: example.com\r\n" + line +
				"Connection: close\r\n\r\n"); status != 407 {
				t.Errorf("%s with %q: status %d", first, cred, status)
			}
		}
	}
	if len(tr.dials.asked)+len(tr.names.asked) > 0 {
		t.Error("it went somewhere")
	}
}

func TestWhatCantBeReachedGetsAClearAnswer(t *testing.T) {
	tr := open(t, Config{Mode: ModeAllowlist, Allowed: rules(t, "nowhere.example", "down.example")})
	tr.names.addrs["down.example"] = []string{publicAddr}
	for _, c := range []struct{ to, want string }{{"nowhere.example", "no such host"}, {"down.example", "unreachable"}} {
		_, _, status, body := tr.connect(c.to + ":443")
		if status != 502 || !strings.Contains(body, c.want) {
			t.Errorf("%s: %d %s", c.to, status, body)
		}
		res, err := tr.proxied(theToken).Get("http://" + c.to + "/")
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != 502 {
			t.Errorf("%s: %d", c.to, res.StatusCode)
		}
	}
	if e := tr.entry(1); e.Decision != Failed || e.Rule != "nowhere.example" || e.Error == "" {
		t.Errorf("the record says %+v", e)
	}
}

type stuck struct{}

func (stuck) LookupNetIP(ctx context.Context, _, _ string) ([]netip.Addr, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

func TestALookupThatNeverEndsIsEnded(t *testing.T) {
	tr := open(t, Config{Mode: ModeOpen, Timeouts: Timeouts{Dial: 50 * time.Millisecond}})
	tr.door.cfg.Resolver = stuck{}
	if _, _, status, body := tr.connect("example.com:443"); status != 504 {
		t.Errorf("%d %s", status, body)
	}
}

// tunnelTo gives a tunnel to a server of the test that speaks raw bytes.
func tunnelTo(t *testing.T, mode Mode, to string, serve func(net.Conn)) (*trial, net.Conn, *bufio.Reader) {
	t.Helper()
	name, port, _ := net.SplitHostPort(to)
	tr := open(t, Config{Mode: mode, Allowed: rules(t, to)})
	l := must.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	t.Cleanup(func() { _ = l.Close() })
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer func() { _ = c.Close() }()
				serve(c)
			}()
		}
	}()
	tr.names.addrs[name] = []string{publicAddr}
	tr.dials.to[net.JoinHostPort(publicAddr, port)] = l.Addr().String()
	c, r, status, body := tr.connect(to)
	if status != 200 {
		t.Fatalf("%d %s", status, body)
	}
	return tr, c, r
}
