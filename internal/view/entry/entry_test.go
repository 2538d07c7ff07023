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

// keyed is a key that never changes.
func keyed(last byte) Key {
	return func() ([]byte, context.Context) { return append(make([]byte, 31), last), context.Background() }
}

func newEntry(t *testing.T, hosts ...string) (*Entry, *clock) {
	t.Helper()
	c := &clock{time.Date(2026, 11, 16, 8, 0, 0, 0, time.UTC)}
	e := must.Get(New(keyed(0), netip.MustParseAddrPort("127.0.0.1:7626"), hosts, c.Now))(t)
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
	key, _ := e.key()
	cookie := e.cookie(key, "ann", false)
	if _, ok := e.browser(key, cookie.Value); !ok {
		t.Fatal("its own cookie is refused")
	}
	other := must.Get(New(keyed(1), netip.MustParseAddrPort("127.0.0.1:7626"), nil, c.Now))(t)
	port := must.Get(New(keyed(0), netip.MustParseAddrPort("127.0.0.1:7627"), nil, c.Now))(t)
	for name, x := range map[string]*Entry{"another key": other, "another port": port} {
		if key, _ := x.key(); func() bool { _, ok := x.browser(key, cookie.Value); return ok }() {
			t.Errorf("%s takes it", name)
		}
	}
	parts := strings.Split(cookie.Value, ".")
	for _, forged := range []string{"", ".", "..", parts[0] + ".9999999999." + parts[2], "x" + cookie.Value,
		cookie.Value + ".x"} {
		if _, ok := e.browser(key, forged); ok {
			t.Errorf("%q is taken", forged)
		}
	}
	c.now = c.now.Add(CookieLife)
	if _, ok := e.browser(key, cookie.Value); ok {
		t.Error("it outlives its time")
	}
	if e.cookie(key, "ann", true).Secure != true || cookie.Secure {
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
		func(string) bool { return false })
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
		key, _ := e.key()
		r.AddCookie(e.cookie(key, "ann", false))
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
	key, _ := e.key()
	cookie := e.cookie(key, "ann", false)
	browser, _ := e.browser(key, cookie.Value)
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
		if _, no := e.visitor(r, key, []string{"http://127.0.0.1:7626"}); no != nil {
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

// Guards against another port of this machine that shuts the page with a cookie of its name, and against one that is
// let in by it.
func TestAJunkCookieShutsNobodyOut(t *testing.T) {
	e, _ := newEntry(t)
	key, _ := e.key()
	own := e.cookie(key, "ann", false)
	try := func(header map[string]string, cookies ...string) int {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:7626/x", nil)
		r.Header.Set("Sec-Fetch-Site", "same-origin")
		r.Header.Set("Cookie", strings.Join(cookies, "; "))
		for k, v := range header {
			r.Header.Set(k, v)
		}
		if v, no := e.visitor(r, key, nil); no != nil {
			return no.Status
		} else if v.Browser != "ann" && len(header) == 0 {
			t.Errorf("it is %q", v.Browser)
		}
		return http.StatusOK
	}
	good, junk := own.Name+"="+own.Value, own.Name+"=junk.1.x"
	token := map[string]string{"Authorization": "Bearer " + Token(key)}
	for _, c := range []struct {
		want    int
		header  map[string]string
		cookies []string
	}{{200, nil, []string{junk, good}}, {200, nil, []string{good, junk, "a=b"}}, {401, nil, []string{junk, junk}},
		{200, token, []string{"session=of another port"}}, {400, token, []string{good}}} {
		if got := try(c.header, c.cookies...); got != c.want {
			t.Errorf("%v with %d headers gives %d", c.cookies, len(c.header), got)
		}
	}
}

// Guards against a key that is gone and still lets somebody in, or a stream that outlives it.
func TestNobodyIsLetInWithoutAKey(t *testing.T) {
	e, _ := newEntry(t)
	key, _ := e.key()
	holds, gone := context.WithCancel(t.Context())
	e.key = func() ([]byte, context.Context) { return key, holds }
	ended := make(chan error, 1)
	h := e.Wrap(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		gone()
		<-r.Context().Done()
		ended <- r.Context().Err()
	}), func(string) bool { return false })
	ask := func() int {
		r := httptest.NewRequest(http.MethodGet, "http://127.0.0.1:7626/x", nil)
		r.Header.Set("Authorization", "Bearer "+Token(key))
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		return w.Code
	}
	if ask() != http.StatusOK || <-ended == nil {
		t.Error("a stream outlives the key that it was let in with")
	}
	e.key = func() ([]byte, context.Context) { return nil, holds }
	if got := ask(); got != http.StatusUnauthorized {
		t.Errorf("without a key it is %d", got)
	}
}

// deadline notes when a body must have come.
type deadline struct {
	*httptest.ResponseRecorder
	at time.Time
}

func (d *deadline) SetReadDeadline(t time.Time) error { d.at = t; return nil }

// Guards against a body that comes a byte at a time and never ends, of a request that is refused: nobody reads it.
func TestEveryBodyHasADeadline(t *testing.T) {
	e, _ := newEntry(t)
	h := e.Wrap(http.NotFoundHandler(), func(string) bool { return true })
	for _, target := range []string{"http://127.0.0.1:7626/api/v1/stop", "http://127.0.0.1:7626/", "http://evil.example/",
		"http://127.0.0.1:7626/api/v1/enter"} {
		for _, method := range []string{http.MethodPost, http.MethodGet, http.MethodPut} {
			w := &deadline{ResponseRecorder: httptest.NewRecorder()}
			h.ServeHTTP(w, httptest.NewRequest(method, target, strings.NewReader("{")))
			if w.at.IsZero() {
				t.Errorf("%s %s with a body has none", method, target)
			}
			if w.Header().Get("Content-Security-Policy") == "" {
				t.Errorf("%s %s is answered without headers", method, target)
			}
		}
	}
}
