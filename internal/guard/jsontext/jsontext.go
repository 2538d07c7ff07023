// Package jsontext reads JSON without reflection. The hook reads three texts for every tool call; encoding/json takes
// longer for them than the guard for its decision, and a library's tokens a twentieth of the hook's time. It accepts
// what encoding/json accepts, and gives the same values.
package jsontext

import (
	"errors"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// maxDepth is encoding/json's own bound on arrays and objects in each other.
const maxDepth = 10_000

// Value is a value of JSON. The zero value is of no kind.
type Value struct {
	Raw   string  // as it stands in the text
	Items []Field // of an object or array, in their order; a name may come twice
	text  string
}

// Field is what stands in an object, or without a name in an array.
type Field struct {
	Name string
	Value
}

// Parse reads a text that is one value.
func Parse(text string) (Value, error) {
	r := reader{text: text}
	v, ok := r.value(0)
	if r.next(); !ok || r.at < len(text) {
		return Value{}, errors.New("it is not JSON")
	}
	return v, nil
}

// Object says whether it is an object.
func (v Value) Object() bool { return strings.HasPrefix(v.Raw, "{") }

// Null says whether it is null.
func (v Value) Null() bool { return v.Raw == "null" }

// Field is the field of an object with this name. The last one counts, as for encoding/json and for the agents.
func (v Value) Field(name string) (found Value, ok bool) {
	if !v.Object() {
		return Value{}, false
	}
	for _, f := range v.Items {
		if f.Name == name {
			found, ok = f.Value, true
		}
	}
	return found, ok
}

// Text is what a string holds. Null is the empty one, as for encoding/json.
func (v Value) Text() (s string, ok bool) { return v.text, v.Null() || strings.HasPrefix(v.Raw, `"`) }

// Texts are the strings of an array. Null is none.
func (v Value) Texts() (list []string, ok bool) {
	if !strings.HasPrefix(v.Raw, "[") {
		return nil, v.Null()
	}
	list = make([]string, len(v.Items))
	for i, e := range v.Items {
		if list[i], ok = e.Text(); !ok {
			return nil, false
		}
	}
	return list, true
}

// reader reads a text from a place on.
type reader struct {
	text string
	at   int
}

// next passes over white space, and gives the byte behind it; 0 at the end.
func (r *reader) next() byte {
	for ; r.at < len(r.text); r.at++ {
		switch c := r.text[r.at]; c {
		case ' ', '\n', '\t', '\r':
		default:
			return c
		}
	}
	return 0
}

// value reads a value that stands inside of depth others.
func (r *reader) value(depth int) (v Value, ok bool) {
	c := r.next()
	from := r.at
	switch c {
	case '"':
		v.text, ok = r.quoted()
	case '{', '[':
		v.Items, ok = r.items(c, depth+1)
	default:
		if n := strings.IndexAny(r.text[from:], " \n\t\r,]}"); n >= 0 {
			r.at += n
		} else {
			r.at = len(r.text)
		}
		word := r.text[from:r.at]
		ok = word == "true" || word == "false" || word == "null" || number(word)
	}
	if ok {
		v.Raw = r.text[from:r.at]
	}
	return v, ok
}

// items reads what stands in an object or array.
func (r *reader) items(open byte, depth int) (list []Field, ok bool) {
	closing := open + 2 // as in ASCII: {} and []
	r.at++
	if r.next() == closing {
		r.at++
		return nil, depth <= maxDepth
	}
	for depth <= maxDepth {
		var f Field
		if open == '{' {
			if f.Name, ok = r.quoted(); !ok || r.next() != ':' {
				return nil, false
			}
			r.at++
		}
		if f.Value, ok = r.value(depth); !ok {
			return nil, false
		}
		list = append(list, f)
		c := r.next()
		r.at++
		if c != ',' {
			return list, c == closing
		}
	}
	return nil, false
}

// quoted reads a string. What is no UTF-8 in it becomes U+FFFD.
func (r *reader) quoted() (string, bool) {
	if r.next() != '"' {
		return "", false
	}
	var b strings.Builder // what stands before from
	r.at++
	for from := r.at; r.at < len(r.text); {
		switch c := r.text[r.at]; {
		case c == '"':
			rest := valid(r.text[from:r.at])
			r.at++
			if b.Len() == 0 {
				return rest, true
			}
			b.WriteString(rest)
			return b.String(), true
		case c < ' ':
			return "", false
		case c == '\\':
			char, size := escape(r.text[r.at:])
			if size == 0 {
				return "", false
			}
			b.WriteString(valid(r.text[from:r.at]))
			b.WriteRune(char)
			r.at += size
			from = r.at
		default:
			r.at++
		}
	}
	return "", false
}

func valid(s string) string {
	if utf8.ValidString(s) {
		return s
	}
	return string([]rune(s))
}

// escape reads the escape that a text begins with, and says how long it is; 0 if it is none.
func escape(text string) (char rune, size int) {
	if len(text) < 2 {
		return 0, 0
	}
	if i := strings.IndexByte(`"\/bfnrt`, text[1]); i >= 0 {
		return rune("\"\\/\b\f\n\r\t"[i]), 2
	}
	char = hex(text)
	if char < 0 {
		return 0, 0
	}
	if utf16.IsSurrogate(char) {
		if char = utf16.DecodeRune(char, hex(text[6:])); char != utf8.RuneError {
			return char, 12
		}
	}
	return char, 6
}

// hex reads \uXXXX; -1 if a text begins otherwise.
func hex(text string) rune {
	if len(text) < 6 || text[:2] != `\u` {
		return -1
	}
	n, err := strconv.ParseUint(text[2:6], 16, 16)
	if err != nil {
		return -1
	}
	return rune(n)
}

// number says whether a text is a number: digits without a needless zero, perhaps with a fraction and an exponent.
func number(s string) bool {
	s, exponent, powered := strings.Cut(strings.ToLower(s), "e")
	whole, fraction, dotted := strings.Cut(strings.TrimPrefix(s, "-"), ".")
	if powered && exponent != "" && (exponent[0] == '+' || exponent[0] == '-') {
		exponent = exponent[1:]
	}
	return digits(whole) && (whole[0] != '0' || len(whole) == 1) && dotted == digits(fraction) &&
		powered == digits(exponent)
}

func digits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// Quote is s as a JSON string. What is no UTF-8 becomes U+FFFD.
func Quote(s string) string {
	const digits = "0123456789abcdef"
	b := []byte{'"'}
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b = append(b, '\\', byte(r))
		case r == '\n':
			b = append(b, `\n`...)
		case r < ' ' || r == 0x7f:
			b = append(b, `\u00`...)
			b = append(b, digits[r>>4], digits[r&15])
		default:
			b = utf8.AppendRune(b, r)
		}
	}
	return string(append(b, '"'))
}
