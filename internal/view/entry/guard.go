package entry

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/base64"
	"encoding/json"
	"errors"
	"io"
	"mime"
	"net/http"
	"slices"
	"strings"
	"time"
)

// Visitor is who makes a request.
type Visitor struct {
	Browser string // the name that it was given with its cookie; "" is a program with the token
	Agent   string // what it calls itself, which nobody has checked
}

type contextKey int

const (
	visitorKey contextKey = iota
	nonceKey
)

// From is the visitor of a request that was let in.
func From(ctx context.Context) Visitor {
	v, _ := ctx.Value(visitorKey).(Visitor)
	return v
}

// LetIn says whether the visitor of a request was let in: what everybody is shown is for others too.
func LetIn(ctx context.Context) bool {
	_, in := ctx.Value(visitorKey).(Visitor)
	return in
}

// Nonce is what styles of this answer must carry.
func Nonce(ctx context.Context) string {
	n, _ := ctx.Value(nonceKey).(string)
	return n
}

// Refusal is the answer to a request that is not let in.
type Refusal struct {
	Status int
	Why    string
}

// EnterPath is where a code becomes a cookie.
const EnterPath = "/api/v1/enter"

// maxCode bounds what is read before somebody is let in, and bodyRead how long a body of anybody's may take.
const (
	maxCode  = 1 << 10
	bodyRead = 30 * time.Second
)

// Wrap puts the entry before a handler. Public says which addresses are shown to everybody who can name us: the page on
// which a code is given, and nothing that anybody's work is in. Scripts are the hashes of those inside it.
func (e *Entry) Wrap(inside http.Handler, public func(path string) bool, scripts ...string) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.ContentLength != 0 { // also of one that is refused, and whose body nobody wants
			_ = http.NewResponseController(w).SetReadDeadline(time.Now().Add(bodyRead))
		}
		nonce := newNonce()
		headers(w.Header(), nonce, scripts...)
		origins, ours := e.hosts[strings.ToLower(r.Host)]
		if !ours {
			refuse(w, &Refusal{http.StatusMisdirectedRequest, "this is no name of ours"})
			return
		}
		if err := cross.Check(r); err != nil {
			refuse(w, &Refusal{http.StatusForbidden, "a request of another site"})
			return
		}
		ctx := context.WithValue(r.Context(), nonceKey, nonce)
		if no := bodyKind(r); no != nil {
			refuse(w, no)
			return
		}
		switch {
		case r.URL.Path == EnterPath:
			e.enter(w, r, origins)
			return
		case public(r.URL.Path) && (r.Method == http.MethodGet || r.Method == http.MethodHead):
			inside.ServeHTTP(w, r.WithContext(ctx))
			return
		}
		key, while := e.key()
		v, no := e.visitor(r, key, origins)
		if no != nil {
			refuse(w, no)
			return
		}
		ctx, leave := context.WithCancel(context.WithValue(ctx, visitorKey, v))
		defer leave()
		defer context.AfterFunc(while, leave)()
		inside.ServeHTTP(w, r.WithContext(ctx))
	})
}

func refuse(w http.ResponseWriter, no *Refusal) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(no.Status)
	_ = json.NewEncoder(w).Encode(map[string]string{"error": no.Why})
}

func newNonce() string {
	b := make([]byte, 16)
	_, _ = rand.Read(b) // never fails
	return base64.RawStdEncoding.EncodeToString(b)
}

// Headers are those of every answer.
func Headers() http.Header {
	h := http.Header{}
	headers(h, newNonce())
	return h
}

func headers(h http.Header, nonce string, scripts ...string) {
	script := "'self'"
	for _, hash := range scripts {
		script += " '" + hash + "'"
	}
	h.Set("Content-Security-Policy", strings.Join([]string{
		"default-src 'none'", "script-src " + script, "style-src 'self' 'nonce-" + nonce + "'", "connect-src 'self'",
		"img-src 'self'", "font-src 'none'", "base-uri 'none'", "form-action 'none'", "frame-ancestors 'none'",
	}, "; "))
	h.Set("X-Content-Type-Options", "nosniff")
	h.Set("X-Frame-Options", "DENY")
	h.Set("Referrer-Policy", "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set("Permissions-Policy", "camera=(), geolocation=(), microphone=(), payment=(), usb=()")
}

// bodyKind refuses bodies that a form of another site could send.
func bodyKind(r *http.Request) *Refusal {
	if r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" {
		return &Refusal{http.StatusUnsupportedMediaType, "a body is application/json"}
	}
	return nil
}

