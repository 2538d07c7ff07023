package event

import (
	"encoding/json"
	"regexp"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/safetext"
)

// maxText is how much of one text an event keeps. The whole line is in the transcript.
const maxText = 64 << 10

// clip bounds a text and makes it safe to show.
func clip(s string) string {
	return strings.ToValidUTF8(safetext.Cut(s, maxText), safetext.Replacement)
}

// clipInput bounds a tool's input, which is of no use in part.
func clipInput(raw json.RawMessage) (kept json.RawMessage, cut bool) {
	if len(raw) > maxText {
		return nil, true
	}
	return raw, false
}

// plainText is what a line outside of an agent's protocol gives.
func plainText(line []byte) []Event {
	if len(line) == 0 {
		return nil
	}
	return []Event{{Kind: KindText, Text: clip(string(line))}}
}

// unknown keeps a line of an unknown kind.
func unknown(line []byte) []Event {
	return []Event{{Kind: KindRaw, Raw: clip(string(line)), Cut: len(line) > maxText}}
}

// denials are the beginnings of the guard's own messages, which reach the model through every agent's hook.
const denials = "denied ("

// denial finds the guard's message in the result of a tool call.
func denial(text string) (words string, ok bool) {
	i := strings.Index(text, denials)
	if i < 0 {
		return "", false
	}
	return text[i:], true
}

// pattern is a regular expression that is compiled when it is first needed: most starts of cco need none.
func pattern(s string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(s) })
}
