package view

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/view/api"
	"github.com/cco-dev/cco/internal/view/entry"
)

// Result is the outcome of one attack on the page.
type Result struct {
	Attack  string `json:"attack"`
	What    string `json:"what"`
	Held    bool   `json:"held"`
	Detail  string `json:"detail,omitempty"`  // what came back
	Untried string `json:"untried,omitempty"` // why it can't be tried here
}

// attacker tries to come in to a server that runs. It has the user's token, to know what must not come back to others.
type attacker struct {
	ctx    context.Context
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

func (a *attacker) send(r request) (answer, error) {
	method := r.method
	if method == "" {
		method = http.MethodGet
	}
	req, err := http.NewRequestWithContext(a.ctx, method, a.base.String()+r.path, strings.NewReader(r.body))
	if err != nil {
		return answer{}, err
	}
	if r.host != "" {
		req.Host = r.host
	}
	for k, v := range r.headers {
		req.Header.Set(k, v)
	}
	resp, err := plain().Do(req)
	if err != nil {
		return answer{}, err
	}
	defer func() { _ = resp.Body.Close() }()
	out := answer{status: resp.StatusCode, header: resp.Header, cookies: resp.Cookies(),
		to: method + " " + r.path + " (Host " + req.Host + ")"}
	if resp.Header.Get("Content-Type") == "text/event-stream" {
		return out, nil
	}
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<20))
	out.body = string(body)
	return out, err
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
				{path: harmless, headers: map[string]string{"Authorization": "Bearer " + a.token, "Cookie": "other=1"}},
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
		{"browser-makes-codes", "a page makes codes for others", []int{403}, one(func(a *attacker) request {
			return a.from(a.origin(), "same-origin", request{method: "POST", path: api.Prefix + "/codes", body: "{}"})
		})},
		{"way-up", "an address leads out of the files of the page", []int{401, 404, 400, 301, 307},
			func(*attacker) []request {
				return []request{{path: "/assets/../../etc/passwd"}, {path: "/assets/%2e%2e/%2e%2e/etc/passwd"},
					{path: "/assets/vendor/"}, {path: "/api/v1/../../assets/app.js"}}
			}},
	}
}

// Attack tries to come in to the page that is being served, and shows what held.
func Attack(ctx context.Context, cco *app.App) ([]Result, error) {
	data := cco.Dirs.Data
	f, token, err := Running(data)
	if err != nil {
		return nil, err
	}
	base, err := url.Parse(f.Address)
	if err != nil {
		return nil, err
	}
	a := &attacker{ctx: ctx, base: base, token: token}
	if err := a.comeIn(data); err != nil {
		return nil, err
	}
	var results []Result
	for _, at := range attacks() {
		r := Result{Attack: at.name, What: at.what, Held: true}
		for _, req := range at.requests(a) {
			if why := a.try(at, req); why != "" {
				r.Held, r.Detail = false, why
				break
			}
		}
		results = append(results, r)
	}
	return append(results, a.headers(), a.byDoor(cco), a.otherUser()), nil
}

// comeIn is what an honest browser does: without it, a server that refuses everything would seem safe.
func (a *attacker) comeIn(data string) error {
	_, code, err := Code(a.ctx, data)
	if err != nil {
		return err
	}
	a.used = code
	resp, err := a.send(a.from(a.origin(), "same-origin", request{method: "POST", path: entry.EnterPath,
		body: fmt.Sprintf(`{"code":%q}`, code)}))
	if err != nil {
		return err
	}
	cookies := resp.cookies
	if resp.status != http.StatusNoContent || len(cookies) != 1 {
		return fmt.Errorf("a fresh code is refused: %d %s", resp.status, resp.body)
	}
	c := cookies[0]
	if !c.HttpOnly || c.SameSite != http.SameSiteStrictMode || !strings.HasSuffix(c.Name, a.base.Port()) {
		return fmt.Errorf("the cookie is not kept from scripts and other sites: %s", c)
	}
	a.cookie = c.Name + "=" + c.Value
	for _, ok := range []request{
		a.from("", "same-origin", request{path: harmless}),
		{path: harmless, headers: map[string]string{"Authorization": "Bearer " + a.token}},
	} {
		resp, err := a.send(ok)
		if err != nil {
			return err
		}
		if resp.status != http.StatusOK {
			return fmt.Errorf("an honest request is refused: %d %s", resp.status, resp.body)
		}
	}
	return a.openSocket()
}

// openSocket opens a WebSocket as an honest page does, and keeps tickets that must not open another.
func (a *attacker) openSocket() error {
	ask := request{method: "POST", path: api.Prefix + "/tickets", body: "{}"}
	program := ask
	program.headers = map[string]string{"Authorization": "Bearer " + a.token, "Content-Type": "application/json"}
	for to, r := range map[*string]request{&a.ticket: a.from(a.origin(), "same-origin", ask),
		&a.old: a.from(a.origin(), "same-origin", ask), &a.other: program} {
		resp, err := a.send(r)
		if err != nil {
			return err
		}
		var t api.Ticket
		if json.Unmarshal([]byte(resp.body), &t) != nil || t.Ticket == "" {
			return fmt.Errorf("an honest page gets no ticket: %d %s", resp.status, resp.body)
		}
		*to = t.Ticket
	}
	resp, err := a.send(a.socket(a.origin(), "", a.old))
	if err != nil {
		return err
	}
	if resp.status == http.StatusForbidden || resp.status == http.StatusUnauthorized { // there is no such session
		return fmt.Errorf("an honest WebSocket is refused: %d %s", resp.status, resp.body)
	}
	return nil
}

// try makes one request, and says what is wrong with the answer.
func (a *attacker) try(at attack, r request) string {
	resp, err := a.send(r)
	if err != nil {
		return err.Error()
	}
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

// headers looks at what every answer must say to browsers.
func (a *attacker) headers() Result {
	r := Result{Attack: "headers", What: "answers lack what keeps other pages and scripts out", Held: true}
	for _, req := range []request{{path: "/"}, {path: harmless}, {path: "/assets/icon.svg"},
		a.from("", "same-origin", request{path: harmless}), a.from("", "same-origin", request{path: "/assets/app.js"})} {
		resp, err := a.send(req)
		if err != nil {
			r.Held, r.Detail = false, err.Error()
			return r
		}
		csp := resp.header.Get("Content-Security-Policy")
		for _, want := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'", "form-action 'none'",
			"script-src 'self'", "style-src 'self' 'nonce-"} {
			if !strings.Contains(csp, want) {
				r.Held, r.Detail = false, req.path+" lacks "+want
			}
		}
		if strings.Contains(csp, "unsafe") {
			r.Held, r.Detail = false, req.path+" allows something unsafe"
		}
		for name, want := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer",
			"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin"} {
			if got := resp.header.Get(name); got != want {
				r.Held, r.Detail = false, fmt.Sprintf("%s has %s: %q", req.path, name, got)
			}
		}
		if strings.Contains(resp.body, a.token) {
			r.Held, r.Detail = false, req.path+" has the token in it"
		}
	}
	return r
}
