package forge

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/safetext"
)

// Record is one thing that we said or are about to say. It is written down before it is said.
type Record struct {
	Key     string // names the intention; unique within a repository
	Repo    string // host/owner/name
	Number  int
	Kind    CommentKind
	Marker  string // random, hidden in what is said
	ID      string // "" until it is known to stand on the forge
	URL     string
	Created time.Time // when it was last tried: written down before each attempt
}

// Journal keeps records beyond crashes. The store has one; Memory is one for tests.
type Journal interface {
	// Begin keeps a record unless its key is known, and gives the one that is kept. Fresh says that it is the new one.
	Begin(ctx context.Context, r Record) (kept Record, fresh bool, err error)
	// Try notes that it is tried again, now.
	Try(ctx context.Context, repo, key string, now time.Time) error
	// Finish notes where what was said stands.
	Finish(ctx context.Context, repo, key, id, url string) error
	// ByID and ByMarker find records; ok says whether there is one.
	ByID(ctx context.Context, repo, id string) (r Record, ok bool, err error)
	ByMarker(ctx context.Context, repo, marker string) (r Record, ok bool, err error)
}

// The marker that we hide in what we say. That it is there proves nothing, since everyone can copy it.
const (
	markerStart = "<!-- cco:"
	markerEnd   = " -->"
	markerLen   = 32
)

// maxWords is a little less than the 65,536 characters that GitHub takes.
const maxWords = 65_000

// NewMarker makes a marker that was never used before.
func NewMarker() string {
	var b [markerLen / 2]byte
	_, _ = rand.Read(b[:]) // never fails, by its own promise
	return hex.EncodeToString(b[:])
}

// Mark hides a marker in words of ours. Markers that are in them already are made harmless first: a model may have
// copied one from a comment.
func (r Record) Mark(words string) string {
	words = strings.TrimRight(strings.ReplaceAll(words, markerStart, "<!-- not-cco:"), "\n ")
	if len(words) > maxWords {
		words = words[:safetext.Boundary(words, maxWords)] + "\n\n… (cut: a forge takes no more)"
	}
	if words == "" {
		return markerStart + r.Marker + markerEnd
	}
	return words + "\n\n" + markerStart + r.Marker + markerEnd
}

// Markers finds the markers in raw words.
func Markers(raw string) []string {
	var found []string
	for {
		_, rest, ok := strings.Cut(raw, markerStart)
		if !ok {
			return found
		}
		raw = rest
		if len(rest) < markerLen {
			return found
		}
		if m := rest[:markerLen]; strings.HasPrefix(rest[markerLen:], markerEnd) &&
			strings.Trim(m, "0123456789abcdef") == "" {
			found = append(found, m)
		}
	}
}

// Opened says whether a request with that body was opened for this record; without a record every one will do.
func (r Record) Opened(raw string) bool {
	return r.Key == "" || slices.Contains(Markers(raw), r.Marker)
}

// Unmark takes our marker out of our own words, so that nobody is shown it.
func Unmark(raw string) string {
	for _, m := range Markers(raw) {
		raw = strings.ReplaceAll(raw, markerStart+m+markerEnd, "")
	}
	return strings.TrimRight(raw, "\n ")
}

// Claim marks what was said by us, and takes our markers out of it.
func Claim(ctx context.Context, j Journal, repo string, c *Comment, raw string, us []string) (err error) {
	if c.Own, err = Own(ctx, j, repo, *c, raw, us); c.Own {
		c.Body = Clean(Unmark(raw), MaxBody)
	}
	return err
}

// Own says whether something that stands on a forge was said by us: its id is recorded, or it was said by an account of
// ours with a marker that is recorded for this very place. What is found by its marker is recorded for good.
func Own(ctx context.Context, j Journal, repo string, c Comment, raw string, us []string) (bool, error) {
	if _, ok, err := j.ByID(ctx, repo, c.ID); err != nil || ok {
		return ok, err
	}
	if !slices.ContainsFunc(us, func(name string) bool { return strings.EqualFold(name, c.Author) }) {
		return false, nil
	}
	for _, m := range Markers(raw) {
		r, ok, err := j.ByMarker(ctx, repo, m)
		if err != nil {
			return false, err
		}
		if !ok || r.Number != c.Number {
			continue
		}
		if r.Kind == InReview && c.Kind == OnLine && (r.ID == "" || r.ID == c.Review) {
			return true, nil // a line of a review carries the review's marker
		}
		below := r.Kind == OnLine && c.Kind == OnPull // a reply that could not be said in its place
		if r.Kind != c.Kind && !below || r.ID != "" && r.ID != c.ID {
			continue
		}
		return true, j.Finish(ctx, repo, r.Key, c.ID, c.URL)
	}
	return false, nil
}

