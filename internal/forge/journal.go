package forge

import (
	"context"
	"crypto/hmac"
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

// Record is one thing that we posted or are about to post. It is recorded before it is posted.
type Record struct {
	Key     string // names the intention; unique within a repository
	Repo    string // host/owner/name
	Number  int
	Kind    CommentKind
	Marker  string // random, hidden in the text
	ID      string // "" until it is known to be on the forge
	URL     string
	Created time.Time // the last attempt, recorded before it is made
	Seal    string    // of the marker; made anew each time
}

// Log keeps records across crashes. The store has one.
type Log interface {
	// Begin keeps a record unless its key is known, and gives the kept one. Fresh says that it is the new one.
	Begin(ctx context.Context, r Record) (kept Record, fresh bool, err error)
	// Try records another attempt, now.
	Try(ctx context.Context, repo, key string, now time.Time) error
	// Finish records where the post is, if that is not known: what two machines post at once stands twice, and the first
	// of them to be recorded is ours.
	Finish(ctx context.Context, repo, key, id, url string) error
	// ByID and ByMarker find records; ok says whether there is one.
	ByID(ctx context.Context, repo, id string) (r Record, ok bool, err error)
	ByMarker(ctx context.Context, repo, marker string) (r Record, ok bool, err error)
}

// Journal is a log with a key, by which other programs of the same user know what was said.
type Journal interface {
	Log
	// Seal is the seal of a record's marker.
	Seal(r Record) string
}

// Keyed is a log with a key. Memory is one for tests.
type Keyed struct {
	Log
	Key
}

// The marker that we hide in our posts: a nonce, and a seal that holds for this place alone. Everyone can copy it.
const (
	markerStart = "<!-- cco:"
	markerEnd   = " -->"
	markerLen   = 32
	sealLen     = 2 * keyLen
)

// maxWords is a little less than the 65,536 characters that GitHub takes.
const maxWords = 65_000

// NewMarker makes a marker that was never used before.
func NewMarker() string {
	var b [markerLen / 2]byte
	_, _ = rand.Read(b[:]) // documented never to fail
	return hex.EncodeToString(b[:])
}

// Mark hides a marker in our text. It first disables markers in the text: a model may have copied one from a comment.
func (r Record) Mark(words string) string {
	words = strings.TrimRight(strings.ReplaceAll(words, markerStart, "<!-- not-cco:"), "\n ")
	if len(words) > maxWords {
		words = words[:safetext.Boundary(words, maxWords)] + "\n\n… (cut: a forge takes no more)"
	}
	m := marker{nonce: r.Marker, seal: r.Seal}
	if words == "" {
		return m.String()
	}
	return words + "\n\n" + m.String()
}

// marker is what stands in a post. Older ones have no seal.
type marker struct{ nonce, seal string }

func (m marker) String() string {
	if m.seal == "" {
		return markerStart + m.nonce + markerEnd
	}
	return markerStart + m.nonce + "." + m.seal + markerEnd
}

func markersIn(raw string) (found []marker) {
	for {
		_, rest, ok := strings.Cut(raw, markerStart)
		if !ok {
			return found
		}
		raw = rest
		text, _, ok := strings.Cut(rest[:min(len(rest), markerLen+1+sealLen+len(markerEnd))], markerEnd)
		nonce, seal, sealed := strings.Cut(text, ".")
		if ok && len(nonce) == markerLen && strings.Trim(nonce+seal, "0123456789abcdef") == "" &&
			(len(seal) == sealLen || !sealed) {
			found = append(found, marker{nonce, seal})
		}
	}
}

// Markers finds the nonces of the markers in raw words.
func Markers(raw string) (nonces []string) {
	for _, m := range markersIn(raw) {
		nonces = append(nonces, m.nonce)
	}
	return nonces
}

// Opened says whether a request with that body was opened for this record; without a record any request counts.
func (r Record) Opened(raw string) bool {
	return r.Key == "" || slices.Contains(Markers(raw), r.Marker)
}

// Reword replaces the words of a post of ours, and leaves its marker.
func Reword(raw, words string) string {
	all := markersIn(raw)
	if len(all) == 0 {
		return raw
	}
	last := all[len(all)-1]
	return Record{Marker: last.nonce, Seal: last.seal}.Mark(words)
}

// Unmark removes our marker from our own text, so that nobody sees it.
func Unmark(raw string) string {
	for _, m := range markersIn(raw) {
		raw = strings.ReplaceAll(raw, m.String(), "")
	}
	return strings.TrimRight(raw, "\n ")
}

// Claim marks the comments that are ours, and removes our markers from them. Comments must come in their order: of
// several with one marker only the oldest is ours.
func Claim(ctx context.Context, j Journal, repo string, c *Comment, raw string, us []string) (err error) {
	if c.Own, c.Twin, err = own(ctx, j, repo, *c, raw, us); c.Own {
		c.Body = Clean(Unmark(raw), MaxBody)
	}
	if err != nil || c.Own || !among(us, c.Author) {
		return err
	}
	for _, m := range markersIn(raw) {
		_, known, err := j.ByMarker(ctx, repo, m.nonce)
		if err != nil {
			return err
		}
		c.Foreign = c.Foreign || m.seal != "" && !known
	}
	return nil
}

func among(us []string, author string) bool {
	return slices.ContainsFunc(us, func(name string) bool { return strings.EqualFold(name, author) })
}

// Own says whether a comment on a forge is ours: its id is recorded, or an account of ours wrote it with a marker that
// is recorded or sealed for this very place. The id of one found by its marker is then recorded, so that a copy of it
// is not ours.
func Own(ctx context.Context, j Journal, repo string, c Comment, raw string, us []string) (bool, error) {
	is, _, err := own(ctx, j, repo, c, raw, us)
	return is, err
}

// own also gives the post that is ours by the marker of a comment, if that is another one.
func own(ctx context.Context, j Journal, repo string, c Comment, raw string, us []string) (is bool, twin string,
	err error) {
	if _, ok, err := j.ByID(ctx, repo, c.ID); err != nil || ok {
		return ok, "", err
	}
	if !among(us, c.Author) {
		return false, "", nil
	}
	for _, m := range markersIn(raw) {
		r, ok, err := find(ctx, j, repo, c, m)
		if err != nil {
			return false, "", err
		}
		if !ok || r.Number != c.Number {
			continue
		}
		id := c.ID
		switch {
		case r.Kind == InReview && c.Kind == OnLine && c.Review != "":
			id = c.Review // a line of a review carries the review's marker
		case r.Kind == c.Kind:
		case r.Kind == OnLine && c.Kind == OnPull: // a reply that could not be posted in its thread
		default:
			continue
		}
		switch {
		case r.ID == id, r.ID == c.Review && r.ID != "": // a reply may be known by the review that it came with
			return true, "", nil
		case r.ID == "":
			return true, "", j.Finish(ctx, repo, r.Key, id, c.URL)
		}
		twin = r.ID
	}
	return false, twin, nil
}

// Twice says whether a comment repeats every byte of the post that is ours by its marker, or of a line of that: it was
// posted twice, by machines that did not know of each other. A quotation does not. A line may be gone already, with its
// review.
func Twice(c Comment, all []Comment, raw func(i int) string) bool {
	at := slices.IndexFunc(all, func(v Comment) bool { return v.ID == c.ID })
	if at < 0 || c.Twin == "" {
		return c.Twin != ""
	}
	for i, v := range all {
		first := v.ID == c.Twin || v.Kind == OnLine && v.Review == c.Twin && c.Review != c.Twin
		if first && i != at && strings.EqualFold(v.Author, c.Author) && raw(i) == raw(at) {
			return true
		}
	}
	return false
}

// find gives the record of a marker. What another program of the same user has posted is recorded when it is first
// seen.
func find(ctx context.Context, j Journal, repo string, c Comment, m marker) (Record, bool, error) {
	r, ok, err := j.ByMarker(ctx, repo, m.nonce)
	if err != nil || ok {
		return r, ok, err
	}
	for _, kind := range []CommentKind{c.Kind, InReview, OnLine} {
		r = Record{Key: elsewhere + m.nonce, Repo: repo, Number: c.Number, Kind: kind, Marker: m.nonce,
			Created: c.Created}
		if m.seal != "" && hmac.Equal([]byte(m.seal), []byte(j.Seal(r))) {
			kept, _, err := j.Begin(ctx, r)
			return kept, true, err
		}
	}
	return Record{}, false, nil
}

// Once posts a thing that nothing else protects from being posted twice.
type Once struct {
	Journal Journal
	// Look searches the forge for posts of ours with the record's marker.
	Look func(context.Context, Record) (Posted, bool, error)
	// Do posts it, with the record's marker in it.
	Do    func(context.Context, Record) (Posted, error)
	Now   func() time.Time
	Sleep func(ctx context.Context, d time.Duration) error
}

// doubt is how long an attempt with an unknown result may still take effect: a forge may be at work on a request whose
// connection is gone.
const doubt = 30 * time.Second

// attempts bounds how often posting is tried again when it turns out to have failed.
const attempts = 4

// Say posts it, unless it was posted before.
func (o Once) Say(ctx context.Context, r Record) (Posted, error) {
	if r.Key == "" {
		return Posted{}, errors.New("say: no key")
	}
	r.Marker = NewMarker()
	kept, fresh, err := o.Journal.Begin(ctx, r)
	if err != nil {
		return Posted{}, fmt.Errorf("record what is to be said: %w", err)
	}
	kept.Seal = o.Journal.Seal(kept)
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
		kept.Created = o.Now() // the attempt may have taken longer than the doubt
		if p, ok, err := o.lookUntilSure(ctx, kept); err != nil || ok {
			return o.finish(ctx, kept, p, err)
		}
	}
}

// find looks for what another process began to post. That process may have just been killed, with the forge still at
// work.
func (o Once) find(ctx context.Context, r Record) (Posted, bool, error) {
	if p, ok, err := o.Look(ctx, r); err != nil || ok {
		return p, ok, err
	}
	return o.lookUntilSure(ctx, r)
}

// lookUntilSure looks for a post until it is sure that there is none. It waits from the last attempt on, so that a
// process that is killed repeatedly does not wait repeatedly.
func (o Once) lookUntilSure(ctx context.Context, r Record) (Posted, bool, error) {
	for wait := 2 * time.Second; ; wait *= 2 {
		left := min(doubt, r.Created.Add(doubt).Sub(o.Now())) // a clock that was set back must not make it longer
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
	Key Key // may be empty

	mu  sync.Mutex
	all []Record
}

// Seal is the seal of a record's marker.
func (m *Memory) Seal(r Record) string { return m.Key.Seal(r) }

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
	if m.all[i].ID == "" {
		m.all[i].ID, m.all[i].URL = id, url
	}
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
