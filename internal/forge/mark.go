package forge

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"slices"
	"strings"
	"time"
)

// Mark says how far the stream of a pull request has been read. It is text that a caller keeps; "" is the beginning. It
// names everything that was handed out, so that wrong clocks and shifting pages can't lose or repeat anything.
type Mark string

// place is a comment in a mark, as small as possible: memory holds many.
type place struct {
	kind byte
	id   int64
}

// Seen is a decoded mark.
type Seen struct {
	upTo time.Time // nothing that changed before this needs to be asked for
	was  map[place]uint32
}

const markVersion = "1."

// Seen reads a mark.
func (m Mark) Seen() (*Seen, error) {
	s := &Seen{was: map[place]uint32{}}
	if m == "" {
		return s, nil
	}
	text, ok := strings.CutPrefix(string(m), markVersion)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(data) < 8 {
		return nil, errors.New("read mark: it is damaged, or of another version")
	}
	if sec := int64(binary.BigEndian.Uint64(data)); sec != 0 { // it was written from an int64
		s.upTo = time.Unix(sec, 0).UTC()
	}
	data = data[8:]
	var last int64
	for len(data) > 0 {
		step, n := binary.Varint(data)
		if n <= 0 || len(data) < n+5 {
			return nil, errors.New("read mark: it is damaged")
		}
		last += step
		s.was[place{data[n], last}] = binary.BigEndian.Uint32(data[n+1:])
		data = data[n+5:]
	}
	return s, nil
}

// Mark writes it down.
func (s *Seen) Mark() Mark {
	keys := make([]place, 0, len(s.was))
	for k := range s.was {
		keys = append(keys, k)
	}
	slices.SortFunc(keys, func(a, b place) int {
		if a.id != b.id {
			return int(min(1, max(-1, a.id-b.id)))
		}
		return int(a.kind) - int(b.kind)
	})
	data := make([]byte, 8, 8+9*len(keys))
	if !s.upTo.IsZero() {
		binary.BigEndian.PutUint64(data, uint64(s.upTo.Unix())) // read back as it is
	}
	var last int64
	for _, k := range keys {
		data = binary.AppendVarint(data, k.id-last)
		data = append(data, k.kind)
		data = binary.BigEndian.AppendUint32(data, s.was[k])
		last = k.id
	}
	return Mark(markVersion + base64.RawURLEncoding.EncodeToString(data))
}

// UpTo is the time from which on a forge must be asked for changes; zero is the beginning.
func (s *Seen) UpTo() time.Time { return s.upTo }

// Advance moves the time that UpTo gives, never back.
func (s *Seen) Advance(t time.Time) {
	if t.After(s.upTo) {
		s.upTo = t
	}
}

// Has says whether something has been handed out.
func (s *Seen) Has(id string) bool {
	p, err := placeOf(id)
	_, has := s.was[p]
	return err == nil && has
}

// Take records comments and gives the new and changed ones, in order.
func (s *Seen) Take(all []Comment) ([]Comment, error) {
	var news []Comment
	for _, c := range all {
		p, err := placeOf(c.ID)
		if err != nil {
			return nil, err
		}
		sum := fingerprint(c)
		was, had := s.was[p]
		if had && was == sum {
			continue
		}
		s.was[p] = sum
		c.Edited = had
		if c.Kind == InReview && c.State == ReviewCommented && c.Body == "" {
			continue // it only holds line comments
		}
		news = append(news, c)
	}
	sortByTime(news)
	return news, nil
}

// Gone forgets what isn't among all, which must be complete, and gives its ids.
func (s *Seen) Gone(all []Comment) []string {
	there := map[place]bool{}
	for _, c := range all {
		if p, err := placeOf(c.ID); err == nil {
			there[p] = true
		}
	}
	var gone []string
	for p := range s.was {
		if !there[p] {
			gone = append(gone, ID(kinds()[p.kind], p.id))
			delete(s.was, p)
		}
	}
	slices.Sort(gone)
	return gone
}

// Stream gives the new comments among all, with a mark after them.
func (s *Seen) Stream(all []Comment) (Stream, error) {
	out := Stream{Gone: s.Gone(all)}
	var err error
	if out.Comments, err = s.Take(all); err != nil {
		return Stream{}, err
	}
	for _, c := range all {
		s.Advance(c.Updated)
	}
	out.Mark = s.Mark()
	return out, nil
}

func kinds() map[byte]CommentKind {
	return map[byte]CommentKind{'c': OnPull, 'l': OnLine, 'r': InReview}
}

func placeOf(id string) (place, error) {
	kind, n, err := ParseID(id)
	if err != nil {
		return place{}, fmt.Errorf("note what was said: %w", err)
	}
	return place{kind[0], n}, nil
}

// fingerprint changes when a comment's meaning changes: other text, or an approval that is withdrawn. A resolved
// thread, an outdated line or a newer review of the same author does not change it.
func fingerprint(c Comment) uint32 {
	h := fnv.New32a()
	_, _ = h.Write([]byte(c.Body))
	if c.Kind == InReview && c.State == ReviewApproved {
		_, _ = h.Write([]byte("\x00" + string(c.State)))
	}
	return h.Sum32()
}
