// Package fish writes scripts of fish as bash has them.
package fish

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// ToBash writes a fish script as bash would have it; false if it holds what
// bash has nothing for.
func ToBash(source string) (string, bool) {
	var out strings.Builder
	var ends []string
	for _, st := range statements(source) {
		part, rest, _ := strings.Cut(st, " ")
		rest = strings.TrimSpace(rest)
		switch part {
		case "for", "while":
			st = part + " " + rest + "; do"
			ends = append(ends, "done")
		case "if":
			st = "if " + rest + "; then"
			ends = append(ends, "fi")
		case "else":
			if condition, ok := strings.CutPrefix(rest, "if "); ok {
				st = "elif " + condition + "; then"
			}
		case "begin":
			st = "{ " + rest
			ends = append(ends, "}")
		case "function":
			name, _, _ := strings.Cut(rest, " ")
			st = name + "() {"
			ends = append(ends, "}")
		case "end":
			if len(ends) == 0 {
				return "", false
			}
			st = ends[len(ends)-1] + " " + rest
			ends = ends[:len(ends)-1]
		case "and", "or":
			st = rest
		case "not":
			st = "! " + rest
		case "set":
			var ok bool
			if st, ok = set(rest); !ok {
				return "", false
			}
		case "switch", "case", "source", ".":
			return "", false
		}
		out.WriteString(st + "\n")
	}
	text := strings.ReplaceAll(out.String(), "$argv", `"$@"`)
	return text, len(ends) == 0 && !strings.Contains(text, "$@\"[")
}

// statements cuts a script at its newlines and semicolons, with fish's
// substitutions written as bash has them.
func statements(source string) []string {
	var list []string
	var cur strings.Builder
	var quote byte
	depth := 0
	for i := 0; i < len(source); i++ {
		c := source[i]
		switch {
		case quote != 0:
			if c == '\\' && i+1 < len(source) {
				cur.WriteByte(c)
				i++
				c = source[i]
			} else if c == quote {
				quote = 0
			}
		case c == '\'' || c == '"':
			quote = c
		case c == '(':
			if i == 0 || source[i-1] != '$' {
				cur.WriteByte('$')
			}
			depth++
		case c == ')':
			depth--
		case (c == ';' || c == '\n') && depth <= 0:
			list = append(list, strings.TrimSpace(cur.String()))
			cur.Reset()
			continue
		}
		cur.WriteByte(c)
	}
	return append(list, strings.TrimSpace(cur.String()))
}

// set writes set [-x] NAME VALUE as an assignment.
func set(rest string) (string, bool) {
	exports := false
	for strings.HasPrefix(rest, "-") {
		option, after, _ := strings.Cut(rest, " ")
		rest = strings.TrimSpace(after)
		switch {
		case strings.ContainsAny(option, "qeS"):
			return "true", true
		case strings.Contains(option, "x"):
			exports = true
		}
	}
	name, value, _ := strings.Cut(rest, " ")
	value = strings.TrimSpace(value)
	if !syntax.ValidName(name) || strings.Contains(value, " ") && !strings.HasPrefix(value, "'") &&
		!strings.HasPrefix(value, `"`) && !strings.HasPrefix(value, "$(") {
		return "", false
	}
	if exports {
		return "export " + name + "=" + value, true
	}
	return name + "=" + value, true
}
