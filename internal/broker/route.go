package broker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strconv"
	"strings"
)

// route is the way to one model.
type route struct {
	door      *Door
	up        Upstream
	base      *url.URL
	host      string // for the record
	port      int
	transport *http.Transport
}

func (d *Door) newRoute(u Upstream) (*route, error) {
	if u.Provider.wire == 0 {
		return nil, errors.New("it is none of broker.Providers")
	}
	base := u.Base
	if base == nil {
		var err error
		if base, err = url.Parse(u.Provider.Base); err != nil {
			return nil, err
		}
	}
	rt := &route{door: d, up: u, base: base, host: base.Hostname()}
	switch base.Scheme {
	case "https":
		rt.port = portTLS
	case "http":
		rt.port = portHTTP
	}
	if rt.port == 0 || rt.host == "" || base.User != nil {
		return nil, errors.New("the base URL is not an http or https URL without a password")
	}
	if p := base.Port(); p != "" {
		var err error
		if rt.port, err = parsePort(p); err != nil {
			return nil, err
		}
	}
	rt.transport = &http.Transport{
		Proxy: d.cfg.Proxy, DialContext: d.cfg.Dialer.DialContext, ForceAttemptHTTP2: true, DisableCompression: true,
		TLSHandshakeTimeout: d.cfg.Timeouts.Dial, ResponseHeaderTimeout: d.cfg.Timeouts.Response,
		MaxResponseHeaderBytes: 256 << 10, MaxIdleConnsPerHost: maxModelCalls, IdleConnTimeout: d.cfg.Timeouts.Idle,
		ReadBufferSize: 16 << 10, WriteBufferSize: 16 << 10,
	}
	return rt, nil
}

// modelToken looks for the token wherever a CLI puts its key.
func (d *Door) modelToken(r *http.Request) bool {
	bearer := ""
	if scheme, cred, _ := strings.Cut(r.Header.Get("Authorization"), " "); strings.EqualFold(scheme, "Bearer") {
		bearer = strings.TrimSpace(cred)
	}
	for _, t := range []string{r.Header.Get("X-Api-Key"), bearer, r.Header.Get("X-Goog-Api-Key"),
		r.URL.Query().Get("key")} {
		if t != "" && d.ours(t) {
			return true
		}
	}
	return false
}

// model serves the routes to models.
func (d *Door) model(w http.ResponseWriter, r *http.Request) {
	d.asking.Add(1)
	defer d.asking.Add(-1)
	name, rest, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	provider, err := FindProvider(name)
	x := &exchange{rt: &route{door: d, up: Upstream{Provider: provider}}, entry: Entry{
		Time: d.cfg.Now(), Session: d.cfg.Session, Kind: KindModel, Method: printable(r.Method, 20),
		Path: printable(r.URL.Path, 200),
	}}
	defer x.record()
	if !d.modelToken(r) {
		x.answerError(w, http.StatusForbidden, Refused, "the token of this session is missing or wrong")
		return
	}
	rt := d.routes[name]
	if err != nil || rt == nil {
		x.answerError(w, http.StatusNotFound, Refused, "this session has no model at that address")
		return
	}
	x.rt, x.entry.Host, x.entry.Port = rt, rt.host, rt.port
	if x.call, err = rt.up.Provider.find(r.Method, rest); err != nil {
		x.answerError(w, http.StatusNotFound, Refused, err.Error())
		return
	}
	if r.Header.Get("Upgrade") != "" {
		// codex then uses plain requests instead.
		x.answerError(w, http.StatusUpgradeRequired, Refused, "the door speaks plain HTTP requests only")
		return
	}
	if enc := r.Header.Get("Content-Encoding"); enc != "" && enc != "identity" {
		x.answerError(w, http.StatusUnsupportedMediaType, Refused, "the door reads no packed requests")
		return
	}
	x.pass(w, r)
}

// pass waits for a place, asks whether the session may still spend, and forwards.
func (x *exchange) pass(w http.ResponseWriter, r *http.Request) {
	d := x.rt.door
	select {
	case d.calls <- struct{}{}:
		defer func() { <-d.calls }()
	case <-r.Context().Done():
		x.entry.Decision, x.entry.Error = Failed, ClientGone
		return
	}
	if x.entry.Billed = x.call.billed; x.entry.Billed {
		if words := d.limited(); words != "" {
			x.answerError(w, x.rt.up.Provider.final(), Limited, words)
			return
		}
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	x.begin(ctx, w, r, cancel)
	defer x.finish()
	proxy := httputil.ReverseProxy{
		FlushInterval: -1, Transport: x, BufferPool: &d.buffers, ErrorLog: d.server.ErrorLog,
		Rewrite: x.rewrite, ModifyResponse: x.answer, ErrorHandler: x.fail,
	}
	proxy.ServeHTTP(w, r.WithContext(ctx))
}

func (d *Door) used() string {
	s := d.Spent()
	text := strconv.FormatInt(s.Tokens(), 10) + " tokens used"
	if l := d.cfg.Limits; l.Tokens > 0 {
		text += " of " + strconv.FormatInt(l.Tokens, 10)
	}
	if l := d.cfg.Limits; l.Cost > 0 {
		text += fmt.Sprintf(", $%.2f of $%.2f", s.Cost, l.Cost)
		if s.Guesses() > 0 {
			text += " by an estimate"
		}
	}
	return text
}
