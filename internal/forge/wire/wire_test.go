package wire_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/wire"
	"github.com/cco-dev/cco/internal/must"
)

// place is a server and a transport to it, whose clock moves only when somebody sleeps.
type place struct {
	t     *wire.Transport
	url   string
	now   time.Time
	slept []time.Duration
}

func newPlace(t *testing.T, serve http.HandlerFunc) *place {
	t.Helper()
	srv := httptest.NewServer(serve)
	t.Cleanup(srv.Close)
	p := &place{url: srv.URL, now: time.Unix(1_800_000_000, 0)}
	p.t = &wire.Transport{
		Host: strings.TrimPrefix(srv.URL, "http://"), Base: http.DefaultTransport, Timeout: time.Minute,
		MaxWait: 10 * time.Minute,
		Clock: wire.Clock{Now: func() time.Time { return p.now }, Chance: func() float64 { return 0 },
			Sleep: func(ctx context.Context, d time.Duration) error {
				p.slept, p.now = append(p.slept, d), p.now.Add(d)
				return ctx.Err()
			}},
		Authorize: func(_ context.Context, r *http.Request) error { r.Header.Set("Authorization", "Bearer x"); return nil },
		Explain: func(r *http.Response, what, message string) error {
			return &forge.RejectedError{What: what, Status: r.StatusCode, Message: message}
		},
	}
	return p
}

func (p *place) do(t *testing.T, method, path string) (string, error) {
	t.Helper()
	req := must.Get(http.NewRequestWithContext(t.Context(), method, p.url+path, nil))(t)
	resp, err := p.t.Client().Do(req)
	if err != nil {
		return "", err
	}
	defer func() { _ = resp.Body.Close() }()
	data, err := io.ReadAll(resp.Body)
	return fmt.Sprint(resp.StatusCode, " ", string(data)), err
}

func TestReadsAreRepeatedAndWritesAreNot(t *testing.T) {
	var asked atomic.Int64
	p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1) < 4 {
			w.WriteHeader(http.StatusBadGateway)
		}
	})
	if got, err := p.do(t, http.MethodGet, "/"); err != nil || got != "200 " || asked.Load() != 4 {
		t.Errorf("%q %v after %d", got, err, asked.Load())
	}
	if len(p.slept) != 3 || p.slept[0] >= p.slept[1] || p.slept[1] >= p.slept[2] {
		t.Errorf("slept %v", p.slept)
	}
	asked.Store(0)
	_, err := p.do(t, http.MethodPost, "/")
	if !errors.As(err, new(*forge.UnavailableError)) || asked.Load() != 1 {
		t.Errorf("a write: %v after %d", err, asked.Load())
	}
	asked.Store(-100)
	if _, err := p.do(t, http.MethodGet, "/"); !errors.As(err, new(*forge.UnavailableError)) || asked.Load() != -95 {
		t.Errorf("a read for ever: %v after %d", err, asked.Load()+100)
	}
}

// Guards against a write that a proxy passed on before it said when to come back.
func TestAnAnswerOfTroubleWithATimeIsObeyedAndRefusesNoWrite(t *testing.T) {
	var asked atomic.Int64
	p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) {
		if asked.Add(1)%2 == 1 {
			w.Header().Set("Retry-After", "5")
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	})
	start := p.now
	if _, err := p.do(t, http.MethodGet, "/"); err != nil || asked.Load() != 2 || p.now.Sub(start) != 5*time.Second {
		t.Errorf("a read: %v after %d and %s", err, asked.Load(), p.now.Sub(start))
	}
	if _, err := p.do(t, http.MethodPost, "/"); !errors.As(err, new(*forge.UnavailableError)) || asked.Load() != 3 {
		t.Errorf("a write: %v after %d", err, asked.Load()-2)
	}
	start = p.now
	if _, err := p.do(t, http.MethodGet, "/"); err != nil || p.now.Sub(start) != 5*time.Second {
		t.Errorf("what follows waits for %s, %v", p.now.Sub(start), err)
	}
}

func TestBackoffGrowsAndIsBounded(t *testing.T) {
	for _, chance := range []float64{0, 0.999} {
		c := wire.Clock{Chance: func() float64 { return chance }}
		last := time.Duration(0)
		for n := range 40 {
			d := c.Backoff(n)
			if d < last || d > 30*time.Second || d < 200*time.Millisecond {
				t.Errorf("try %d waits %s after %s", n, d, last)
			}
			last = d
		}
	}
}

