package config

import (
	"bytes"
	"errors"
	"fmt"
	"slices"
	"sort"
	"strings"

	"github.com/BurntSushi/toml"
)

// entry is one setting of a file.
type entry struct {
	key   key
	line  int
	value any
}

// maxNesting is how many dots and braces a file may have outside of comments. The library's memory grows with the
// square of a key's depth, and a hostile file of a few kilobytes would use up all memory.
const maxNesting = 1000

func nesting(data []byte) int {
	n := 0
	for line := range bytes.Lines(data) {
		if !bytes.HasPrefix(bytes.TrimSpace(line), []byte("#")) {
			n += bytes.Count(line, []byte(".")) + bytes.Count(line, []byte("{"))
		}
	}
	return n
}

// parse gives the settings of a file in the order of their lines. A key that doesn't exist is an error.
func parse(file string, data []byte, known []key) ([]entry, error) {
	if n := nesting(data); n > maxNesting {
		return nil, &Error{File: file, Err: fmt.Errorf("%d dots and braces are too many for settings, %d are allowed", n,
			maxNesting)}
	}
	var top map[string]toml.Primitive
	md, err := toml.Decode(string(data), &top)
	if err != nil {
		return nil, syntaxError(file, err)
	}
	p := &parser{md: &md, known: known}
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

// retired are settings of machines that shared a PostgreSQL.
var retired = []string{"engine.database", "engine.password", "engine.bundles", "engine.bundle_max"}

const retiredWords = "is gone: machines share phases by Temporal now, see engine.temporal. Finish what lives in the " +
	"database with the cco before this one, until its `cco cruise list` shows nothing alive, and remove this line"

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
			err := p.advice(prefix)
			if slices.Contains(retired, full) {
				err = errors.New(retiredWords)
			}
			p.unknown = append(p.unknown, &Error{Line: p.line(value), Key: full, Err: err})
			continue
		}
		below, ok := p.table(value)
		if !ok {
			p.unknown = append(p.unknown, &Error{Line: p.line(value), Key: full,
				Err: errors.New("is a table: write [" + full + "]")})
			continue
		}
		p.walk(path, below)
	}
}

func (p *parser) table(value toml.Primitive) (map[string]toml.Primitive, bool) {
	var v any
	if err := p.md.PrimitiveDecode(value, &v); err != nil {
		return nil, false
	}
	if _, ok := v.(map[string]any); !ok {
		return nil, false // the library would give an empty table
	}
	var below map[string]toml.Primitive
	err := p.md.PrimitiveDecode(value, &below)
	return below, err == nil
}

// advice names the keys that a table may have.
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

// line finds the line of a value: the library gives it only in the error of a value that refuses to be decoded.
func (p *parser) line(value toml.Primitive) int {
	err := p.md.PrimitiveDecode(value, &refusal{})
	if e, ok := errors.AsType[toml.ParseError](err); ok && e.Position.Line > 0 {
		return e.Position.Line
	}
	// A table that only its dotted keys define has no line of its own.
	below, _ := p.table(value)
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
