package view

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/entry"
)

// attacker tries to come in to a server that runs. It has the user's token, to know what must not come back to others.
type attacker struct {
	t      testing.TB
	base   *url.URL
	token  string
	cookie string // of a browser that was let in
	used   string // a code that was used
	ticket string // for one WebSocket of that browser's
	old    string // a ticket of its that was used
	other  string // a ticket of somebody else's
}

// request is one request of somebody.
type request struct {
	method, path, host, body string
	headers                  map[string]string
}

// answer is what came back.
type answer struct {
	status  int
	header  http.Header
	cookies []*http.Cookie
	body    string
	to      string
}

// plain is a client that no proxy and no redirect leads elsewhere.
func plain() *http.Client {
	return &http.Client{Transport: &http.Transport{DisableKeepAlives: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
}

func (a *attacker) send(r request) answer {
	a.t.Helper()
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	req := must.Get(http.NewRequestWithContext(a.t.Context(), method, a.base.String()+r.path,
		strings.NewReader(r.body)))(a.t)
	if r.host != "" {
		req.Host = r.host
	}
	for k, v := range r.headers {
		req.Header.Set(k, v)
	}
	resp, err := plain().Do(req)
	must.Do(a.t, err)
	defer func() { _ = resp.Body.Close() }()
	out := answer{status: resp.StatusCode, header: resp.Header, cookies: resp.Cookies(),
		to: method + " " + r.path + " (Host " + req.Host + ")"}
	if resp.Header.Get("Content-Type") != "text/event-stream" {
		out.body = string(must.Get(io.ReadAll(io.LimitReader(resp.Body, 1<<20)))(a.t))
	}
	return out
}

// from is a request that a browser makes for a page of some origin.
func (a *attacker) from(origin, site string, r request) request {
	h := map[string]string{"Cookie": a.cookie, "Origin": origin, "Sec-Fetch-Site": site,
		"Content-Type": "application/json"}
	for k, v := range h {
		if v == "" {
			delete(h, k)
		}
	}
	for k, v := range r.headers {
		if v == "" {
			delete(h, k)
			continue
		}
		h[k] = v
	}
	r.headers = h
	return r
}

// socket is a WebSocket that a browser opens for a page of some origin.
func (a *attacker) socket(origin, site, ticket string) request {
	h := map[string]string{"Connection": "Upgrade", "Upgrade": "websocket", "Sec-WebSocket-Version": "13",
		"Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ=="}
	if ticket != "" {
		h["Sec-WebSocket-Protocol"] = entry.SocketProtocol + ", ticket." + ticket
	}
	return a.from(origin, site, request{path: api.Prefix + "/sessions/00000000/terminal", headers: h})
}

// origin is our own.
func (a *attacker) origin() string { return a.base.String() }

const (
	harmless = api.Prefix + "/me"
	changing = api.Prefix + "/phases/none/pause" // there is no such phase
)

// attack is one try, and what must come of it.
type attack struct {
	name, what string
	want       []int // statuses of which one must come back
	requests   func(a *attacker) []request
}

// Attacks are all of them. Each request must be answered by one of the wanted statuses.
func attacks() []attack {
	one := func(f func(a *attacker) request) func(a *attacker) []request {
		return func(a *attacker) []request { return []request{f(a)} }
	}
	plain := map[string]string{"Content-Type": "application/json"}
	return []attack{
		{"no-token", "a program of this machine asks without a token", []int{401}, func(*attacker) []request {
			return []request{{path: harmless}, {path: api.Prefix + "/state"}, {path: api.Prefix + "/events"},
				{path: "/assets/app.js"}, {method: "POST", path: changing, body: "{}", headers: plain},
				{path: harmless, headers: map[string]string{"Sec-Fetch-Site": "same-origin"}}}
		}},
		{"wrong-token", "it guesses a token or a cookie", []int{401, 400}, func(a *attacker) []request {
			return []request{
				{path: harmless, headers: map[string]string{"Authorization": "Bearer " + strings.Repeat("A", len(a.token))}},
				{path: harmless, headers: map[string]string{"Authorization": "Bearer "}},
				{path: harmless, headers: map[string]string{"Authorization": "Basic " + a.token}},
				{path: harmless, headers: map[string]string{"Authorization": a.token}},
				a.from("", "same-origin", request{path: harmless,
					headers: map[string]string{"Cookie": a.cookie[:len(a.cookie)-1]}}),
				a.from("", "same-origin", request{path: harmless, headers: map[string]string{
					"Cookie": strings.Replace(a.cookie, "=", "x=", 1)}}),
			}
		}},
		{"rebinding", "a page of a name that leads here asks (DNS rebinding)", []int{421}, func(a *attacker) []request {
			var all []request
			for _, host := range []string{"evil.example", "evil.example:" + a.base.Port(), "0.0.0.0:" + a.base.Port(),
				"[::]:" + a.base.Port(), "127.0.0.2:" + a.base.Port(), "localhost.:" + a.base.Port(), "localhost",
				"127.0.0.1", "127.1:" + a.base.Port(), "localhost.evil.example:" + a.base.Port(), "localhost:1"} {
				all = append(all, request{path: "/", host: host},
					request{path: harmless, host: host, headers: map[string]string{"Authorization": "Bearer " + a.token}},
					a.from("http://"+host, "same-origin", request{path: harmless, host: host}))
			}
			return all
		}},
		{"other-origin", "a page of another site uses the cookie", []int{403}, func(a *attacker) []request {
			var all []request
			for _, o := range []struct{ origin, site string }{
				{"https://evil.example", "cross-site"}, {"null", "cross-site"}, {"http://localhost:1", "same-site"},
				{a.origin() + ".evil.example", "cross-site"}, {"https" + strings.TrimPrefix(a.origin(), "http"), "same-site"},
				{a.origin(), "cross-site"}, {a.origin(), "same-site"}, {a.origin(), "none"}, {a.origin(), ""}, {"", "same-origin"},
				{"", ""}, {"https://evil.example", "same-origin"}, {"", "none"},
			} {
				all = append(all, a.from(o.origin, o.site, request{method: "POST", path: changing, body: "{}"}))
				if o.site != "same-origin" {
					all = append(all, a.from(o.origin, o.site, request{path: harmless}))
				}
			}
			return all
		}},
		{"websocket", "it opens a WebSocket with the cookie", []int{403}, func(a *attacker) []request {
			var all []request
			for _, o := range []struct{ origin, site, ticket string }{{"https://evil.example", "cross-site", a.ticket},
				{"", "same-origin", a.ticket}, {a.origin(), "same-site", a.ticket}, {"http://localhost:1", "same-origin", a.ticket},
				{a.origin(), "", ""}, {a.origin(), "same-origin", ""}, {a.origin(), "", "aaaa-aaaa-aaaa-aaaa"},
				{a.origin(), "", a.old}, {a.origin(), "same-origin", a.other},
				{"https://evil.example", "", a.ticket}, {"", "", a.ticket}} {
				all = append(all, a.socket(o.origin, o.site, o.ticket))
			}
			return all
		}},
		{"cookie-and-token", "a cookie and a token come together", []int{400}, func(a *attacker) []request {
			return []request{
				a.from(a.origin(), "same-origin", request{path: harmless, headers: map[string]string{
					"Authorization": "Bearer " + a.token}}),
				a.from("", "same-origin", request{path: harmless, headers: map[string]string{"Authorization": "Bearer x"}}),
			}
		}},
		{"form", "a form posts something that is not JSON", []int{415}, func(a *attacker) []request {
			var all []request
			for _, kind := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
				"", "text/json", "application/json2"} {
				all = append(all, a.from(a.origin(), "same-origin", request{method: "POST", path: changing, body: "{}",
					headers: map[string]string{"Content-Type": kind}}))
			}
			return all
		}},
		{"method", "other methods", []int{403, 404, 405, 415}, func(a *attacker) []request {
			return []request{a.from(a.origin(), "same-origin", request{method: "PUT", path: changing, body: "{}"}),
				a.from(a.origin(), "same-origin", request{method: "DELETE", path: changing, body: "{}"}),
				a.from("https://evil.example", "cross-site", request{method: "OPTIONS", path: changing,
					headers: map[string]string{"Access-Control-Request-Method": "POST"}})}
		}},
		{"old-code", "a code is used a second time", []int{401, 429}, one(func(a *attacker) request {
			return a.from(a.origin(), "same-origin", request{method: "POST", path: entry.EnterPath,
				body: fmt.Sprintf(`{"code":%q}`, a.used), headers: map[string]string{"Cookie": ""}})
		})},
		{"code-from-elsewhere", "another site gives a code", []int{403}, func(a *attacker) []request {
			return []request{a.from("https://evil.example", "cross-site", request{method: "POST", path: entry.EnterPath,
				body: `{"code":"x"}`, headers: map[string]string{"Cookie": ""}}),
				a.from("", "same-origin", request{method: "POST", path: entry.EnterPath, body: `{"code":"x"}`,
					headers: map[string]string{"Cookie": ""}})}
		}},
		{"way-up", "an address leads out of the files of the page", []int{401, 404, 400, 301, 307},
			func(*attacker) []request {
				return []request{{path: "/assets/../../etc/passwd"}, {path: "/assets/%2e%2e/%2e%2e/etc/passwd"},
					{path: "/assets/vendor/"}, {path: "/api/v1/../../assets/app.js"}}
			}},
	}
}

// attackOn comes in to a page as an honest browser does: without it, a server that refuses everything would seem safe.
func attackOn(t testing.TB, data, address string) *attacker {
	t.Helper()
	a := &attacker{t: t, base: must.Get(url.Parse(address))(t), token: tokenOf(t, data)}
	_, code, err := Code(t.Context(), data)
	must.Do(t, err)
	a.used = code
	resp := a.send(a.from(a.origin(), "same-origin", request{method: "POST", path: entry.EnterPath,
		body: fmt.Sprintf(`{"code":%q}`, code)}))
	if resp.status != http.StatusNoContent || len(resp.cookies) != 1 {
		t.Fatalf("a fresh code is refused: %d %s", resp.status, resp.body)
	}
	c := resp.cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || !strings.HasSuffix(c.Name, a.base.Port()) {
		t.Fatalf("the cookie is not kept from scripts and other sites: %s", c)
	}
	a.cookie = c.Name + "=" + c.Value
	ask := request{method: "POST", path: api.Prefix + "/tickets", body: "{}"}
	program := ask
	program.headers = map[string]string{"Authorization": "Bearer " + a.token, "Content-Type": "application/json"}
	for to, r := range map[*string]request{&a.ticket: a.from(a.origin(), "same-origin", ask),
		&a.old: a.from(a.origin(), "same-origin", ask), &a.other: program} {
		var got api.Ticket
		if resp := a.send(r); json.Unmarshal([]byte(resp.body), &got) != nil || got.Ticket == "" {
			t.Fatalf("an honest page gets no ticket: %d %s", resp.status, resp.body)
		}
		*to = got.Ticket
	}
	// There is no such session, but one who is let in is told so.
	for _, ok := range []request{a.from("", "same-origin", request{path: harmless}), a.socket(a.origin(), "", a.old),
		{path: harmless, headers: map[string]string{"Authorization": "Bearer " + a.token}}} {
		if resp := a.send(ok); resp.status == http.StatusForbidden || resp.status == http.StatusUnauthorized {
			t.Fatalf("an honest request is refused: %d %s", resp.status, resp.body)
		}
	}
	return a
}

// tokenOf is what programs say.
func tokenOf(t testing.TB, data string) string {
	t.Helper()
	return strings.TrimSpace(string(must.Get(os.ReadFile(filepath.Join(data, "view", "token")))(t)))
}

// try makes one request, and says what is wrong with the answer.
func (a *attacker) try(at attack, r request) string {
	resp := a.send(r)
	what := fmt.Sprintf("%s from %q is answered with %d", resp.to, r.headers["Origin"], resp.status)
	held := false
	for _, s := range at.want {
		held = held || s == resp.status
	}
	switch {
	case !held:
		return what
	case strings.Contains(resp.body, a.token) || strings.Contains(resp.body, a.cookie[strings.Index(a.cookie, "=")+1:]):
		return what + " and a secret"
	}
	for name := range resp.header {
		if strings.HasPrefix(name, "Access-Control-") {
			return what + " and " + name
		}
	}
	if resp.header.Get("Set-Cookie") != "" {
		return what + " and a cookie"
	}
	return ""
}

// headers says what an answer lacks that keeps other pages and scripts out.
func (a *attacker) headers() (wrong []string) {
	for _, req := range []request{{path: "/"}, {path: harmless}, {path: "/assets/icon.svg"},
		{path: "/", host: "evil.example"},
		a.from("", "same-origin", request{path: harmless}), a.from("", "same-origin", request{path: "/assets/app.js"}),
		{path: "/", headers: map[string]string{"Expect": "nothing"}}, {path: "/", host: "a b"}} {
		resp := a.send(req)
		csp := resp.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
			"script-src 'self'", "style-src 'self' 'nonce-"} {
			if !strings.Contains(csp, want) {
				wrong = append(wrong, fmt.Sprintf("%s gives %d and lacks %s", resp.to, resp.status, want))
			}
		}
		if strings.Contains(csp, "unsafe") || strings.Contains(resp.body, a.token) {
			wrong = append(wrong, resp.to+" allows something unsafe, or has the token in it")
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := resp.header.Get(name); got != want {
				wrong = append(wrong, fmt.Sprintf("%s has %s: %q", resp.to, name, got))
			}
		}
	}
	return wrong
}