func TestAnswersAreConfirmedInsteadOfSentAgain(t *testing.T) {
	var conditional, full atomic.Int64
	p := newPlace(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"v1"`)
		w.Header().Set("Link", "<x>; rel=next")
		if r.Header.Get("If-None-Match") == `"v1"` {
			conditional.Add(1)
			w.Header().Del("Link")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		_, _ = io.WriteString(w, "body of "+r.URL.Path)
	})
	for range 3 {
		if got, err := p.do(t, http.MethodGet, "/a"); err != nil || got != "200 body of /a" {
			t.Errorf("%q %v", got, err)
		}
	}
	if full.Load() != 1 || conditional.Load() != 2 {
		t.Errorf("%d full, %d confirmed", full.Load(), conditional.Load())
	}
}

// Guards against a cache that grows with everything that was ever read.
func TestWhatIsKeptIsBounded(t *testing.T) {
	var full atomic.Int64
	p := newPlace(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("ETag", `"`+r.URL.Path+`"`)
		if r.Header.Get("If-None-Match") != "" {
			w.WriteHeader(http.StatusNotModified)
			return
		}
		full.Add(1)
		_, _ = w.Write(make([]byte, 900<<10))
	})
	for _, path := range []string{"/1", "/2", "/3", "/4", "/5", "/6", "/6", "/1"} {
		must.Get(p.do(t, http.MethodGet, path))(t)
	}
	if full.Load() != 7 {
		t.Errorf("%d were sent: the newest is to be kept, the oldest is not", full.Load())
	}
}

func TestLimitsAreWaitedForOrTold(t *testing.T) {
	for name, c := range map[string]struct {
		status int
		header map[string]string
		body   string
		waits  time.Duration // 0: an error
		long   bool
	}{
		"429 with a time": {429, map[string]string{"Retry-After": "7"}, "", 7 * time.Second, false},
		"429 without":     {429, nil, "", time.Minute, false},
		"403 secondary":   {403, nil, `{"message":"You have exceeded a secondary rate limit"}`, time.Minute, false},
		"403 with a time": {403, map[string]string{"Retry-After": "30"}, "", 30 * time.Second, false},
		"403 with none left": {403, map[string]string{"X-RateLimit-Limit": "60", "X-RateLimit-Remaining": "0",
			"X-RateLimit-Reset": "1800000120"}, "", 2 * time.Minute, false},
		"403 for good":         {403, nil, `{"message":"Must have admin rights"}`, 0, false},
		"a limit of ages":      {429, map[string]string{"Retry-After": "99999999999"}, "", 0, true},
		"a limit that is long": {429, map[string]string{"Retry-After": "3600"}, "", 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			var asked atomic.Int64
			p := newPlace(t, func(w http.ResponseWriter, _ *http.Request) {
				if asked.Add(1) > 1 {
					return
				}
				for k, v := range c.header {
					w.Header().Set(k, v)
				}
				http.Error(w, c.body, c.status)
			})
			start := p.now
			_, err := p.do(t, http.MethodPost, "/") // refused is not done, so a write may be made again
			if c.waits > 0 {
				if err != nil || p.now.Sub(start) < c.waits || p.now.Sub(start) > c.waits+2*time.Second || asked.Load() != 2 {
					t.Errorf("waited %s, asked %d times, %v", p.now.Sub(start), asked.Load(), err)
				}
				return
			}
			limit, ok := errors.AsType[*forge.LimitError](err)
			if ok != c.long || err == nil || asked.Load() != 1 {
				t.Errorf("%v after %d", err, asked.Load())
			}
			if ok && limit.Until.Sub(start) != time.Hour {
				t.Errorf("until %s", limit.Until)
			}
		})
	}
}

func TestWritesKeepTheirDistance(t *testing.T) {
	p := newPlace(t, func(http.ResponseWriter, *http.Request) {})
	p.t.Pace = time.Second
	start := p.now
	for range 4 {
		must.Get(p.do(t, http.MethodPost, "/"))(t)
	}
	if took := p.now.Sub(start); took != 3*time.Second {
		t.Errorf("four writes took %s", took)
	}
}

func TestOtherHostsAreNeverAsked(t *testing.T) {
	p := newPlace(t, func(http.ResponseWriter, *http.Request) {})
	req := must.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://elsewhere.example.org/", nil))(t)
	if resp, err := p.t.Client().Do(req); err == nil {
		_ = resp.Body.Close()
		t.Error("asked")
	}
}

// Guards against words and merges of a machine that no longer has the phase: only what changes nothing goes out.
func TestAFenceHoldsBackEveryEffect(t *testing.T) {
	var served atomic.Int32
	p := newPlace(t, func(http.ResponseWriter, *http.Request) { served.Add(1) })
	no := errors.New("no longer here")
	for _, c := range []struct {
		method string
		as     func(context.Context) context.Context
		held   bool
	}{
		{method: http.MethodGet}, {method: http.MethodHead}, {method: http.MethodPost, as: wire.AsQuery},
		{method: http.MethodPost, held: true}, {method: http.MethodPatch, held: true}, {method: http.MethodPut, held: true},
		{method: http.MethodDelete, held: true}, {method: http.MethodDelete, as: wire.AsRead, held: true},
		{method: http.MethodPost, as: wire.AsRead, held: true},
	} {
		ctx := forge.WithFence(t.Context(), func(context.Context) error { return no })
		if c.as != nil {
			ctx = c.as(ctx)
		}
		served.Store(0)
		req := must.Get(http.NewRequestWithContext(ctx, c.method, p.url, nil))(t)
		resp, err := p.t.Client().Do(req)
		if err == nil {
			_ = resp.Body.Close()
		}
		if held := errors.Is(err, no); held != c.held || (served.Load() == 0) != c.held {
			t.Errorf("%s: held %v, want %v; %d requests came", c.method, held, c.held, served.Load())
		}
	}
}
