package settings

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// node is a JSON value with its place in the text, so that a file can be changed without being written anew.
// Comments and trailing commas are read as agents read them.
type node struct {
	kind       byte // '{', '[', '"' or 'v' for all others
	start, end int
	members    []member // of an object
	elems      []node   // of an array
	text       string   // of a string; the literal of others
}

type member struct {
	key   string
	start int // of the key
	value node
}

func (n node) get(key string) (node, bool) {
	for i := len(n.members) - 1; i >= 0; i-- { // the last one counts, as in every parser of theirs
		if n.members[i].key == key {
			return n.members[i].value, true
		}
	}
	return node{}, false
}

// at follows keys from object to object.
func (n node) at(keys ...string) (node, bool) {
	for _, k := range keys {
		var ok bool
		if n, ok = n.get(k); !ok {
			return node{}, false
		}
	}
	return n, true
}

func (n node) is(literal string) bool { return n.kind == 'v' && n.text == literal }

const maxDepth = 64

type jsonParser struct {
	text  string
	pos   int
	depth int
}

var errEnd = errors.New("it ends in the middle")

// parseJSON reads a settings file, whose top must be an object.
func parseJSON(data []byte) (node, error) {
	p := &jsonParser{text: string(data)}
	n, err := p.value()
	if err == nil {
		err = p.space()
	}
	switch {
	case err != nil:
		return node{}, fmt.Errorf("at byte %d: %w", p.pos, err)
	case p.pos < len(p.text):
		return node{}, fmt.Errorf("at byte %d: something follows the object", p.pos)
	case n.kind != '{':
		return node{}, errors.New("it is not an object")
	}
	return n, nil
}

// space skips blanks and comments.
func (p *jsonParser) space() error {
	for p.pos < len(p.text) {
		rest := p.text[p.pos:]
		switch {
		case strings.ContainsRune(" \t\r\n", rune(rest[0])):
			p.pos++
		case strings.HasPrefix(rest, "\ufeff"):
			p.pos += len("\ufeff")
		case strings.HasPrefix(rest, "//"):
			i := strings.IndexByte(rest, '\n')
			if i < 0 {
				i = len(rest)
			}
			p.pos += i
		case strings.HasPrefix(rest, "/*"):
			i := strings.Index(rest, "*/")
			if i < 0 {
				return errEnd
			}
			p.pos += i + 2
		default:
			return nil
		}
	}
	return nil
}

func (p *jsonParser) value() (node, error) {
	if err := p.space(); err != nil {
		return node{}, err
	}
	if p.pos >= len(p.text) {
		return node{}, errEnd
	}
	if p.depth++; p.depth > maxDepth {
		return node{}, errors.New("it is nested too deeply")
	}
	defer func() { p.depth-- }()
	switch p.text[p.pos] {
	case '{':
		return p.object()
	case '[':
		return p.array()
	case '"':
		return p.str()
	default:
		return p.literal()
	}
}

func (p *jsonParser) str() (node, error) {
	start := p.pos
	for i := start + 1; i < len(p.text); i++ {
		switch p.text[i] {
		case '\\':
			i++
		case '"':
			p.pos = i + 1
			n := node{kind: '"', start: start, end: p.pos}
			return n, json.Unmarshal([]byte(p.text[start:p.pos]), &n.text)
		}
	}
	return node{}, errEnd
}

func (p *jsonParser) literal() (node, error) {
	start := p.pos
	for p.pos < len(p.text) && !strings.ContainsRune(" \t\r\n,]}/", rune(p.text[p.pos])) {
		p.pos++
	}
	n := node{kind: 'v', start: start, end: p.pos, text: p.text[start:p.pos]}
	if !json.Valid([]byte(n.text)) {
		return node{}, fmt.Errorf("%q is no value", n.text)
	}
	return n, nil
}

func (p *jsonParser) object() (node, error) {
	n := node{kind: '{', start: p.pos}
	err := p.list('}', func() error {
		key, err := p.str()
		if err != nil {
			return err
		}
		if err := p.space(); err != nil {
			return err
		}
		if p.pos >= len(p.text) || p.text[p.pos] != ':' {
			return errors.New("a colon is missing")
		}
		p.pos++
		v, err := p.value()
		n.members = append(n.members, member{key.text, key.start, v})
		return err
	})
	n.end = p.pos
	return n, err
}

func (p *jsonParser) array() (node, error) {
	n := node{kind: '[', start: p.pos}
	err := p.list(']', func() error {
		v, err := p.value()
		n.elems = append(n.elems, v)
		return err
	})
	n.end = p.pos
	return n, err
}

// list reads what stands between brackets, a comma after each but perhaps the last.
func (p *jsonParser) list(closing byte, item func() error) error {
	p.pos++
	for needComma := false; ; needComma = true {
		if err := p.space(); err != nil {
			return err
		}
		if p.pos < len(p.text) && needComma && p.text[p.pos] == ',' {
			p.pos++
			if err := p.space(); err != nil {
				return err
			}
			needComma = false
		}
		switch {
		case p.pos >= len(p.text):
			return errEnd
		case p.text[p.pos] == closing:
			p.pos++
			return nil
		case needComma:
			return errors.New("a comma is missing")
		case closing == '}' && p.text[p.pos] != '"':
			return errors.New("a key is missing")
		}
		if err := item(); err != nil {
			return err
		}
	}
}
