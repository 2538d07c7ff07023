// Package entry decides who may come in to the page that `cco view` shows: it knows addresses, origins, cookies, tokens
// and codes, and nothing of what is behind it. Everything that is not let in is refused before anything is read.
package entry

import (
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"time"
)

// CookieLife is how long a browser stays let in.
const CookieLife = 7 * 24 * time.Hour

// Key is the secret that cookies and the token are made of, as it is now, and how long it holds: those who came in with
// it are sent away with it. Nobody is let in without one.
type Key func() (key []byte, while context.Context)

// Entry lets requests in to one listener.
type Entry struct {
	Came func(Visitor) // is told who came in with a code

	key   Key
	port  string
	hosts map[string][]string // the names that are ours, with the origins that pages of them have
	now   func() time.Time
	codes *codes
	// tickets open WebSockets: each is for the browser that asked for it, in a request that said where it is from.
	tickets *codes
}

// New is the entry of a listener. Its key outlives it, so that pages come back after a restart. More are further names,
// of tunnels that the user made.
func New(key Key, listener netip.AddrPort, more []string, now func() time.Time) (*Entry, error) {
	e := &Entry{Came: func(Visitor) {}, key: key, port: strconv.Itoa(int(listener.Port())), now: now, codes: newCodes(now),
		tickets: newCodes(now), hosts: map[string][]string{}}
	e.tickets.delay = 0 // who asks has a cookie already
	for _, name := range []string{listener.Addr().String(), "localhost"} {
		if strings.Contains(name, ":") {
			name = "[" + name + "]"
		}
		host := name + ":" + e.port
		e.hosts[host] = []string{"http://" + host}
	}
	for _, host := range more {
		if err := CheckHost(host); err != nil {
			return nil, err
		}
		host = strings.ToLower(host)
		e.hosts[host] = []string{"https://" + host}
		if loopback(host) { // browsers trust these without TLS
			e.hosts[host] = append(e.hosts[host], "http://"+host)
		}
	}
	return e, nil
}

// CheckHost refuses what can't be a Host value of ours.
func CheckHost(host string) error {
	name := strings.ToLower(host)
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, ']') {
		if _, err := strconv.ParseUint(name[at+1:], 10, 16); err != nil {
			return fmt.Errorf("%q: the port is no number", host)
		}
		name = name[:at]
	}
	if name == "" || strings.Trim(name, "abcdefghijklmnopqrstuvwxyz0123456789.-[:]") != "" {
		return fmt.Errorf("%q is no Host value: a name, and a port if it is not the usual one", host)
	}
	if a, err := netip.ParseAddr(strings.Trim(name, "[]")); err == nil && a.Unmap().IsUnspecified() {
		return fmt.Errorf("%q stands for all addresses, and is the name of none", host)
	}
	return nil
}

func loopback(host string) bool {
	name := host
	if at := strings.LastIndexByte(name, ':'); at > strings.LastIndexByte(name, ']') {
		name = name[:at]
	}
	a, err := netip.ParseAddr(strings.Trim(name, "[]"))
	return name == "localhost" || err == nil && a.IsLoopback()
}

// Token is what programs say instead of a cookie.
func Token(key []byte) string { return base64.RawURLEncoding.EncodeToString(sum(key, "token")) }

func sum(key []byte, parts ...string) []byte {
	h := hmac.New(sha256.New, key)
	for _, p := range parts {
		_, _ = fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return h.Sum(nil)
}

// CookieName is the name of the cookie: browsers send cookies to every port, so each port has its own.
func (e *Entry) CookieName() string { return "cco-view-" + e.port }

// cookie makes the cookie of a browser that has shown a code.
func (e *Entry) cookie(key []byte, browser string, secure bool) *http.Cookie {
	until := strconv.FormatInt(e.now().Add(CookieLife).Unix(), 10)
	seal := base64.RawURLEncoding.EncodeToString(sum(key, "cookie", e.port, browser, until))
	return &http.Cookie{Name: e.CookieName(), Value: browser + "." + until + "." + seal, Path: "/", HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: secure, MaxAge: int(CookieLife / time.Second)}
}

// newBrowser names one in the log.
func newBrowser() string {
	id := make([]byte, 4)
	_, _ = rand.Read(id) // never fails
	return hex.EncodeToString(id)
}

// browser checks a cookie, and names the browser that it was given to.
func (e *Entry) browser(key []byte, value string) (string, bool) {
	parts := strings.Split(value, ".")
	if len(parts) != 3 {
		return "", false
	}
	seal, err := base64.RawURLEncoding.DecodeString(parts[2])
	if err != nil || subtle.ConstantTimeCompare(seal, sum(key, "cookie", e.port, parts[0], parts[1])) != 1 {
		return "", false
	}
	until, err := strconv.ParseInt(parts[1], 10, 64)
	return parts[0], err == nil && e.now().Unix() < until
}

// Code makes a code that lets one browser in, once and soon.
func (e *Entry) Code() string { return e.codes.make("") }

// Ticket makes what one WebSocket of a browser is opened with, once and soon.
func (e *Entry) Ticket(browser string) string { return e.tickets.make(browser) }

// Forget makes all codes and tickets useless.
func (e *Entry) Forget() {
	e.codes.forget()
	e.tickets.forget()
}
