package config

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// statement is a key with its value in a file, or within an inline table.
type statement struct {
	key        []string // with those of its table
	table      int      // the header that it stands below, -1 for none
	from, to   int      // its lines
	value, end int      // its value
}

// header begins a table.
type header struct {
	key   []string
	array bool
	to    int // the end of its line
}

// layout is where the statements of a file are. It reads just enough of TOML: what it makes of a file is read again by
// the real parser before it is written.
type layout struct {
	text       string
	statements []statement
	headers    []header
}

var errLayout = errors.New("it is written in a way that cco can't change: edit it by hand")

func readLayout(text string) (layout, error) {
	l := layout{text: text}
	for i := 0; i < len(text); {
		start := i
		i = skip(text, i, " \t")
		switch {
		case i == len(text):
		case text[i] == '#' || text[i] == '\n' || text[i] == '\r':
		case text[i] == '[':
			array := strings.HasPrefix(text[i:], "[[")
			key, end, err := readKey(text, i+1+btoi(array))
			if err != nil {
				return l, err
			}
			l.headers = append(l.headers, header{key, array, lineEnd(text, end)})
			i = end
		default:
			key, at, err := readKey(text, i)
			if err != nil || at == len(text) || text[at] != '=' {
				return l, errLayout
			}
			st := statement{table: len(l.headers) - 1, from: start, value: skip(text, at+1, " \t")}
			if st.table >= 0 {
				key = append(slices.Clone(l.headers[st.table].key), key...)
			}
			if st.end, err = valueEnd(text, st.value); err != nil {
				return l, err
			}
			st.key, st.to = key, lineEnd(text, st.end)
			l.statements = append(l.statements, st)
			i = st.end
		}
		i = lineEnd(text, i)
	}
	return l, nil
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

func skip(text string, i int, chars string) int {
	for i < len(text) && strings.IndexByte(chars, text[i]) >= 0 {
		i++
	}
	return i
}

// lineEnd is behind the end of a line.
func lineEnd(text string, i int) int {
	if n := strings.IndexByte(text[i:], '\n'); n >= 0 {
		return i + n + 1
	}
	return len(text)
}

// readKey reads a dotted key, and gives the place of what follows it.
func readKey(text string, i int) (key []string, end int, err error) {
	for {
		i = skip(text, i, " \t")
		start := i
		if i < len(text) && (text[i] == '"' || text[i] == '\'') {
			if i, err = stringEnd(text, i); err != nil {
				return nil, 0, err
			}
			if strings.Contains(text[start:i], `\`) {
				return nil, 0, errLayout // no key of ours has one
			}
			key = append(key, text[start+1:i-1])
		} else {
			for i < len(text) && strings.IndexByte(" \t\r\n.=]#[{}\"',", text[i]) < 0 {
				i++
			}
			if i == start {
				return nil, 0, errLayout
			}
			key = append(key, text[start:i])
		}
		i = skip(text, i, " \t")
		if i == len(text) || text[i] != '.' {
			return key, i, nil
		}
		i++
	}
}

func stringEnd(text string, i int) (int, error) {
	quote := text[i : i+1]
	long := strings.HasPrefix(text[i:], strings.Repeat(quote, 3))
	if long {
		quote = strings.Repeat(quote, 3)
	}
	for i += len(quote); i < len(text); i++ {
		switch {
		case text[i] == '\\' && quote[0] == '"':
			i++
		case text[i] == '\n' && !long:
			return 0, errLayout
		case strings.HasPrefix(text[i:], quote):
			i += len(quote)
			for n := 0; long && n < 2 && i < len(text) && text[i] == quote[0]; n++ { // may end with two quotes of its own
				i++
			}
			return i, nil
		}
	}
	return 0, errLayout
}

// valueEnd is behind a value.
func valueEnd(text string, i int) (int, error) {
	if i == len(text) {
		return 0, errLayout
	}
	switch text[i] {
	case '"', '\'':
		return stringEnd(text, i)
	case '[', '{':
		closing := map[byte]byte{'[': ']', '{': '}'}[text[i]]
		for i++; i < len(text); {
			switch c := text[i]; {
			case c == closing:
				return i + 1, nil
			case c == '#':
				i = lineEnd(text, i)
			case strings.IndexByte("\"'[{", c) >= 0:
				end, err := valueEnd(text, i)
				if err != nil {
					return 0, err
				}
				i = end
			default:
				i++
			}
		}
		return 0, errLayout
	}
	start := i
	for i < len(text) && strings.IndexByte(" \t\r\n,]}#", text[i]) < 0 {
		i++
	}
	if i == start {
		return 0, errLayout
	}
	return i, nil
}

// edit gives a file in which a key has another value, or with "" none. Everything else stays as it is.
func edit(text string, key []string, value string) (string, error) {
	l, err := readLayout(text)
	if err != nil {
		return "", err
	}
	for _, st := range l.statements {
		switch {
		case slices.Equal(st.key, key) && value == "":
			return text[:st.from] + text[st.to:], nil
		case slices.Equal(st.key, key):
			return text[:st.value] + value + text[st.end:], nil
		case below(st.key, key) && text[st.value] == '{':
			return editInline(text, st.value, key[len(st.key):], value)
		}
	}
	if value == "" {
		return text, nil
	}
	return l.insert(key, value), nil
}

func below(table, key []string) bool {
	return len(table) < len(key) && slices.Equal(table, key[:len(table)])
}

// editInline changes a key of an inline table.
func editInline(text string, open int, key []string, value string) (string, error) {
	i := skip(text, open+1, " \t\r\n")
	first := i
	for i < len(text) && text[i] != '}' {
		begin := i
		name, at, err := readKey(text, i)
		if err != nil || at == len(text) || text[at] != '=' {
			return "", errLayout
		}
		start := skip(text, at+1, " \t")
		end, err := valueEnd(text, start)
		if err != nil {
			return "", err
		}
		i = skip(text, end, " \t\r\n")
		comma := i < len(text) && text[i] == ','
		switch {
		case slices.Equal(name, key) && value == "" && comma:
			return text[:begin] + text[skip(text, i+1, " \t"):], nil
		case slices.Equal(name, key) && value == "":
			return strings.TrimRight(text[:begin], " \t,") + " " + text[i:], nil
		case slices.Equal(name, key):
			return text[:start] + value + text[end:], nil
		case below(name, key) && text[start] == '{':
			return editInline(text, start, key[len(name):], value)
		}
		if comma {
			i = skip(text, i+1, " \t\r\n")
		}
	}
	if value == "" || i >= len(text) {
		return text, nil
	}
	pair := dotted(key) + " = " + value
	if first == i { // it is empty
		return text[:open+1] + " " + pair + " " + text[i:], nil
	}
	return strings.TrimRight(text[:i], " \t\r\n,") + ", " + pair + " " + text[i:], nil
}

func dotted(key []string) string {
	var parts []string
	for _, k := range key {
		parts = append(parts, tomlKey(k))
	}
	return strings.Join(parts, ".")
}

// insert adds a key to the table that it belongs to, or a table with it at the end.
func (l layout) insert(key []string, value string) string {
	best := -1
	for i, h := range l.headers {
		if !h.array && below(h.key, key) && (best < 0 || len(h.key) > len(l.headers[best].key)) {
			best = i
		}
	}
	at, indent, found := 0, "", best >= 0
	if found {
		at = l.headers[best].to
	}
	for _, st := range l.statements {
		// Where a table is made of dotted keys at the top, it can have no header.
		if st.table == best && (best >= 0 || st.key[0] == key[0]) {
			line := l.text[st.from:]
			at, indent, found = st.to, line[:skip(line, 0, " \t")], true
		}
	}
	end := "\n"
	if strings.Contains(l.text, "\r\n") {
		end = "\r\n"
	}
	if found {
		name := key
		if best >= 0 {
			name = key[len(l.headers[best].key):]
		}
		return endLine(l.text[:at], end) + indent + dotted(name) + " = " + value + end + l.text[at:]
	}
	text := endLine(l.text, end)
	if text != "" {
		text += end
	}
	return text + fmt.Sprintf("[%s]%s%s = %s%s", dotted(key[:len(key)-1]), end, tomlKey(key[len(key)-1]), value, end)
}

// endLine ends a text with the end of a line.
func endLine(text, end string) string {
	if text == "" || strings.HasSuffix(text, "\n") {
		return text
	}
	return text + end
}
