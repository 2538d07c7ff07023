package event

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// cursor walks over JSON a few times as fast as encoding/json. It doesn't see every mistake in what it skips, and gives
// up on anything unusual: then its users fall back to encoding/json.
type cursor struct {
	text []byte
	at   int
}

func (c *cursor) space() {
	for c.at < len(c.text) && (c.text[c.at] == ' ' || c.text[c.at] == '\t') {
		c.at++
	}
}

func (c *cursor) take(b byte) bool {
	c.space()
	if c.at < len(c.text) && c.text[c.at] == b {
		c.at++
		return true
	}
	return false
}

// str skips a string and gives what is between its quotes.
func (c *cursor) str() ([]byte, bool) {
	if !c.take('"') {
		return nil, false
	}
	start := c.at
	for {
		i := bytes.IndexByte(c.text[c.at:], '"')
		if i < 0 {
			return nil, false
		}
		c.at += i + 1
		slashes := 0
		for k := c.at - 2; k >= start && c.text[k] == '\\'; k-- {
			slashes++
		}
		if slashes%2 == 0 {
			return c.text[start : c.at-1], true
		}
	}
}

// value skips any value and gives its raw text.
func (c *cursor) value() ([]byte, bool) {
	c.space()
	start, depth := c.at, 0
	for c.at < len(c.text) {
		switch c.text[c.at] {
		case '"':
			if _, ok := c.str(); !ok {
				return nil, false
			}
		case '{', '[':
			depth++
			c.at++
			continue
		case '}', ']':
			if depth == 0 {
				return c.text[start:c.at], c.at > start
			}
			depth--
			c.at++
		case ',':
			if depth == 0 {
				return c.text[start:c.at], c.at > start
			}
			c.at++
			continue
		default:
			c.at++
			continue
		}
		if depth == 0 {
			return c.text[start:c.at], true
		}
	}
	return nil, false
}

// object calls each with the fields of an object that is all of the text.
func object(text []byte, each func(key, value []byte) bool) bool {
	c := &cursor{text: text}
	if !c.take('{') {
		return false
	}
	for first := true; !c.take('}'); first = false {
		if !first && !c.take(',') {
			return false
		}
		key, ok := c.str()
		if !ok || !c.take(':') {
			return false
		}
		value, ok := c.value()
		if !ok || !each(key, value) {
			return false
		}
	}
	c.space()
	return c.at == len(text)
}

// array is object for the elements of an array.
func array(text []byte, each func(value []byte) bool) bool {
	c := &cursor{text: text}
	if !c.take('[') {
		return false
	}
	for first := true; !c.take(']'); first = false {
		if !first && !c.take(',') {
			return false
		}
		if value, ok := c.value(); !ok || !each(value) {
			return false
		}
	}
	c.space()
	return c.at == len(text)
}

// text reads a string, or null as the empty one.
func text(value []byte, to *string) bool {
	if string(value) == "null" {
		return true
	}
	if len(value) < 2 || value[0] != '"' || value[len(value)-1] != '"' {
		return false
	}
	raw := value[1 : len(value)-1]
	if bytes.IndexByte(raw, '\\') < 0 {
		*to = string(raw)
		return true
	}
	if bytes.Contains(raw, []byte(`\u`)) {
		return json.Unmarshal(value, to) == nil
	}
	return unescape(raw, to)
}

func unescape(raw []byte, to *string) bool {
	var b strings.Builder
	b.Grow(len(raw))
	for {
		i := bytes.IndexByte(raw, '\\')
		if i < 0 || i+1 == len(raw) {
			b.Write(raw)
			*to = b.String()
			return i < 0
		}
		b.Write(raw[:i])
		k := strings.IndexByte(`"\/bfnrt`, raw[i+1])
		if k < 0 {
			return false
		}
		b.WriteByte("\"\\/\b\f\n\r\t"[k])
		raw = raw[i+2:]
	}
}

func number(value []byte, to *int64) bool {
	if string(value) == "null" {
		return true
	}
	n, err := strconv.ParseInt(string(value), 10, 64)
	*to = n
	return err == nil
}

func truth(value []byte, to *bool) bool {
	*to = string(value) == "true"
	return *to || string(value) == "false" || string(value) == "null"
}
