package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
)

// find calls each for the items of a transcript that say something, in any case of letters. It looks at the raw lines
// first: few of them have to be read as what they are.
func find(ctx context.Context, r io.Reader, q string, each func(Hit) error) error {
	encoded, err := json.Marshal(q)
	if err != nil {
		return err
	}
	// A letter beyond ASCII may be written in another case: then only what is ASCII in it is looked for.
	var raw []byte
	for part := range bytes.FieldsFuncSeq(encoded[1:len(encoded)-1], func(r rune) bool { return r >= utf8.RuneSelf }) {
		if len(part) > len(raw) {
			raw = bytes.ToLower(part)
		}
	}
	lines := event.NewReader(r)
	for number := int64(0); ctx.Err() == nil; number++ {
		line, cut, err := lines.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		if cut || !bytes.Contains(bytes.ToLower(line), raw) {
			continue
		}
		var e session.Event
		if json.Unmarshal(line, &e) != nil {
			continue
		}
		it, ok := item(session.Line{Event: e})
		if text := it.text(); ok && strings.Contains(strings.ToLower(text), q) {
			if err := each(Hit{Number: number, At: e.At, Kind: it.Kind, Text: around(text, q)}); err != nil {
				return err
			}
		}
	}
	return ctx.Err()
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
