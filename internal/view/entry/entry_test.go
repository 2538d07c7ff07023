package entry

import (
	"context"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

type clock struct{ now time.Time }

func (c *clock) Now() time.Time { return c.now }

func newEntry(t *testing.T, hosts ...string) (*Entry, *clock) {
	t.Helper()
	c := &clock{time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)}
	e := must.Get(New(make([]byte, 32), netip.MustParseAddrPort("127.0.0.1:7626"), hosts, c.Now))(t)
	e.codes.delay = time.Millisecond
	return e, c
}

func TestACodeLivesAMinuteAndOnce(t *testing.T) {
	e, c := newEntry(t)
	use := func(code string) bool { right, _ := e.codes.use(t.Context(), "", code); return right }
	code := e.Code()
	if use("") || use(code+"x") || use(strings.ReplaceAll(code, "-", "")[:15]) {
		t.Error("a wrong code is right")
	}
	if !use(" " + strings.ToUpper(code) + "\n") {
		t.Error("a fresh code is wrong")
	}
	if use(code) {
		t.Error("a code is right a second time")
	}
	code = e.Code()
	c.now = c.now.Add(CodeLife)
	if use(code) {
		t.Error("an old code is right")
	}
}

// Guards against a door that can be tried as fast as the machine allows, and one that strangers can shut by trying.
func TestWrongCodesAreSlowAndRightOnesAreNot(t *testing.T) {
	e, _ := newEntry(t)
	e.codes.delay = time.Hour
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	for range wrongMost {
		go func() { _, _ = e.codes.use(ctx, "", "wrong") }()
	}
	waiting := func() int {
		e.codes.mu.Lock()
		defer e.codes.mu.Unlock()
		return e.codes.wrong
	}
	for waiting() < wrongMost {
		time.Sleep(time.Millisecond)
	}
	if right, busy := e.codes.use(ctx, "", "wrong too"); right || !busy {
		t.Errorf("one more is right %v, busy %v", right, busy)
	}
	if right, _ := e.codes.use(ctx, "", e.Code()); !right {
		t.Error("a right code has to wait for wrong ones")
	}
}

func TestACookieIsOfItsKeyPortAndTime(t *testing.T) {
	e, c := newEntry(t)
	cookie := e.cookie(false)
	if _, ok := e.browser(cookie.Value); !ok {
		t.Fatal("its own cookie is refused")
	}
	other := must.Get(New(append(make([]byte, 31), 1), netip.MustParseAddrPort("127.0.0.1:7626"), nil, c.Now))(t)
	port := must.Get(New(make([]byte, 32), netip.MustParseAddrPort("127.0.0.1:7627"), nil, c.Now))(t)
	for name, x := range map[string]*Entry{"another key": other, "another port": port} {
		if _, ok := x.browser(cookie.Value); ok {
			t.Errorf("%s takes it", name)
		}
	}
	parts := strings.Split(cookie.Value, ".")
	for _, forged := range []string{"", ".", "..", parts[0] + ".9999999999." + parts[2], "x" + cookie.Value,
		cookie.Value + ".x"} {
		if _, ok := e.browser(forged); ok {
			t.Errorf("%q is taken", forged)
		}
	}
	c.now = c.now.Add(CookieLife)
	if _, ok := e.browser(cookie.Value); ok {
		t.Error("it outlives its time")
	}
	if e.cookie(true).Secure != true || cookie.Secure {
		t.Error("a cookie is Secure behind TLS, and only there")
	}
}

func TestHostsOfTunnels(t *testing.T) {
	for _, bad := range []string{"", "0.0.0.0", "0.0.0.0:80", "[::]", "[::]:7626", "::", "a b", "a/b", "http://a", "a:x",
		"a:99999", "*"} {
		if CheckHost(bad) == nil {
			t.Errorf("%q is taken as a name", bad)
		}
	}
	e, _ := newEntry(t, "Box.Tail1234.ts.net", "localhost:9000")
	h := e.Wrap(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) }),
		func(string) bool { return false }, "")
	for _, c := range []struct {
		host, origin string
		want         int
	}{
		{"box.tail1234.ts.net", "https://box.tail1234.ts.net", 200},
		{"BOX.tail1234.ts.net", "https://box.tail1234.ts.net", 200},
		{"box.tail1234.ts.net", "http://box.tail1234.ts.net", 403}, // browsers say nothing of themselves there
		{"localhost:9000", "http://localhost:9000", 200},
		{"localhost:7626", "http://localhost:7626", 200},
		{"127.0.0.1:7626", "http://localhost:7626", 403},
		{"other.ts.net", "https://other.ts.net", 421},
	} {
		r := httptest.NewRequest(http.MethodPost, "/api/v1/x", strings.NewReader("{}"))
		r.Host = c.host
		r.Header.Set("Origin", c.origin)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Content-Type", "application/json")
		r.AddCookie(e.cookie(false))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		if w.Code != c.want {
			t.Errorf("%s from %s: %d, not %d", c.host, c.origin, w.Code, c.want)
		}
	}
}

// Guards against a WebSocket that another site opens with the cookie: browsers say of it its Origin alone.
func TestAWebSocketNeedsATicketOfItsBrowser(t *testing.T) {
	e, c := newEntry(t)
	cookie := e.cookie(false)
	browser, _ := e.browser(cookie.Value)
	open := func(origin, site, ticket string) int {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:7626/x", nil)
		r.Header.Set("Upgrade", "websocket")
		r.AddCookie(&http.Cookie{Name: cookie.Name, Value: cookie.Value})
		for name, value := range map[string]string{"Origin": origin, "Sec-Fetch-Site": site,
			"Sec-WebSocket-Protocol": "cco, ticket." + ticket} {
			if value != "" {
				r.Header.Set(name, value)
			}
		}
		if _, no := e.visitor(r, []string{"http://127.0.0.1:7626"}); no != nil {
			return no.Status
		}
		return http.StatusOK
	}
	const ours = "http://127.0.0.1:7626"
	ticket := e.Ticket(browser)
	for _, bad := range [][3]string{{"", "", ticket}, {"http://evil.example", "", ticket}, {ours, "cross-site", ticket},
		{ours, "none", ticket}, {ours, "same-origin", ""}, {ours, "", "x"}, {ours, "", e.Ticket("")},
		{ours, "", e.Ticket("other")}, {ours, "", e.Code()}} {
		if got := open(bad[0], bad[1], bad[2]); got != http.StatusForbidden {
			t.Errorf("%q gives %d", bad, got)
		}
	}
	if open(ours, "", ticket) != http.StatusOK || open(ours, "", ticket) == http.StatusOK {
		t.Error("a ticket is not good for one WebSocket")
	}
	if open(ours, "same-origin", e.Ticket(browser)) != http.StatusOK {
		t.Error("a browser that says the site is refused")
	}
	ticket = e.Ticket(browser)
	c.now = c.now.Add(CodeLife)
	if open(ours, "", ticket) == http.StatusOK {
		t.Error("an old ticket is good")
	}
}
