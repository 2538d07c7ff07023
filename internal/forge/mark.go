package forge

import (
	"cmp"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
)

// Mark says how far the stream of a pull request has been read. It is text that a caller keeps; "" is the beginning. It
// names everything that was handed out, so that wrong clocks and shifting pages can't lose or repeat anything.
type Mark string

// place is a comment in a mark, as small as possible: memory holds many.
type place struct {
	kind byte
	id   int64
}

// Seen is a decoded mark: sums of what was handed out.
type Seen map[place]uint32

// A mark begins with its version and with room for a time, which is zero today.
const (
	markVersion = "1."
	markTime    = 8
)

// Seen reads a mark.
func (m Mark) Seen() (Seen, error) {
	s := Seen{}
	if m == "" {
		return s, nil
	}
	text, ok := strings.CutPrefix(string(m), markVersion)
	data, err := base64.RawURLEncoding.DecodeString(text)
	if !ok || err != nil || len(data) < markTime {
		return nil, errors.New("read mark: it is damaged, or of another version")
	}
	data = data[markTime:]
	var last int64
	for len(data) > 0 {
		step, n := binary.Varint(data)
		if n <= 0 || len(data) < n+5 {
			return nil, errors.New("read mark: it is damaged")
		}
		last += step
		s[place{data[n], last}] = binary.BigEndian.Uint32(data[n+1:])
		data = data[n+5:]
	}
	return s, nil
}

// Mark writes it down.
func (s Seen) Mark() Mark {
	keys := slices.SortedFunc(maps.Keys(s), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.id, b.id), cmp.Compare(a.kind, b.kind))
	})
	data := make([]byte, markTime, markTime+9*len(keys))
	var last int64
	for _, k := range keys {
		data = binary.AppendVarint(data, k.id-last)
		data = append(data, k.kind)
		data = binary.BigEndian.AppendUint32(data, s[k])
		last = k.id
	}
	return Mark(markVersion + base64.RawURLEncoding.EncodeToString(data))
}

// Take records comments and gives the new and changed ones, in order.
func (s Seen) Take(all []Comment) ([]Comment, error) {
	var news []Comment
	for _, c := range all {
		p, err := placeOf(c.ID)
		if err != nil {
			return nil, err
		}
		sum := fingerprint(c)
		was, had := s[p]
		if had && was == sum {
			continue
		}
		s[p] = sum
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
func (s Seen) Gone(all []Comment) []string {
	there := map[place]bool{}
	for _, c := range all {
		if p, err := placeOf(c.ID); err == nil {
			there[p] = true
		}
	}
	var gone []string
	for p := range s {
		if !there[p] {
			gone = append(gone, ID(kinds()[p.kind], p.id))
			delete(s, p)
		}
	}
	slices.Sort(gone)
	return gone
}

// Stream gives the new comments among all, with a mark after them.
func (s Seen) Stream(all []Comment) (Stream, error) {
	out := Stream{Gone: s.Gone(all)}
	var err error
	if out.Comments, err = s.Take(all); err != nil {
		return Stream{}, err
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
