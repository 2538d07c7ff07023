// Package wire is the way to a forge over HTTP: it authorises, asks only for changes, obeys limits, repeats failed
// reads but never a write, and turns every refusal into an error that says what to do.
package wire

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// maxAnswer bounds an answer: the largest is the diff of a very large request.
const maxAnswer = 64 << 20

// reads is how often a read is tried, and limited how often a request is repeated after a limit refused it.
const (
	reads   = 5
	limited = 4
)

// Clock provides time and randomness, so that tests need not wait.
type Clock struct {
	Now    func() time.Time
	Sleep  func(context.Context, time.Duration) error
	Chance func() float64 // from 0 up to 1
}

// Backoff is how long to wait before try n (from 0) of something that failed: it doubles, with random jitter, so that
// many that failed together don't retry together.
func (c Clock) Backoff(n int) time.Duration {
	most := min(500*time.Millisecond<<min(n, 10), 30*time.Second)
	return most/2 + time.Duration(c.Chance()*float64(most/2))
}

// Real is the real clock and real randomness.
func Real(chance func() float64) Clock {
	return Clock{Now: time.Now, Chance: chance, Sleep: func(ctx context.Context, d time.Duration) error {
		t := time.NewTimer(d)
		defer t.Stop()
		select {
		case <-t.C:
			return nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}}
}

// Transport is the round tripper of one identity on one forge.
type Transport struct {
	Host      string            // the one host that the token may be sent to
	Base      http.RoundTripper // nil is http.DefaultTransport
	Authorize func(context.Context, *http.Request) error
	// Explain turns a refusal that is no limit into an error. The message is cleaned.
	Explain func(r *http.Response, what, message string) error
	Clock   Clock
	Timeout time.Duration // of one try; 0 is 30 s
	// MaxWait is the longest wait for a limit, 0 is 2 min; longer ones are a *forge.LimitError.
	MaxWait time.Duration
	Pace    time.Duration // the least time between two writes

	limits limits
	cache  cache
}

type readKey struct{}

// AsRead marks a request that may be repeated although its method says otherwise: it has the same effect twice as once.
func AsRead(ctx context.Context) context.Context {
	return context.WithValue(ctx, readKey{}, repeatable)
}

// AsQuery marks a request that changes nothing although its method says otherwise: a GraphQL query.
func AsQuery(ctx context.Context) context.Context { return context.WithValue(ctx, readKey{}, harmless) }

type readKind int

const (
	repeatable readKind = iota + 1
	harmless
)

func isRead(r *http.Request) bool {
	return r.Method == http.MethodGet || r.Method == http.MethodHead || r.Context().Value(readKey{}) != nil
}

// effect says whether a request changes something.
func effect(r *http.Request) bool {
	return r.Method != http.MethodGet && r.Method != http.MethodHead && r.Context().Value(readKey{}) != harmless
}

// Client gives an http.Client on this transport that never takes a token to another host.
func (t *Transport) Client() *http.Client {
	if t.Base == nil {
		t.Base = http.DefaultTransport
	}
	t.Timeout, t.MaxWait = cmp.Or(t.Timeout, 30*time.Second), cmp.Or(t.MaxWait, 2*time.Minute)
	return &http.Client{Transport: t, CheckRedirect: func(r *http.Request, via []*http.Request) error {
		if r.URL.Host != t.Host || len(via) > 3 || r.URL.Scheme != via[0].URL.Scheme {
			return fmt.Errorf("%s redirects to %s, which is not followed", via[0].URL.Host, r.URL.Host)
		}
		return nil
	}}
}

// RoundTrip makes a request, and repeats it where that is safe.
func (t *Transport) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.URL.Host != t.Host {
		return nil, fmt.Errorf("%s is not %s: not asked", r.URL.Host, t.Host)
	}
	body, err := takeBody(r)
	if err != nil {
		return nil, err
	}
	read := isRead(r)
	if !read {
		if err := t.limits.pace(r.Context(), t.Clock, t.Pace); err != nil {
			return nil, err
		}
	}
	for failed, refused := 0, 0; ; {
		if err := t.await(r.Context(), resource(r)); err != nil {
			return nil, err
		}
		resp, err := t.try(r, body)
		if limit, ok := errors.AsType[*forge.LimitError](err); ok && refused < limited {
			// A refused write was not done, so it may be repeated. By now await knows how long to wait.
			refused++
			if wait := limit.Until.Sub(t.Clock.Now()); wait > t.MaxWait {
				return nil, err
			}
			continue
		}
		if _, down := errors.AsType[*forge.UnavailableError](err); down && read && failed < reads-1 {
			if err := t.Clock.Sleep(r.Context(), t.Clock.Backoff(failed)); err != nil {
				return nil, err
			}
			failed++
			continue
		}
		return resp, err
	}
}

func takeBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	defer func() { _ = r.Body.Close() }()
	return io.ReadAll(r.Body)
}

// await waits for the end of a limit, if that is soon.
func (t *Transport) await(ctx context.Context, resource string) error {
	for {
		err := t.limits.blocked(t.Host, resource, t.Clock.Now())
		if err == nil {
			return nil
		}
		wait := err.Until.Sub(t.Clock.Now())
		if wait > t.MaxWait {
			return err
		}
		if err := t.Clock.Sleep(ctx, wait+time.Duration(t.Clock.Chance()*float64(time.Second))); err != nil {
			return err
		}
	}
}

// try makes a request once, and reads all of the answer: one that breaks off is no answer.
func (t *Transport) try(r *http.Request, body []byte) (*http.Response, error) {
	ctx, cancel := context.WithTimeout(r.Context(), t.Timeout)
	defer cancel()
	req := r.Clone(ctx)
	if body != nil {
		req.Body = io.NopCloser(bytes.NewReader(body))
		req.GetBody = nil
	}
	if err := t.Authorize(ctx, req); err != nil {
		return nil, err
	}
	known := t.cache.prepare(req)
	if effect(r) {
		if err := forge.Fence(ctx); err != nil {
			return nil, err
		}
	}
	resp, err := t.Base.RoundTrip(req)
	if err != nil {
		return nil, t.broken(r.Context(), err)
	}
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	_ = resp.Body.Close()
	if err != nil {
		return nil, t.broken(r.Context(), err)
	}
	if len(data) > maxAnswer {
		return nil, fmt.Errorf("%s %s: the answer is too large", r.Method, r.URL.Path)
	}
	resp.Request = r
	t.limits.note(resp, t.Clock.Now())
	if resp.StatusCode == http.StatusNotModified && known != nil {
		return known.answer(resp), nil
	}
	if resp.StatusCode >= 400 {
		return nil, t.explain(r, resp, data)
	}
	t.cache.keep(req, resp, data)
	resp.Body, resp.ContentLength = io.NopCloser(bytes.NewReader(data)), int64(len(data))
	return resp, nil
}

// broken explains why there was no answer.
func (t *Transport) broken(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if _, ok := errors.AsType[*tls.CertificateVerificationError](err); ok {
		return &forge.CertificateError{Host: t.Host, Err: err}
	}
	if _, ok := errors.AsType[x509.UnknownAuthorityError](err); ok {
		return &forge.CertificateError{Host: t.Host, Err: err}
	}
	return &forge.UnavailableError{Host: t.Host, Err: err}
}

// explain turns a refusal into an error.
func (t *Transport) explain(r *http.Request, resp *http.Response, data []byte) error {
	err := t.limits.refusal(t.Host, resource(r), resp, data, t.Clock.Now())
	// A failing proxy may name a time to retry and still have passed a write on: that is not refused, but unclear.
	if err != nil && (resp.StatusCode < 500 || isRead(r)) {
		return err
	}
	if resp.StatusCode >= 500 {
		return &forge.UnavailableError{Host: t.Host, Status: resp.StatusCode, Err: errors.New(message(data))}
	}
	resp.Body = io.NopCloser(bytes.NewReader(data))
	return t.Explain(resp, r.Method+" "+r.URL.Path, message(data))
}

// resource is the limit that a request counts against.
func resource(r *http.Request) string {
	if strings.HasSuffix(r.URL.Path, "/graphql") {
		return "graphql"
	}
	return "core"
}

func atoi(s string) int {
	n, err := strconv.Atoi(s)
	if err != nil {
		return -1
	}
	return n
}