// Once says a thing that has no other way to be safe from being said twice.
type Once struct {
	Journal Journal
	// Look searches the forge for words of ours with the record's marker.
	Look func(context.Context, Record) (Posted, bool, error)
	// Do says it, with the record's marker in it.
	Do    func(context.Context, Record) (Posted, error)
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// doubt is how long after an attempt of which it is unknown whether it happened it may still happen: a forge may be at
// work on a request whose connection is gone.
const doubt = 30 * time.Second

// attempts bounds how often a thing is tried to be said when each time it turns out that it was not.
const attempts = 4

// Say says it, unless it was said.
func (o Once) Say(ctx context.Context, r Record) (Posted, error) {
	if r.Key == "" {
		return Posted{}, errors.New("say: no key")
	}
	r.Marker = NewMarker()
	kept, fresh, err := o.Journal.Begin(ctx, r)
	if err != nil {
		return Posted{}, fmt.Errorf("record what is to be said: %w", err)
	}
	if kept.Kind != r.Kind || kept.Number != r.Number {
		return Posted{}, fmt.Errorf("say: key %q was used for another thing", r.Key)
	}
	if kept.ID != "" {
		return Posted{ID: kept.ID, URL: kept.URL, Again: true}, nil
	}
	if !fresh {
		if p, ok, err := o.find(ctx, kept); err != nil || ok {
			p.Again = true
			return o.finish(ctx, kept, p, err)
		}
	}
	for n := 0; ; n++ {
		if !fresh || n > 0 {
			kept.Created = o.Now()
			if err := o.Journal.Try(ctx, kept.Repo, kept.Key, kept.Created); err != nil {
				return Posted{}, fmt.Errorf("record what is to be said: %w", err)
			}
		}
		p, err := o.Do(ctx, kept)
		if _, _, bad := ParseID(p.ID); err == nil && bad != nil {
			err = &UnavailableError{Err: errors.New("its answer does not say where that stands")}
		}
		if err == nil {
			return o.finish(ctx, kept, p, nil)
		}
		if _, unclear := errors.AsType[*UnavailableError](err); !unclear || n == attempts-1 {
			return Posted{}, err
		}
		if p, ok, err := o.settle(ctx, kept); err != nil || ok {
			return o.finish(ctx, kept, p, err)
		}
	}
}

// find looks for what another process began to say. That may have been killed a moment ago, with the forge still at
// work.
func (o Once) find(ctx context.Context, r Record) (Posted, bool, error) {
	if p, ok, err := o.Look(ctx, r); err != nil || ok {
		return p, ok, err
	}
	return o.settle(ctx, r)
}

// settle looks for what may have been said until it is sure that it wasn't. It waits from the last attempt on, so that
// a process that is killed again and again does not wait again and again.
func (o Once) settle(ctx context.Context, r Record) (Posted, bool, error) {
	for wait := 2 * time.Second; ; wait *= 2 {
		left := min(doubt, r.Created.Add(doubt).Sub(o.Now())) // a clock that was set back makes it no longer
		if left <= 0 {
			return Posted{}, false, nil
		}
		if err := o.Sleep(ctx, min(wait, left)); err != nil {
			return Posted{}, false, err
		}
		if p, ok, err := o.Look(ctx, r); err != nil || ok {
			return p, ok, err
		}
		if wait > doubt {
			return Posted{}, false, nil
		}
	}
}

func (o Once) finish(ctx context.Context, r Record, p Posted, err error) (Posted, error) {
	if err != nil {
		return Posted{}, err
	}
	if err := o.Journal.Finish(ctx, r.Repo, r.Key, p.ID, p.URL); err != nil {
		return Posted{}, fmt.Errorf("record what was said: %w", err)
	}
	return p, nil
}

// Memory is a journal that lasts as long as its process.
type Memory struct {
	mu  sync.Mutex
	all []Record
}

func (m *Memory) find(is func(Record) bool) (int, bool) {
	i := slices.IndexFunc(m.all, is)
	return i, i >= 0
}

// Begin keeps a record.
func (m *Memory) Begin(_ context.Context, r Record) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, ok := m.find(func(x Record) bool { return x.Repo == r.Repo && x.Key == r.Key }); ok {
		return m.all[i], false, nil
	}
	m.all = append(m.all, r)
	return r, true, nil
}

// Try notes an attempt.
func (m *Memory) Try(_ context.Context, repo, key string, now time.Time) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.find(func(x Record) bool { return x.Repo == repo && x.Key == key })
	if !ok {
		return fmt.Errorf("no record %q", key)
	}
	m.all[i].Created = now
	return nil
}

// Finish completes a record.
func (m *Memory) Finish(_ context.Context, repo, key, id, url string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.find(func(x Record) bool { return x.Repo == repo && x.Key == key })
	if !ok {
		return fmt.Errorf("no record %q", key)
	}
	m.all[i].ID, m.all[i].URL = id, url
	return nil
}

// ByID finds a record.
func (m *Memory) ByID(_ context.Context, repo, id string) (Record, bool, error) {
	return m.get(func(x Record) bool { return x.Repo == repo && x.ID == id })
}

// ByMarker finds a record.
func (m *Memory) ByMarker(_ context.Context, repo, marker string) (Record, bool, error) {
	return m.get(func(x Record) bool { return x.Repo == repo && x.Marker == marker })
}

func (m *Memory) get(is func(Record) bool) (Record, bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if i, ok := m.find(is); ok {
		return m.all[i], true, nil
	}
	return Record{}, false, nil
}
