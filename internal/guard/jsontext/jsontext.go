// Package jsontext reads JSON without reflection and almost without memory.
// The hook reads two texts for every tool call, and encoding/json takes longer
// for them than the guard for its decision. It accepts what encoding/json
// accepts, and gives the same values.
package jsontext

import (
	"errors"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The two ways in which a text can be other than what is asked for.
var (
	ErrSyntax = errors.New("it is not JSON")
	ErrKind   = errors.New("it holds a value of another kind")
)

// maxDepth is encoding/json's own bound on arrays and objects in each other.
const maxDepth = 10_000

// Valid says whether text is one JSON value.
func Valid(text string) bool {
	end, ok := value(text, space(text, 0), 0)
	return ok && space(text, end) == len(text)
}

// Null says whether text is the value null.
func Null(text string) bool { return trim(text) == "null" }

// Object calls each for the fields of an object, in their order, with their
// values as they stand in text. A name that comes twice is given twice; for
// encoding/json and for the agents the last one counts. The first error that
// each returns is returned, if all of text is JSON.
func Object(text string, each func(name, value string) error) error {
	return members(text, '{', each)
}

// Array is Object for the elements of an array, whose names are empty.
func Array(text string, each func(value string) error) error {
	return members(text, '[', func(_, value string) error { return each(value) })
}

func members(text string, open byte, each func(name, value string) error) error {
	if !Valid(text) {
		return ErrSyntax
	}
	text = trim(text)
	if text[0] != open {
		return ErrKind
	}
	// All is known to be well-formed from here on.
	for i := space(text, 1); i < len(text)-1; {
		name := ""
		if open == '{' {
			end, _ := quoted(text, i)
			name = unquote(text[i:end])
			i = space(text, space(text, end)+1) // past the colon
		}
		end, _ := value(text, i, 1)
		if err := each(name, text[i:end]); err != nil {
			return err
		}
		if i = space(text, end); text[i] == ',' {
			i = space(text, i+1)
		}
	}
	return nil
}

// String reads a text. Null is the empty one, as for encoding/json.
func String(text string) (string, error) {
	text = trim(text)
	switch end, ok := quoted(text, 0); {
	case ok && end == len(text):
		return unquote(text), nil
	case text == "null":
		return "", nil
	case Valid(text):
		return "", ErrKind
	}
	return "", ErrSyntax
}

// Strings reads an array of texts. Null is none.
func Strings(text string) ([]string, error) {
	if Null(text) {
		return nil, nil
	}
	n := 0
	if err := Array(text, func(string) error { n++; return nil }); err != nil {
		return nil, err
	}
	list := make([]string, 0, n)
	err := Array(text, func(value string) error {
		s, err := String(value)
		list = append(list, s)
		return err
	})
	if err != nil {
		return nil, err
	}
	return list, nil
}

// Bool reads true or false. Null is false.
func Bool(text string) (bool, error) {
	switch trim(text) {
	case "true":
		return true, nil
	case "false", "null":
		return false, nil
	}
	if Valid(text) {
		return false, ErrKind
	}
	return false, ErrSyntax
}

func trim(text string) string { return strings.Trim(text, " \t\r\n") }

// space skips white space from i on.
func space(text string, i int) int {
	for i < len(text) && (text[i] == ' ' || text[i] == '\n' || text[i] == '\t' || text[i] == '\r') {
		i++
	}
	return i
}

// value finds the end of the value that begins at i, inside of depth others.
func value(text string, i, depth int) (end int, ok bool) {
	if i >= len(text) {
		return i, false
	}
	switch c := text[i]; {
	case c == '"':
		return quoted(text, i)
	case c == '{' || c == '[':
		if depth >= maxDepth {
			return i, false
		}
		return container(text, i, depth+1)
	case c == '-' || digit(c):
		return number(text, i)
	}
	for _, word := range [...]string{"true", "false", "null"} {
		if strings.HasPrefix(text[i:], word) {
			return i + len(word), true
		}
	}
	return i, false
}

// container finds the end of the object or array that begins at i.
func container(text string, i, depth int) (end int, ok bool) {
	open := text[i]
	closing := open + 2 // as in ASCII: {} and []
	if i = space(text, i+1); i < len(text) && text[i] == closing {
		return i + 1, true
	}
	for {
		if open == '{' {
			if i, ok = quoted(text, i); !ok {
				return i, false
			}
			if i = space(text, i); i >= len(text) || text[i] != ':' {
				return i, false
			}
			i = space(text, i+1)
		}
		if i, ok = value(text, i, depth); !ok {
			return i, false
		}
		i = space(text, i)
		switch {
		case i >= len(text):
			return i, false
		case text[i] == closing:
			return i + 1, true
		case text[i] != ',':
			return i, false
		}
		i = space(text, i+1)
	}
}

// quoted finds the end of the string that begins at i.
func quoted(text string, i int) (end int, ok bool) {
	if i >= len(text) || text[i] != '"' {
		return i, false
	}
	for i++; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			return i + 1, true
		case c < ' ':
			return i, false
		case c != '\\':
		case i+1 < len(text) && strings.IndexByte(`"\/bfnrt`, text[i+1]) >= 0:
			i++
		case hex(text, i) >= 0:
			i += 5
		default:
			return i, false
		}
	}
	return i, false
}

