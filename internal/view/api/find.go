package api

import (
	"bytes"
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
)

// maxLine is how long a line may be to be looked at.
const maxLine = 8 << 20

// find calls each for the items of a transcript that say something, in any case of letters. It looks at the raw text
// first: few lines have to be read as what they are.
func find(ctx context.Context, r io.Reader, q string, each func(Hit) error) error {
	encoded, err := json.Marshal(q)
	if err != nil {
		return err
	}
	// A letter beyond ASCII may be written in another case: then only what is ASCII in it is looked for.
	raw := longestASCII(bytes.ToLower(encoded[1 : len(encoded)-1]))
	var number int64
	skip := false // the rest of a line that is too long
	buf := make([]byte, 0, 1<<20)
	low := make([]byte, 1<<20)
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		if len(buf) == cap(buf) && len(buf) >= maxLine {
			skip, buf = true, buf[:0]
		}
		if len(buf) == cap(buf) { // a line that is longer
			buf = append(make([]byte, 0, 2*cap(buf)), buf...)
			low = make([]byte, cap(buf))
		}
		n, err := r.Read(buf[len(buf):cap(buf)])
		buf = buf[:len(buf)+n]
		if skip {
			if at := bytes.IndexByte(buf, '\n') + 1; at > 0 {
				skip, buf = false, buf[:copy(buf, buf[at:])]
				number++
			} else {
				buf = buf[:0]
			}
		}
		end := bytes.LastIndexByte(buf, '\n') + 1
		if end > 0 {
			lower(low, buf[:end])
			if err := scan(buf[:end], low[:end], raw, q, &number, each); err != nil {
				return err
			}
			buf = buf[:copy(buf, buf[end:])]
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

// lower makes ASCII letters small, eight at a time: a search must get through the longest transcript while a person
// waits.
func lower(dst, src []byte) {
	const ones, high = 0x0101010101010101, 0x8080808080808080
	i := 0
	for ; i+8 <= len(src); i += 8 {
		x := binary.LittleEndian.Uint64(src[i:])
		low := x &^ high
		beyond := low + (0x7f-'Z')*ones
		within := low + (0x80-'A')*ones
		capital := ^x & (within ^ beyond) & high
		binary.LittleEndian.PutUint64(dst[i:], x|capital>>2)
	}
	for ; i < len(src); i++ {
		c := src[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst[i] = c
	}
}

func longestASCII(q []byte) (best []byte) {
	for len(q) > 0 {
		n := 0
		for n < len(q) && q[n] < utf8.RuneSelf {
			n++
		}
		if n > len(best) {
			best = q[:n]
		}
		q = q[min(n+1, len(q)):]
	}
	return best
}

// scan looks through whole lines.
func scan(lines, low, raw []byte, q string, number *int64, each func(Hit) error) error {
	for len(lines) > 0 {
		at := bytes.Index(low, raw)
		if at < 0 {
			*number += int64(bytes.Count(lines, []byte{'\n'}))
			return nil
		}
		begin := bytes.LastIndexByte(lines[:at], '\n') + 1
		*number += int64(bytes.Count(lines[:begin], []byte{'\n'}))
		end := begin + bytes.IndexByte(lines[begin:], '\n') + 1
		var e session.Event
		if json.Unmarshal(lines[begin:end], &e) == nil {
			if it, ok := item(session.Line{Event: e}); ok {
				if text := it.text(); strings.Contains(strings.ToLower(text), q) {
					if err := each(Hit{Number: *number, At: e.At, Kind: it.Kind, Text: around(text, q)}); err != nil {
						return err
					}
				}
			}
		}
		*number++
		lines, low = lines[end:], low[end:]
	}
	return nil
}

// around is a hit with some words on both sides.
func around(text, q string) string {
	const side = 60
	at := max(0, strings.Index(strings.ToLower(text), q))
	if at > len(text) {
		at = 0 // letters whose small form is longer
	}
	from := safetext.Boundary(text, min(len(text)-1, max(0, at-side)))
	return safetext.Line(safetext.Fit(strings.ToValidUTF8(text[from:], safetext.Replacement), 2*side+len(q)))
}
