// Package words makes Markdown that an agent or a stranger wrote into a small tree of known parts. What draws it sets
// texts, and never has markup to deal with: HTML in it is text, a link shows its target, an image is its address.
package words

import (
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extast "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/text"

	"github.com/cco-dev/cco/internal/safetext"
)

// Node is a part of a text: a Text, or a Kind with Parts.
type Node struct {
	Kind  string `json:"kind,omitempty" doc:"what it is; none for text alone"`
	Text  string `json:"text,omitempty" doc:"what to show, as text"`
	Level int    `json:"level,omitempty" doc:"of a heading"`
	Lang  string `json:"lang,omitempty" doc:"of a block of code"`
	Parts []Node `json:"parts,omitempty" doc:"what is in it"`
}

// maxText bounds what is read as Markdown. What is longer is shown as it is.
const maxText = 64 << 10

// maxDepth bounds how deep parts are in each other: a page draws them one in another.
const maxDepth = 24

// Parse reads Markdown.
func Parse(markdown string) []Node {
	markdown = safetext.Spell(markdown)
	if len(markdown) > maxText {
		return []Node{{Kind: "pre", Text: markdown}}
	}
	source := []byte(markdown)
	parser := goldmark.New(goldmark.WithExtensions(extension.Table, extension.Strikethrough, extension.TaskList)).Parser()
	r := &reader{source: source}
	return r.children(parser.Parse(text.NewReader(source)), 0)
}

type reader struct{ source []byte }

func (r *reader) children(n ast.Node, depth int) []Node {
	var out []Node
	add := func(more ...Node) {
		for _, m := range more {
			if last := len(out) - 1; m.Kind == "" && last >= 0 && out[last].Kind == "" {
				out[last].Text += m.Text
				continue
			}
			out = append(out, m)
		}
	}
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if depth >= maxDepth {
			add(Node{Text: r.flat(c)})
			continue
		}
		add(r.node(c, depth+1)...)
	}
	return out
}

// flat is all text of a node.
func (r *reader) flat(n ast.Node) string {
	var b strings.Builder
	_ = ast.Walk(n, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		if t, ok := n.(*ast.Text); ok && entering {
			b.Write(t.Segment.Value(r.source))
			b.WriteByte(' ')
		}
		return ast.WalkContinue, nil
	})
	return b.String()
}

func (r *reader) lines(n ast.Node) string {
	var b strings.Builder
	for i := range n.Lines().Len() {
		at := n.Lines().At(i)
		b.Write(at.Value(r.source))
	}
	return b.String()
}

// simple are the nodes that only have parts.
func simple(n ast.Node) string {
	switch n.(type) {
	case *ast.Paragraph:
		return "p"
	case *ast.Blockquote:
		return "quote"
	case *ast.ListItem:
		return "li"
	case *extast.Table:
		return "table"
	case *extast.TableRow, *extast.TableHeader:
		return "tr"
	case *extast.Strikethrough:
		return "del"
	}
	return ""
}

func (r *reader) node(n ast.Node, depth int) []Node {
	if kind := simple(n); kind != "" {
		return []Node{{Kind: kind, Parts: r.children(n, depth)}}
	}
	switch n := n.(type) {
	case *ast.Text:
		t := Node{Text: string(n.Segment.Value(r.source))}
		switch {
		case n.HardLineBreak():
			return []Node{t, {Kind: "br"}}
		case n.SoftLineBreak():
			t.Text += "\n"
		}
		return []Node{t}
	case *ast.String:
		return []Node{{Text: string(n.Value)}}
	case *ast.TextBlock:
		return r.children(n, depth)
	case *ast.Heading:
		return []Node{{Kind: "h", Level: n.Level, Parts: r.children(n, depth)}}
	case *ast.List:
		kind := "ul"
		if n.IsOrdered() {
			kind = "ol"
		}
		return []Node{{Kind: kind, Parts: r.children(n, depth)}}
	case *ast.FencedCodeBlock:
		return []Node{{Kind: "pre", Lang: string(n.Language(r.source)), Text: r.lines(n)}}
	case *ast.CodeBlock:
		return []Node{{Kind: "pre", Text: r.lines(n)}}
	case *ast.HTMLBlock:
		raw := r.lines(n)
		if n.HasClosure() {
			raw += string(n.ClosureLine.Value(r.source))
		}
		return []Node{{Kind: "pre", Text: raw}}
	case *ast.ThematicBreak:
		return []Node{{Kind: "hr"}}
	case *extast.TableCell:
		kind := "td"
		if _, head := n.Parent().(*extast.TableHeader); head {
			kind = "th"
		}
		return []Node{{Kind: kind, Parts: r.children(n, depth)}}
	case *extast.TaskCheckBox:
		return []Node{{Text: map[bool]string{true: "☑ ", false: "☐ "}[n.IsChecked]}}
	}
	return r.inline(n, depth)
}

func (r *reader) inline(n ast.Node, depth int) []Node {
	switch n := n.(type) {
	case *ast.Emphasis:
		kind := "em"
		if n.Level > 1 {
			kind = "strong"
		}
		return []Node{{Kind: kind, Parts: r.children(n, depth)}}
	case *ast.CodeSpan:
		return []Node{{Kind: "code", Text: r.flatCode(n)}}
	case *ast.RawHTML:
		var b strings.Builder
		for i := range n.Segments.Len() {
			at := n.Segments.At(i)
			b.Write(at.Value(r.source))
		}
		return []Node{{Text: b.String()}}
	case *ast.Link:
		return append(r.children(n, depth), Node{Text: " (" + string(n.Destination) + ")"})
	case *ast.Image:
		return append(r.children(n, depth), Node{Text: " [" + string(n.Destination) + "]"})
	case *ast.AutoLink:
		return []Node{{Text: string(n.URL(r.source))}}
	}
	return r.children(n, depth)
}

func (r *reader) flatCode(n ast.Node) string {
	var b strings.Builder
	for c := n.FirstChild(); c != nil; c = c.NextSibling() {
		if t, ok := c.(*ast.Text); ok {
			b.Write(t.Segment.Value(r.source))
		}
	}
	return b.String()
}
