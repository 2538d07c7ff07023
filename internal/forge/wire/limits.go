package wire

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// limits is what a forge has said about its limits.
type limits struct {
	mu       sync.Mutex
	known    map[string]forge.Limit
	until    time.Time // nothing at all before this: a secondary limit
	resource string    // that caused it
	written  time.Time // when the last write was let through
}

// Blocked is a *forge.LimitError while a resource is used up, nil otherwise.
func (t *Transport) Blocked(resource string) error {
	if err := t.limits.blocked(t.Host, resource, t.Clock.Now()); err != nil {
		return err
	}
	return nil
}

// note reads the headers that GitHub sends with every answer.
func (l *limits) note(r *http.Response, now time.Time) {
	limit, left, reset := atoi(r.Header.Get("X-RateLimit-Limit")), atoi(r.Header.Get("X-RateLimit-Remaining")),
		atoi(r.Header.Get("X-RateLimit-Reset"))
	if limit < 0 || left < 0 || reset < 0 {
		return
	}
	name := cmp.Or(forge.Name(r.Header.Get("X-RateLimit-Resource"), 40), "core")
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.known == nil {
		l.known = map[string]forge.Limit{}
	}
	had, has := l.known[name]
	v := forge.Limit{Resource: name, Limit: limit, Remaining: left, Reset: time.Unix(int64(reset), 0)}
	// Answers overtake each other; in one window the smaller rest is newer. A forge has a handful of resources, not
	// hundreds.
	if has && had.Reset.Equal(v.Reset) && had.Remaining < v.Remaining && now.Before(had.Reset) || !has &&
		len(l.known) > 32 {
		return
	}
	l.known[name] = v
}

// blocked says whether a request must wait.
func (l *limits) blocked(host, resource string, now time.Time) *forge.LimitError {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now.Before(l.until) {
		return &forge.LimitError{Host: host, Resource: l.resource, Secondary: true, Until: l.until}
	}
	if v, ok := l.known[resource]; ok && v.Remaining == 0 && now.Before(v.Reset) {
		return &forge.LimitError{Host: host, Resource: resource, Until: v.Reset}
	}
	return nil
}

// longest bounds a wait that a forge asks for: its limits last an hour.
const longest = time.Hour

// refusal recognises an answer that means "too much" or "too fast", and remembers it for every request that follows.
func (l *limits) refusal(host, resource string, r *http.Response, data []byte, now time.Time) error {
	after := min(atoi(r.Header.Get("Retry-After")), int(longest/time.Second))
	if r.StatusCode == http.StatusServiceUnavailable && after > 0 {
		return l.hold(host, resource, now.Add(time.Duration(after)*time.Second))
	}
	if r.StatusCode != http.StatusForbidden && r.StatusCode != http.StatusTooManyRequests {
		return nil
	}
	secondary := bytes.Contains(data, []byte("secondary rate limit")) || bytes.Contains(data, []byte("abuse detection")) ||
		bytes.Contains(data, []byte("secondary-rate-limits"))
	switch {
	case after >= 0:
		return l.hold(host, resource, now.Add(time.Duration(max(1, after))*time.Second))
	case r.Header.Get("X-RateLimit-Remaining") == "0":
		if err := l.blocked(host, resource, now); err != nil {
			return err
		}
		return l.hold(host, resource, now.Add(time.Minute))
	case secondary || r.StatusCode == http.StatusTooManyRequests:
		return l.hold(host, resource, now.Add(time.Minute)) // what GitHub asks for if it names no time
	}
	return nil
}

func (l *limits) hold(host, resource string, until time.Time) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	if until.After(l.until) {
		l.until, l.resource = until, resource
	}
	return &forge.LimitError{Host: host, Resource: resource, Secondary: true, Until: l.until}
}

// pace lets writes through one at a time, with some time between them.
func (l *limits) pace(ctx context.Context, c Clock, least time.Duration) error {
	if least <= 0 {
		return nil
	}
	l.mu.Lock()
	now := c.Now()
	at := l.written.Add(least)
	if at.Before(now) {
		at = now
	}
	l.written = at
	l.mu.Unlock()
	if wait := at.Sub(now); wait > 0 {
		return c.Sleep(ctx, wait)
	}
	return nil
}

// message is what a forge says about a refusal.
func message(data []byte) string {
	var m struct {
		Message string            `json:"message"`
		Errors  []json.RawMessage `json:"errors"`
	}
	if json.Unmarshal(data, &m) != nil || m.Message == "" {
		return forge.Name(strings.TrimSpace(string(data[:min(len(data), 300)])), 300)
	}
	words := []string{m.Message}
	for _, raw := range m.Errors {
		var e struct{ Message, Field, Code string }
		var text string
		if json.Unmarshal(raw, &text) == nil {
			words = append(words, text)
		} else if json.Unmarshal(raw, &e) == nil {
			words = append(words, strings.TrimSpace(cmp.Or(e.Message, e.Field+" "+e.Code)))
		}
	}
	return forge.Name(strings.Join(words, ": "), 600)
}
