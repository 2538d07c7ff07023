package bash

import (
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/word"
)

// dialect is a shell whose text bash would read differently.
type dialect uint8

const (
	dialectBash dialect = iota
	dialectZsh
	dialectFish
	dialectOther // a grammar of its own, of which only simple commands are known
)

func dialectOf(name string) dialect {
	switch name {
	case "zsh":
		return dialectZsh
	case "fish":
		return dialectFish
	case "csh", "tcsh", "osh", "oil", "ysh", "rc", "es", "ion":
		return dialectOther
	}
	return dialectBash
}

// Speaking runs f while scripts are read as a shell of this name does.
func (s *Shell) Speaking(name string, f func()) {
	outer := s.dialect
	s.dialect = dialectOf(name)
	f()
	s.dialect = outer
}

// parseZsh reads source as zsh. What the interpreter does not follow there must
// not speak of places outside.
func (s *Shell) parseZsh(source string, at arg) (*syntax.File, error) {
	file, err := syntax.NewParser(syntax.Variant(syntax.LangZsh)).Parse(strings.NewReader(source), "")
	if err != nil {
		return nil, err
	}
	odd := false
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.ParamExp:
			odd = odd || n.Flags != nil || n.NestedParam != nil || len(n.Modifiers) > 0 || n.Index != nil
		case *syntax.Lit:
			odd = odd || strings.ContainsAny(n.Value, "()")
		}
		return true
	})
	if odd {
		s.table.Mentions(word.Lit(source), at)
	}
	return file, nil
}

// foreignText judges the text of a shell with a grammar of its own: no place
// outside may stand in it, and the commands that can be read are followed.
func (s *Shell) foreignText(source string, at arg) {
	s.table.Mentions(word.Lit(source), at)
	for _, piece := range strings.FieldsFunc(source, func(r rune) bool {
		return r == '\n' || r == ';' || r == '&' ||
			r == '|'
	}) {
		piece = strings.TrimSpace(piece)
		for _, part := range []string{"and ", "or ", "not ", "then ", "else ", "do ", "begin "} {
			piece = strings.TrimPrefix(piece, part)
		}
		if file, _, err := ParseBash(piece); err == nil {
			s.stmts(file.Stmts)
		}
	}
}

// fishToBash writes a fish script as bash would have it; false if it holds what
// bash has nothing for.
func fishToBash(source string) (string, bool) {
	var out strings.Builder
	var ends []string
	for _, st := range fishStatements(source) {
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
			if st, ok = fishSet(rest); !ok {
				return "", false
			}
		case "switch", "case", "source", ".":
			return "", false
		}
		if st == "" {
			continue
		}
		out.WriteString(st + "\n")
	}
	text := strings.ReplaceAll(out.String(), "$argv", `"$@"`)
	return text, len(ends) == 0 && !strings.Contains(text, "$@\"[")
}

// fishStatements cuts a script at its newlines and semicolons, with fish's
// substitutions written as bash has them.
func fishStatements(source string) []string {
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

// fishSet writes set [-x] NAME VALUE as an assignment.
func fishSet(rest string) (string, bool) {
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

// FishProgram runs the texts of fish's options, or the script that it is given.
func (s *Shell) FishProgram(argv []arg) bool {
	if s.dialect != dialectFish {
		return false
	}
	found := false
	for i, a := range argv[1:] {
		name, _, glued := strings.Cut(a.Prefix(), "=")
		switch name {
		case "-c", "-C", "--command", "--init-command":
			value := a.After(len(name) + 1)
			if !glued {
				if i+2 >= len(argv) {
					continue
				}
				value = argv[i+2]
			}
			found = true
			s.RunText(value.Text, value, "the shell")
		}
	}
	return found
}
