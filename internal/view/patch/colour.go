package patch

import (
	"embed"
	"path"
	"strings"
	"sync"
	"time"

	"github.com/alecthomas/chroma/v2"
)

// Chroma's own list of languages is read when a program starts, which every start of cco-cruise would pay for. These
// are its files for the languages that people mostly meet, as they are, read when the first change is shown.
//
//go:embed lexers/*.xml
var lexers embed.FS

var languages = sync.OnceValue(func() *chroma.LexerRegistry {
	reg := chroma.NewLexerRegistry()
	reg.Register(golang())
	files, err := lexers.ReadDir("lexers")
	if err != nil {
		return reg
	}
	for _, f := range files {
		if l, err := chroma.NewXMLLexer(lexers, "lexers/"+f.Name()); err == nil {
			reg.Register(l)
		}
	}
	return reg
})

// golang is Go, which chroma has no file for.
func golang() chroma.Lexer {
	return chroma.MustNewLexer(&chroma.Config{Name: "Go", Aliases: []string{"go"}, Filenames: []string{"*.go"}},
		func() chroma.Rules {
			return chroma.Rules{"root": {
				{Pattern: `\s+`, Type: chroma.TextWhitespace},
				{Pattern: `//[^\n]*`, Type: chroma.CommentSingle},
				{Pattern: `/\*(.|\n)*?(\*/|\z)`, Type: chroma.CommentMultiline},
				{Pattern: "`[^`]*(`|\\z)", Type: chroma.LiteralString},
				{Pattern: `"(\\.|[^"\\\n])*"?`, Type: chroma.LiteralString},
				{Pattern: `'(\\.|[^'\\\n])*'?`, Type: chroma.LiteralStringChar},
				{Pattern: `(break|case|chan|const|continue|default|defer|else|fallthrough|for|func|go|goto|if|import|` +
					`interface|map|package|range|return|select|struct|switch|type|var)\b`, Type: chroma.Keyword},
				{Pattern: `(true|false|iota|nil)\b`, Type: chroma.KeywordConstant},
				{Pattern: `(u?int(8|16|32|64)?|float(32|64)|complex(64|128)|byte|rune|string|bool|error|uintptr|any)\b`,
					Type: chroma.KeywordType},
				{Pattern: `\d[\w.]*`, Type: chroma.LiteralNumber},
				{Pattern: `[\pL_][\pL\d_]*(?=\()`, Type: chroma.NameFunction},
				{Pattern: `[\pL_][\pL\d_]*`, Type: chroma.Name},
				{Pattern: `.`, Type: chroma.Punctuation},
			}}
		})
}

// Span is a piece of a line, with the class of what it is.
type Span struct {
	Class string `json:"class,omitempty" doc:"a letter for its colour; none is plain"`
	Text  string `json:"text" doc:"what to show, as text"`
}

// class is the one letter that a page gives a colour.
func class(t chroma.TokenType) string {
	switch {
	case t == chroma.KeywordType || t.InCategory(chroma.Name) && (t == chroma.NameTag || t == chroma.NameClass):
		return "t"
	case t.InCategory(chroma.Keyword):
		return "k"
	case t.InSubCategory(chroma.LiteralString):
		return "s"
	case t.InSubCategory(chroma.LiteralNumber):
		return "n"
	case t.InCategory(chroma.Comment):
		return "c"
	case t == chroma.NameFunction || t == chroma.NameBuiltin:
		return "f"
	case t == chroma.NameAttribute || t == chroma.NameProperty:
		return "a"
	}
	return ""
}

// Bounds on what is coloured: a file that was made to be slow to read is shown in one colour.
const (
	maxColoured = 256 << 10
	maxColourIn = 300 * time.Millisecond
)

// painter colours the lines of one file.
type painter struct {
	lexer chroma.Lexer
	end   time.Time
}

func newPainter(name string) *painter {
	p := &painter{end: time.Now().Add(maxColourIn)}
	if l := languages().Match(path.Base(name)); l != nil {
		p.lexer = chroma.Coalesce(l)
	}
	return p
}

// paint gives each line its pieces. Without colours a line is one piece.
func (p *painter) paint(lines []string) [][]Span {
	plain := func() [][]Span {
		out := make([][]Span, len(lines))
		for i, l := range lines {
			out[i] = []Span{{Text: l}}
		}
		return out
	}
	text := strings.Join(lines, "\n")
	if p.lexer == nil || len(lines) == 0 || len(text) > maxColoured || time.Now().After(p.end) {
		return plain()
	}
	tokens, err := p.lexer.Tokenise(nil, text)
	if err != nil {
		return plain()
	}
	out := make([][]Span, 1, len(lines))
	for t := tokens(); t != chroma.EOF; t = tokens() {
		if time.Now().After(p.end) {
			return plain()
		}
		for i, piece := range strings.Split(t.Value, "\n") {
			if i > 0 {
				out = append(out, nil)
			}
			if piece == "" {
				continue
			}
			last, c := len(out)-1, class(t.Type)
			if n := len(out[last]); n > 0 && out[last][n-1].Class == c {
				out[last][n-1].Text += piece
				continue
			}
			out[last] = append(out[last], Span{c, piece})
		}
	}
	if len(out) > len(lines) { // some end what they read with a line break
		out = out[:len(lines)]
	}
	// What was made of the text must be the text: a colour is worth no changed character.
	for i := range out {
		var b strings.Builder
		for _, s := range out[i] {
			b.WriteString(s.Text)
		}
		if i >= len(lines) || b.String() != lines[i] {
			return plain()
		}
	}
	for len(out) < len(lines) {
		out = append(out, nil)
	}
	return out
}