// visitor says who makes a request, or why it is refused. Other ports of this machine can set cookies of our name:
// those that are not ours are no reason to refuse one that is.
func (e *Entry) visitor(r *http.Request, key []byte, origins []string) (Visitor, *Refusal) {
	v := Visitor{Agent: r.UserAgent()}
	cookies := r.CookiesNamed(e.CookieName())
	said := r.Header.Values("Authorization")
	switch {
	case key == nil:
		return v, &Refusal{http.StatusUnauthorized, "the key can't be read: `cco view forget` makes another"}
	case len(cookies) > 0 && len(said) > 0, len(said) > 1:
		return v, &Refusal{http.StatusBadRequest, "come with a cookie or with a token, not with both"}
	case len(said) == 1:
		token, bearer := strings.CutPrefix(said[0], "Bearer ")
		if !bearer || subtle.ConstantTimeCompare([]byte(token), []byte(Token(key))) != 1 {
			return v, &Refusal{http.StatusUnauthorized, "this is not the token"}
		}
		return v, nil
	}
	for _, c := range cookies {
		if name, ok := e.browser(key, c.Value); ok {
			v.Browser = name
			if r.Header.Get("Upgrade") != "" {
				return v, e.ownSocket(r, origins, name)
			}
			return v, ownPage(r, origins)
		}
	}
	return v, &Refusal{http.StatusUnauthorized, "come in with a code"}
}

// ownPage makes sure that a request of a browser is made by our own page. Browsers add no Origin where a page of the
// same origin only reads.
func ownPage(r *http.Request, origins []string) *Refusal {
	reads := r.Method == http.MethodGet || r.Method == http.MethodHead
	if no := ownOrigin(r, origins); no != nil && (!reads || len(r.Header.Values("Origin")) > 0) {
		return no
	}
	return ownSite(r)
}

// SocketProtocol is what our WebSockets speak, and ticketPrefix is before the ticket that one offers beside it.
const (
	SocketProtocol = "cco"
	ticketPrefix   = "ticket."
)

// ownSocket makes sure that a WebSocket is opened by our own page. Chromium says its Origin alone, so it brings a
// ticket too, which only a request with both was given.
func (e *Entry) ownSocket(r *http.Request, origins []string, browser string) *Refusal {
	if no := ownOrigin(r, origins); no != nil {
		return no
	}
	if len(r.Header.Values("Sec-Fetch-Site")) > 0 {
		if no := ownSite(r); no != nil {
			return no
		}
	}
	for offer := range strings.SplitSeq(r.Header.Get("Sec-WebSocket-Protocol"), ",") {
		if text, ok := strings.CutPrefix(strings.TrimSpace(offer), ticketPrefix); ok {
			if right, _ := e.tickets.use(r.Context(), browser, text); right {
				return nil
			}
			break
		}
	}
	return &Refusal{http.StatusForbidden, "a WebSocket without a ticket of this browser's"}
}

func ownOrigin(r *http.Request, origins []string) *Refusal {
	if origin := r.Header.Values("Origin"); len(origin) != 1 || !slices.Contains(origins, origin[0]) {
		return &Refusal{http.StatusForbidden, "a request of another origin"}
	}
	return nil
}

func ownSite(r *http.Request) *Refusal {
	if site := r.Header.Values("Sec-Fetch-Site"); len(site) != 1 || site[0] != "same-origin" {
		return &Refusal{http.StatusForbidden, "a request of another site"}
	}
	return nil
}

// enter makes a cookie of a code.
func (e *Entry) enter(w http.ResponseWriter, r *http.Request, origins []string) {
	if r.Method != http.MethodPost {
		refuse(w, &Refusal{http.StatusMethodNotAllowed, "a code is posted"})
		return
	}
	if len(r.Header.Values("Authorization")) > 0 {
		refuse(w, &Refusal{http.StatusBadRequest, "come with a code or with a token, not with both"})
		return
	}
	if no := ownPage(r, origins); no != nil {
		refuse(w, no)
		return
	}
	var in struct {
		Code string `json:"code"`
	}
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCode))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || !errors.Is(dec.Decode(new(any)), io.EOF) {
		refuse(w, &Refusal{http.StatusBadRequest, "this is not {\"code\": \"…\"}"})
		return
	}
	key, _ := e.key() // first: codes are forgotten with it
	right, busy := e.codes.use(r.Context(), "", in.Code)
	switch {
	case busy:
		refuse(w, &Refusal{http.StatusTooManyRequests, "too many wrong codes"})
		return
	case !right || key == nil:
		refuse(w, &Refusal{http.StatusUnauthorized, "the code is wrong, was used or is older than a minute"})
		return
	}
	v := Visitor{Browser: newBrowser(), Agent: r.UserAgent()}
	e.Came(v)
	http.SetCookie(w, e.cookie(key, v.Browser, strings.HasPrefix(r.Header.Get("Origin"), "https://")))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}
