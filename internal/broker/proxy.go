package broker

import (
	"encoding/base64"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
)

// proxyToken gets the password of Proxy-Authorization: Basic cco:TOKEN.
func proxyToken(h http.Header) (string, bool) {
	scheme, cred, _ := strings.Cut(h.Get("Proxy-Authorization"), " ")
	if !strings.EqualFold(scheme, "Basic") {
		return "", false
	}
	raw, err := base64.StdEncoding.DecodeString(strings.TrimSpace(cred))
	if err != nil {
		return "", false
	}
	user, token, ok := strings.Cut(string(raw), ":")
	return token, ok && user == "cco"
}

// proxy serves CONNECT and requests for http:// URLs.
func (d *Door) proxy(w http.ResponseWriter, r *http.Request) {
	e := Entry{Time: d.cfg.Now(), Session: d.cfg.Session, Method: printable(r.Method, 20), Kind: "http"}
	if r.Method == http.MethodConnect {
		e.Kind = "connect"
	}
	defer func() {
		e.Millis = d.cfg.Now().Sub(e.Time).Milliseconds()
		d.cfg.Record(e)
	}()
	if token, ok := proxyToken(r.Header); !ok || !d.ours(token) {
		e.Host = printable(r.Host, 255)
		w.Header().Set("Proxy-Authenticate", `Basic realm="cco"`)
		d.answerText(w, &e, http.StatusProxyAuthRequired, Refused, "the token of this session is missing or wrong")
		return
	}
	t, err := d.wanted(r)
	if err != nil {
		e.Host = printable(r.RequestURI, 255)
		d.answerText(w, &e, http.StatusBadRequest, Refused, err.Error())
		return
	}
	e.Host, e.Port = t.host.String(), t.port
	if r.Method == http.MethodConnect {
		d.connectTo(w, r, t, &e)
		return
	}
	d.forward(w, r, t, &e)
}

// wanted is where a request wants to go. For CONNECT that is the exact text of the request line: a URL parser would
// undo percent signs.
func (d *Door) wanted(r *http.Request) (target, error) {
	if r.Method == http.MethodConnect {
		return parseTarget(r.RequestURI, 0)
	}
	const scheme = "http://"
	if len(r.RequestURI) < len(scheme) || !strings.EqualFold(r.RequestURI[:len(scheme)], scheme) {
		return target{}, errors.New("the proxy takes http:// URLs, and CONNECT for everything else")
	}
	authority := r.RequestURI[len(scheme):]
	if i := strings.IndexAny(authority, "/?#"); i >= 0 {
		authority = authority[:i]
	}
	return parseTarget(authority, portHTTP)
}

// answerText answers with one plain sentence.
func (d *Door) answerText(w http.ResponseWriter, e *Entry, status int, decision Decision, why string) {
	e.Status, e.Decision = status, decision
	if decision == Refused {
		e.Reason = why
	} else {
		e.Error = why
	}
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.WriteHeader(status)
	_, _ = io.WriteString(w, "cco: "+why+"\n")
}

// failed answers a request whose connection could not be made.
func (d *Door) failed(w http.ResponseWriter, e *Entry, err error) {
	var no *refusal
	var late net.Error
	switch {
	case errors.As(err, &no):
		e.Allow = no.allow
		d.answerText(w, e, http.StatusForbidden, Refused, no.why)
	case errors.As(err, &late) && late.Timeout():
		d.answerText(w, e, http.StatusGatewayTimeout, Failed, printable(err.Error(), 300))
	default:
		d.answerText(w, e, http.StatusBadGateway, Failed, printable(err.Error(), 300))
	}
}
