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
