package bash

import (
	"errors"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"

	"github.com/cco-dev/cco/internal/guard/word"
)

// ParseBash parses source after taking out its line continuations, because
// bash joins "$\<newline>(" to a substitution and the parser does not. Text
// that bash keeps as it is (single quotes, quoted here-documents, comments)
// keeps its backslashes. What was parsed in the end is returned too.
func ParseBash(source string) (*syntax.File, string, error) {
	file, err := parseOnce(source)
	if !strings.Contains(source, "\\\n") {
		return file, source, err
	}
	var keep []span
	if err == nil {
		keep = verbatim(file)
	} // or else nothing tells quoted text from the rest; joined everywhere is how bash would read unquoted text
	joined := join(source, keep)
	again, err := parseOnce(joined)
	if err != nil {
		return nil, "", err
	}
	if !slices.Equal(kept(source, keep), kept(joined, verbatim(again))) {
		return nil, "", errors.New("a line continuation that shells read differently")
	}
	return again, joined, nil
}

// kept are the texts of stretches.
func kept(source string, spans []span) (texts []string) {
	for _, at := range spans {
		texts = append(texts, source[at.start:at.end])
	}
	return texts
}

// tooDeep says that brackets are opened so many levels deep that a parser
// might run out of stack, which nothing could recover from.
func tooDeep(source string) bool {
	depth := 0
	for i := range len(source) {
		switch source[i] {
		case '(', '{':
			depth++
		case ')', '}':
			depth = max(depth-1, 0)
		}
		if depth > 400 {
			return true
		}
	}
	return false
}

func parseOnce(source string) (*syntax.File, error) {
	parser := syntax.NewParser(syntax.Variant(syntax.LangBash), syntax.KeepComments(true))
	return parser.Parse(strings.NewReader(source), "")
}

// span is a stretch of source.
type span struct{ start, end int }

// verbatim lists the stretches in which bash leaves backslash-newline alone.
func verbatim(file *syntax.File) []span {
	var spans []span
	add := func(n syntax.Node) {
		spans = append(spans, span{int(n.Pos().Offset()), int(n.End().Offset())})
	}
	syntax.Walk(file, func(n syntax.Node) bool {
		switch n := n.(type) {
		case *syntax.SglQuoted:
			add(n)
		case *syntax.Comment:
			add(n)
		case *syntax.Redirect:
			if n.Hdoc != nil && len(n.Hdoc.Parts) > 0 && quotedDelimiter(n.Word) {
				add(n.Hdoc)
			}
		}
		return true
	})
	slices.SortFunc(spans, func(a, b span) int { return a.start - b.start })
	return spans
}

// quotedDelimiter says whether a here-document's body is taken as it stands.
func quotedDelimiter(w *syntax.Word) bool {
	for _, part := range w.Parts {
		switch part := part.(type) {
		case *syntax.SglQuoted, *syntax.DblQuoted:
			return true
		case *syntax.Lit:
			if strings.Contains(part.Value, "\\") {
				return true
			}
		}
	}
	return false
}

// join takes out every backslash-newline that is not itself escaped and lies
// outside keep.
func join(source string, keep []span) string {
	var b strings.Builder
	k := 0
	for i := 0; i < len(source); i++ {
		for k < len(keep) && keep[k].end <= i {
			k++
		}
		if source[i] != '\\' || i+1 == len(source) || k < len(keep) && keep[k].start <= i {
			b.WriteByte(source[i])
			continue
		}
		if source[i+1] == '\n' {
			i++
			continue
		}
		b.WriteByte(source[i])
		b.WriteByte(source[i+1])
		i++
	}
	return b.String()
}

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
