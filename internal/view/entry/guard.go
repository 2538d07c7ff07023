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

func (r *Refusal) Error() string { return r.Why }

// EnterPath is where a code becomes a cookie.
const EnterPath = "/api/v1/enter"

// maxCode bounds what is read before somebody is let in, and codeRead how long that may take.
const (
	maxCode  = 1 << 10
	codeRead = 10 * time.Second
)

// Wrap puts the entry before a handler. Public says which addresses are shown to everybody who can name us: the page on
// which a code is given, and nothing that anybody's work is in. ScriptHash is that of the one script inside it.
func (e *Entry) Wrap(inside http.Handler, public func(path string) bool, scriptHash string) http.Handler {
	cross := http.NewCrossOriginProtection()
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		origins, ours := e.hosts[strings.ToLower(r.Host)]
		if !ours {
			refuse(w, &Refusal{http.StatusMisdirectedRequest, "this is no name of ours"})
			return
		}
		nonce := newNonce()
		headers(w.Header(), nonce, scriptHash)
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
		v, no := e.visitor(r, origins)
		if no != nil {
			refuse(w, no)
			return
		}
		inside.ServeHTTP(w, r.WithContext(context.WithValue(ctx, visitorKey, v)))
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

// headers are those of every answer.
func headers(h http.Header, nonce, scriptHash string) {
	script := "'self'"
	if scriptHash != "" {
		script += " '" + scriptHash + "'"
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

// visitor says who makes a request, or why it is refused.
func (e *Entry) visitor(r *http.Request, origins []string) (Visitor, *Refusal) {
	v := Visitor{Agent: r.UserAgent()}
	cookies := r.CookiesNamed(e.CookieName())
	said := r.Header.Values("Authorization")
	switch {
	case len(r.Header.Values("Cookie")) > 0 && len(said) > 0, len(cookies) > 1, len(said) > 1:
		return v, &Refusal{http.StatusBadRequest, "come with a cookie or with a token, not with both"}
	case len(said) == 1:
		token, bearer := strings.CutPrefix(said[0], "Bearer ")
		if !bearer || subtle.ConstantTimeCompare([]byte(token), []byte(e.Token())) != 1 {
			return v, &Refusal{http.StatusUnauthorized, "this is not the token"}
		}
		return v, nil
	case len(cookies) == 1:
		name, ok := e.browser(cookies[0].Value)
		if !ok {
			return v, &Refusal{http.StatusUnauthorized, "come in with a code"}
		}
		v.Browser = name
		if r.Header.Get("Upgrade") != "" {
			return v, e.ownSocket(r, origins, name)
		}
		return v, ownPage(r, origins)
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
	ctl := http.NewResponseController(w)
	_ = ctl.SetReadDeadline(time.Now().Add(codeRead))
	defer func() { _ = ctl.SetReadDeadline(time.Time{}) }()
	dec := json.NewDecoder(http.MaxBytesReader(w, r.Body, maxCode))
	dec.DisallowUnknownFields()
	if err := dec.Decode(&in); err != nil || !errors.Is(dec.Decode(new(any)), io.EOF) {
		refuse(w, &Refusal{http.StatusBadRequest, "this is not {\"code\": \"…\"}"})
		return
	}
	right, busy := e.codes.use(r.Context(), "", in.Code)
	switch {
	case busy:
		refuse(w, &Refusal{http.StatusTooManyRequests, "too many wrong codes"})
		return
	case !right:
		refuse(w, &Refusal{http.StatusUnauthorized, "the code is wrong, was used or is older than a minute"})
		return
	}
	http.SetCookie(w, e.cookie(strings.HasPrefix(r.Header.Get("Origin"), "https://")))
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(http.StatusNoContent)
}
