package config

import (
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// entry is one setting as it stands in a file.
type entry struct {
	key   key
	line  int
	value any
}

// parse gives the settings of a file in the order of their lines. A key that doesn't exist is an error.
func parse(file string, data []byte) ([]entry, error) {
	var top map[string]toml.Primitive
	md, err := toml.Decode(string(data), &top)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	p := &parser{md: &md, known: keys()}
	p.walk(nil, top)
	sort.SliceStable(p.entries, func(i, j int) bool { return p.entries[i].line < p.entries[j].line })
	sort.SliceStable(p.unknown, func(i, j int) bool { return p.unknown[i].Line < p.unknown[j].Line })
	if len(p.unknown) > 0 {
		first := p.unknown[0]
		first.File = file
		return nil, first
	}
	return p.entries, nil
}

func syntaxError(file string, err error) error {
	if e, ok := errors.AsType[toml.ParseError](err); ok {
		return &Error{File: file, Line: e.Position.Line, Err: errors.New(e.Message)}
	}
	return &Error{File: file, Err: err}
}

type parser struct {
	md      *toml.MetaData
	known   []key
	entries []entry
	unknown []*Error
}

func (p *parser) walk(prefix toml.Key, table map[string]toml.Primitive) {
	for name, value := range table {
		path := append(slices.Clone(prefix), name)
		full := path.String()
		if i := slices.IndexFunc(p.known, func(k key) bool { return k.name == full }); i >= 0 {
			var v any
			if err := p.md.PrimitiveDecode(value, &v); err != nil {
				p.unknown = append(p.unknown, &Error{Line: p.line(value), Key: full, Err: err})
				continue
			}
			p.entries = append(p.entries, entry{p.known[i], p.line(value), v})
			continue
		}
		if !slices.ContainsFunc(p.known, func(k key) bool { return strings.HasPrefix(k.name, full+".") }) {
			p.unknown = append(p.unknown, &Error{Line: p.line(value), Key: full, Err: p.advice(prefix)})
			continue
		}
		var below map[string]toml.Primitive
		if err := p.md.PrimitiveDecode(value, &below); err != nil {
			p.unknown = append(p.unknown, &Error{Line: p.line(value), Key: full, Err: errors.New("is a table: write [" + full + "]")})
			continue
		}
		p.walk(path, below)
	}
}

// advice names what could have been meant in a table.
func (p *parser) advice(table toml.Key) error {
	prefix := ""
	if len(table) > 0 {
		prefix = table.String() + "."
	}
	var names []string
	for _, k := range p.known {
		rest, ok := strings.CutPrefix(k.name, prefix)
		if !ok {
			continue
		}
		name, _, _ := strings.Cut(rest, ".")
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return fmt.Errorf("unknown key; there are %s", strings.Join(names, ", "))
}

// line finds where a value stands: the library tells it only in the error of a value that refuses to be decoded.
func (p *parser) line(value toml.Primitive) int {
	err := p.md.PrimitiveDecode(value, &refusal{})
	if e, ok := errors.AsType[toml.ParseError](err); ok && e.Position.Line > 0 {
		return e.Position.Line
	}
	// A table that only its keys brought into being has no line of its own.
	var below map[string]toml.Primitive
	if err := p.md.PrimitiveDecode(value, &below); err != nil {
		return 0
	}
	first := 0
	for _, v := range below {
		if n := p.line(v); n > 0 && (first == 0 || n < first) {
			first = n
		}
	}
	return first
}

type refusal struct{}

// UnmarshalTOML always fails, see line.
func (*refusal) UnmarshalTOML(any) error { return errors.New("refused") }