// hex reads the escape \uXXXX that begins at i; -1 if there is none.
func hex(text string, i int) rune {
	if len(text) < i+6 || text[i] != '\\' || text[i+1] != 'u' {
		return -1
	}
	var r rune
	for _, c := range []byte(text[i+2 : i+6]) {
		switch {
		case digit(c):
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return -1
		}
		r = r<<4 | rune(c)
	}
	return r
}

func digit(c byte) bool { return '0' <= c && c <= '9' }

// number finds the end of the number that begins at i.
func number(text string, i int) (end int, ok bool) {
	digits := func() bool {
		from := i
		for i < len(text) && digit(text[i]) {
			i++
		}
		return i > from
	}
	if text[i] == '-' {
		i++
	}
	if i < len(text) && text[i] == '0' {
		i++
	} else if !digits() {
		return i, false
	}
	if i < len(text) && text[i] == '.' {
		if i++; !digits() {
			return i, false
		}
	}
	if i < len(text) && (text[i] == 'e' || text[i] == 'E') {
		if i++; i < len(text) && (text[i] == '+' || text[i] == '-') {
			i++
		}
		if !digits() {
			return i, false
		}
	}
	return i, true
}

// unquote gives what a well-formed string stands for. What is no UTF-8
// becomes U+FFFD.
func unquote(text string) string {
	text = text[1 : len(text)-1]
	if strings.IndexByte(text, '\\') < 0 && utf8.ValidString(text) {
		return text
	}
	var b strings.Builder
	b.Grow(len(text))
	for i := 0; i < len(text); {
		if text[i] != '\\' {
			r, size := utf8.DecodeRuneInString(text[i:])
			b.WriteRune(r)
			i += size
			continue
		}
		if r := hex(text, i); r >= 0 {
			i += 6
			if utf16.IsSurrogate(r) {
				if r = utf16.DecodeRune(r, hex(text, i)); r != utf8.RuneError {
					i += 6
				}
			}
			b.WriteRune(r)
			continue
		}
		c := text[i+1]
		if at := strings.IndexByte("bfnrt", c); at >= 0 {
			c = "\b\f\n\r\t"[at]
		}
		b.WriteByte(c)
		i += 2
	}
	return b.String()
}

// Quote is s as a JSON string. What is no UTF-8 becomes U+FFFD.
func Quote(s string) string {
	const digits = "0123456789abcdef"
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteByte(byte(r))
		case r == '\n':
			b.WriteString(`\n`)
		case r >= ' ' && r != 0x7f && r != '\u2028' && r != '\u2029':
			b.WriteRune(r)
		default:
			b.WriteString(`\u`)
			for shift := 12; shift >= 0; shift -= 4 {
				b.WriteByte(digits[r>>shift&15])
			}
		}
	}
	b.WriteByte('"')
	return b.String()
}
