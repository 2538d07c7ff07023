package gate

import (
	"encoding/json"
	"strings"
)

// leaf is one value of a JSON or TOML file, with the keys that lead to it.
type leaf struct {
	key   string // apart by slashes; a part of a list is "[]"
	value string
	no    int
}

// maxDepth and maxLeaves bound what a hostile file can cost.
const (
	maxDepth  = 64
	maxLeaves = 500_000
)

// flattenJSON reads JSON, also with comments, with commas too many or with parts missing.
func flattenJSON(text string) (leaves []leaf) {
	type level struct {
		key  string
		list bool
	}
	text = strings.TrimPrefix(text, "\ufeff") // npm and others skip it too
	stack := []level{{}}
	key, pending, no := "", false, 1
	path := func(last string) string {
		var b strings.Builder
		for i, l := range stack[1:] {
			if i > 0 || l.key != "" { // the whole has no name
				b.WriteString(l.key + "/")
			}
		}
		return b.String() + last
	}
	put := func(value string) {
		if stack[len(stack)-1].list {
			key = "[]"
		} else if !pending {
			key, pending = value, true // perhaps a key: its colon comes next
			return
		}
		if len(leaves) < maxLeaves {
			leaves = append(leaves, leaf{path(key), value, no})
		}
		key, pending = "", false
	}
	colon := false
	for i := 0; i < len(text); i++ {
		switch b := text[i]; b {
		case '\n':
			no++
		case ' ', '\t', '\r':
		case ',':
			if !colon {
				key, pending = "", false
			}
			colon = false
		case ':':
			colon = true
		case '{', '[':
			if stack[len(stack)-1].list {
				key = "[]"
			}
			if len(stack) == maxDepth {
				return leaves
			}
			stack = append(stack, level{key, b == '['})
			key, pending, colon = "", false, false
		case '}', ']':
			if len(stack) > 1 {
				stack = stack[:len(stack)-1]
			}
			key, pending, colon = "", false, false
		case '"':
			s, n := jsonString(text[i:])
			i += n - 1
			put(s)
			colon = false
		case '/':
			end := strings.IndexByte(text[i:], '\n')
			if strings.HasPrefix(text[i:], "/*") {
				if end = strings.Index(text[i:], "*/"); end > 0 {
					no += strings.Count(text[i:i+end], "\n")
				}
			}
			if end < 0 {
				return leaves
			}
			i += end - 1
			if strings.HasPrefix(text[i+1:], "*/") {
				i += 2
			}
		default:
			n := strings.IndexAny(text[i:], ",:{}[]\" \t\r\n")
			if n <= 0 {
				n = len(text) - i
			}
			put(text[i : i+n])
			i += n - 1
			colon = false
		}
	}
	return leaves
}

// jsonString reads a string, and says how long it is with its quotes.
func jsonString(s string) (value string, n int) {
	for i := 1; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case '"':
			if json.Unmarshal([]byte(s[:i+1]), &value) != nil {
				value = s[1:i]
			}
			return value, i + 1
		case '\n':
			return s[1:i], i
		}
	}
	return s[1:], len(s)
}

// flattenTOML reads TOML line by line, and what pieces of it have in common with INI files.
func flattenTOML(text string) (leaves []leaf) {
	section, list, no := "", "", 0
	for raw := range strings.Lines(text) {
		no++
		t := strings.TrimSpace(raw)
		if t == "" || t[0] == '#' || len(leaves) == maxLeaves {
			continue
		}
		if list != "" {
			if done := tomlItems(t, list, no, &leaves); done {
				list = ""
			}
			continue
		}
		if t[0] == '[' {
			name := strings.Trim(strings.SplitN(t, "#", 2)[0], "[] \t")
			section = tomlPath(name)
			leaves = append(leaves, leaf{section, "", no})
			continue
		}
		name, value, ok := strings.Cut(t, "=")
		if !ok {
			continue
		}
		key := tomlPath(strings.TrimSpace(name))
		if section != "" {
			key = section + "/" + key
		}
		value = strings.TrimSpace(value)
		if strings.HasPrefix(value, "[") {
			if done := tomlItems(value[1:], key, no, &leaves); !done {
				list = key
			}
			continue
		}
		leaves = append(leaves, leaf{key, strings.Trim(value, `"'`), no})
	}
	return leaves
}

// tomlItems reads the items of a list on one line, and says whether the list ends there.
func tomlItems(t, key string, no int, leaves *[]leaf) (done bool) {
	for t != "" {
		t = strings.TrimLeft(t, " \t,")
		switch {
		case t == "" || t[0] == '#':
			return false
		case t[0] == ']':
			return true
		case t[0] == '"' || t[0] == '\'':
			end := strings.IndexByte(t[1:], t[0])
			if end < 0 {
				return false
			}
			*leaves = append(*leaves, leaf{key + "/[]", t[1 : end+1], no})
			t = t[end+2:]
		case t[0] == '{':
			end := strings.IndexByte(t, '}')
			if end < 0 {
				end = len(t) - 1
			}
			*leaves = append(*leaves, leaf{key + "/[]", t[:end+1], no})
			t = t[end+1:]
		default:
			end := strings.IndexAny(t, ",]#")
			if end < 0 {
				end = len(t)
			}
			*leaves = append(*leaves, leaf{key + "/[]", strings.TrimSpace(t[:end]), no})
			t = t[end:]
		}
	}
	return false
}

// tomlPath turns a.b."c.d" into a/b/c.d.
func tomlPath(s string) string {
	var b strings.Builder
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0 && c == quote:
			quote = 0
		case quote == 0 && (c == '"' || c == '\''):
			quote = c
		case quote == 0 && c == '.':
			b.WriteByte('/')
		case quote == 0 && c == ' ':
		default:
			b.WriteByte(c)
		}
	}
	return b.String()
}
