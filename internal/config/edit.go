package config

import (
	"errors"
	"maps"
	"reflect"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

var errLayout = errors.New("it is written in a way that cco can't change: edit it by hand")

// stated is what a file says: the values by their whole keys, the parts of which sep stands between.
type stated map[string]any

const sep = "\x00"

func readStated(text string) (stated, error) {
	var all map[string]any
	_, err := toml.Decode(text, &all)
	s := stated{}
	s.add("", all)
	return s, err
}

func (s stated) add(prefix string, table map[string]any) {
	for name, v := range table {
		if below, is := v.(map[string]any); is {
			s.add(prefix+name+sep, below)
			continue
		}
		s[prefix+name] = v
	}
}

// below is what is said of a key, or of keys below it.
func (s stated) below(key string) stated {
	some := maps.Clone(s)
	maps.DeleteFunc(some, func(k string, _ any) bool { return k != key && !strings.HasPrefix(k, key+sep) })
	return some
}

func (s stated) without(key string) stated {
	rest := maps.Clone(s)
	for k := range s.below(key) {
		delete(rest, k)
	}
	return rest
}

// inline is what is said below a key, as one value.
func (s stated) inline(key string) string {
	var parts []string
	for _, k := range slices.Sorted(maps.Keys(s.below(key))) {
		parts = append(parts, dotted(strings.TrimPrefix(k, key+sep))+" = "+tomlText(s[k]))
	}
	return "{ " + strings.Join(parts, ", ") + " }"
}

func dotted(key string) string {
	parts := strings.Split(key, sep)
	for i := range parts {
		parts[i] = tomlKey(parts[i])
	}
	return strings.Join(parts, ".")
}

// editor changes a key of a file. It knows little of TOML: it tries lines, and what comes of that is read again.
type editor struct {
	lines     []string
	end       string // of a line
	was, want stated
}

// edit gives a file in which a key has another value, or with "" none. Everything else stays as it is.
func edit(text string, key []string, value string) (string, error) {
	e := &editor{lines: slices.Collect(strings.Lines(text)), end: "\n"}
	if strings.Contains(text, "\r\n") {
		e.end = "\r\n"
	}
	if n := len(e.lines); n > 0 && !strings.HasSuffix(text, "\n") {
		e.lines[n-1] += e.end
	}
	whole := strings.Join(key, sep)
	var err error
	if e.was, err = readStated(text); err != nil {
		return "", err
	}
	e.want = e.was.without(whole)
	if value != "" {
		v, err := readStated("v = " + value)
		if err != nil {
			return "", err
		}
		for k, v := range v {
			e.want[whole+strings.TrimPrefix(k, "v")] = v
		}
	}
	there := len(e.was.below(whole)) > 0
	if !there && value == "" {
		return text, nil
	}
	if now, ok := e.replace(whole, value); ok {
		return now, nil
	}
	last := len(key) - 1
	for n := last; n > 0; n-- { // it may be within an inline table, which is one value
		part := strings.Join(key[:n], sep)
		if now, ok := e.replace(part, e.want.inline(part)); ok {
			return now, nil
		}
	}
	if now, ok := e.insert(key, value); ok {
		return now, nil
	}
	now := strings.Join(e.lines, "")
	if now != "" {
		now += e.end
	}
	now += "[" + dotted(strings.Join(key[:last], sep)) + "]" + e.end + tomlKey(key[last]) + " = " + value + e.end
	if !says(now, e.want) {
		return "", errLayout
	}
	return now, nil
}

func says(text string, want stated) bool {
	got, err := readStated(text)
	return err == nil && reflect.DeepEqual(got, want)
}

// joined is the file with some of its lines replaced.
func (e *editor) joined(from, to int, between string) string {
	return strings.Join(e.lines[:from], "") + between + strings.Join(e.lines[to:], "")
}

// replace replaces the lines that state a key: those without which it is gone and nothing else.
func (e *editor) replace(key, value string) (string, bool) {
	without := e.was.without(key)
	for from, line := range e.lines {
		name, _, ok := strings.Cut(line, "=")
		if !ok || silent(line) || !strings.Contains(name, key[strings.LastIndex(key, sep)+1:]) {
			continue
		}
		to := from + 1
		for to < len(e.lines) && !says(e.joined(from, to, ""), without) {
			to++
		}
		now := e.joined(from, to, "")
		if value != "" && says(now, without) {
			now = e.joined(from, to, strings.TrimRight(name, " \t")+" = "+value+e.tail(from, to))
		}
		if says(now, e.want) {
			return now, true
		}
	}
	return "", false
}

// tail is what stands behind the value in a line: a comment, and its end.
func (e *editor) tail(from, to int) string {
	line := e.lines[from]
	for i := range line {
		if _, err := readStated(line[:i]); line[i] == '#' && to == from+1 && err == nil {
			return line[len(strings.TrimRight(line[:i], " \t")):]
		}
	}
	return e.end
}

// insert adds a key to the table that it belongs to: behind the last line where its name means just that.
func (e *editor) insert(key []string, value string) (string, bool) {
	for n := len(key) - 1; n >= 0; n-- {
		for at := len(e.lines); at > 0; at-- {
			line := e.lines[at-1]
			// Where a table is made of dotted keys at the top, it can have no header.
			if silent(line) || n == 0 && !strings.HasPrefix(strings.TrimSpace(line), key[0]) {
				continue
			}
			indent := line[:len(line)-len(strings.TrimLeft(line, " \t"))]
			now := e.joined(at, at, indent+dotted(strings.Join(key[n:], sep))+" = "+value+e.end)
			if says(now, e.want) {
				return now, true
			}
		}
	}
	return "", false
}

// silent says whether a line says nothing.
func silent(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || line[0] == '#'
}
