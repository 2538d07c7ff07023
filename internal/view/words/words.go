// Package words makes Markdown that an agent or a stranger wrote into a small tree of known parts. What draws it sets
// texts, and never has markup to deal with: HTML in it is text, a link shows its target, an image is its address. It
// knows what agents write: headings, lists, quotes, code, simple tables, emphasis and links. Else it is shown as it is
// written. Each character is read a bounded number of times, whatever stands there.
package words

import (
	"context"
	"regexp"
	"strings"
	"time"

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

// Bounds on what all texts of one answer may cost together, and on one of them.
const (
	maxNodes = 30_000
	maxTime  = 300 * time.Millisecond
	maxBytes = 2 << 20
	maxText  = 64 << 10
	least    = 500 // bytes of each are shown in any case
	maxDepth = 24  // a page draws parts one in another
)

// Budget is what reading the texts of one answer may cost. Texts beyond it are shown as they are.
type Budget struct {
	ctx   context.Context
	end   time.Time
	nodes int
	bytes int
}

// NewBudget is that of an answer to somebody who waits for it as long as the context lives.
func NewBudget(ctx context.Context) *Budget {
	return &Budget{ctx: ctx, end: time.Now().Add(maxTime), nodes: maxNodes, bytes: maxBytes}
}

// Parse reads Markdown.
func (b *Budget) Parse(markdown string) []Node {
	if most := max(b.bytes, least); len(markdown) > most {
		markdown = safetext.Cut(markdown, most) + "\n(cut)"
	}
	b.bytes -= len(markdown)
	if !strings.ContainsAny(markdown, "\n`*[") && begins(markdown) == nil { // a plain line costs nothing
		return []Node{{Kind: "p", Parts: []Node{{Text: markdown}}}}
	}
	if len(markdown) <= maxText && !b.over() {
		lines := strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n")
		if nodes := b.blocks(lines, 0); !b.over() {
			return nodes
		}
	}
	return []Node{{Kind: "pre", Text: markdown}}
}

func (b *Budget) over() bool { return b.nodes < 0 || b.ctx.Err() != nil || time.Now().After(b.end) }

// block is a kind of them: how its first line begins behind what that is set in, and what reads it. That gives its
// node, and how many lines it has.
type block struct {
	begins *regexp.Regexp
	read   func(b *Budget, lines []string, depth int) (Node, int)
}

var (
	fences = regexp.MustCompile("^(```+|~~~+)[ \t]*([^` \t]*)[^`]*$")
	heads  = regexp.MustCompile(`^(#{1,6})(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*$`)
	rules  = regexp.MustCompile(`^(?:-(?:[ \t]*-){2,}|\*(?:[ \t]*\*){2,}|_(?:[ \t]*_){2,})[ \t]*$`)
	items  = regexp.MustCompile(`^([-*+]|[0-9]{1,9}[.)])(?:[ \t]+|$)`)
	quotes = regexp.MustCompile(`^> ?`)
	// under is the line below the head of a table.
	under = regexp.MustCompile(`^[ \t]*\|?[ \t]*:?-+:?[ \t]*(?:\|[ \t]*:?-+:?[ \t]*)*\|?[ \t]*$`)
)

func blocks() []block {
	return []block{{fences, fence}, {heads, heading}, {rules, rule}, {items, list}, {quotes, quote}}
}

// begins is the block that a line begins; nil if it is a part of a paragraph.
func begins(line string) *block {
	rest := strings.TrimLeft(line, " \t")
	if rest == "" || !strings.ContainsAny(rest[:1], "`~#-*_+>0123456789") {
		return nil
	}
	for _, k := range blocks() {
		if k.begins.MatchString(rest) {
			return &k
		}
	}
	return nil
}

// blocks reads lines as blocks, one below the other.
func (b *Budget) blocks(lines []string, depth int) (out []Node) {
	for len(lines) > 0 && !b.over() {
		if blank(lines[0]) {
			lines = lines[1:]
			continue
		}
		read := paragraph
		if k := begins(lines[0]); k != nil && depth < maxDepth {
			read = k.read
		} else if isTable(lines) {
			read = table
		}
		node, n := read(b, lines, depth)
		b.nodes--
		out, lines = append(out, node), lines[n:]
	}
	return out
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// indent is how far a line is set in, and what follows.
func indent(line string) (cols int, rest string) {
	rest = strings.TrimLeft(line, " \t")
	for _, c := range line[:len(line)-len(rest)] {
		if cols++; c == '\t' {
			cols += 3
		}
	}
	return cols, rest
}

// out sets a line out by so many columns, or by as many as it is set in.
func out(line string, by int) string {
	cols, rest := indent(line)
	if by == 0 || cols == 0 {
		return line
	}
	return strings.Repeat(" ", max(0, cols-by)) + rest
}

func fence(_ *Budget, lines []string, _ int) (Node, int) {
	cols, rest := indent(lines[0])
	m := fences.FindStringSubmatch(rest)
	var text strings.Builder
	n := 1
	for ; n < len(lines); n++ {
		if end := strings.TrimSpace(lines[n]); len(end) >= len(m[1]) && strings.Trim(end, m[1][:1]) == "" {
			n++
			break
		}
		text.WriteString(out(lines[n], cols) + "\n")
	}
	return Node{Kind: "pre", Lang: m[2], Text: text.String()}, n
}

func heading(b *Budget, lines []string, _ int) (Node, int) {
	m := heads.FindStringSubmatch(strings.TrimLeft(lines[0], " \t"))
	return Node{Kind: "h", Level: len(m[1]), Parts: b.inline(m[2])}, 1
}

func rule(*Budget, []string, int) (Node, int) { return Node{Kind: "hr"}, 1 }

func quote(b *Budget, lines []string, depth int) (Node, int) {
	var inside []string
	for _, line := range lines {
		rest := strings.TrimLeft(line, " \t")
		if !strings.HasPrefix(rest, ">") {
			break
		}
		inside = append(inside, strings.TrimPrefix(rest[1:], " "))
	}
	return Node{Kind: "quote", Parts: b.blocks(inside, depth+1)}, len(inside)
}

// list has items that begin alike. What is set in below one belongs to it, and so does the rest of its paragraph.
func list(b *Budget, lines []string, depth int) (Node, int) {
	ordered := func(line string) (mark string, is bool) {
		mark = items.FindString(strings.TrimLeft(line, " \t"))
		return mark, mark != "" && mark[0] >= '0' && mark[0] <= '9'
	}
	_, numbers := ordered(lines[0])
	var all [][]string
	n, at, width := 0, 0, 0
	for ; n < len(lines); n++ {
		line, last := lines[n], len(all)-1
		in, rest := indent(line)
		if rest == "" {
			if n+1 < len(lines) && !blank(lines[n+1]) { // whether it goes on is for the next line to say
				all[last] = append(all[last], "")
				continue
			}
			break
		}
		mark, number := ordered(line)
		switch {
		case n > 0 && in >= at+2:
			all[last] = append(all[last], out(line, width))
			continue
		case mark != "" && number == numbers && !rules.MatchString(rest):
			at, width = in, in+max(2, len(mark))
			all = append(all, []string{rest[len(mark):]})
			continue
		case begins(line) == nil && !blank(lines[n-1]):
			all[last] = append(all[last], rest)
			continue
		}
		break
	}
	node := Node{Kind: "ul"}
	if numbers {
		node.Kind = "ol"
	}
	for _, part := range all {
		item := Node{Kind: "li", Parts: b.blocks(part, depth+2)}
		if len(item.Parts) > 0 && item.Parts[0].Kind == "p" {
			item.Parts = append(item.Parts[0].Parts, item.Parts[1:]...)
		}
		b.nodes--
		node.Parts = append(node.Parts, item)
	}
	return node, n
}

func isTable(lines []string) bool {
	return len(lines) > 1 && strings.Contains(lines[0], "|") && strings.Contains(lines[1], "|") &&
		under.MatchString(lines[1])
}

// table has rows as they are written. None is filled up: a few bytes would become millions of cells.
func table(b *Budget, lines []string, _ int) (Node, int) {
	t := Node{Kind: "table"}
	n := 0
	for kind := "th"; n < len(lines) && strings.Contains(lines[n], "|") && !b.over(); n++ {
		if n == 1 {
			kind = "td"
			continue
		}
		row := Node{Kind: "tr"}
		for cell := range strings.SplitSeq(strings.Trim(lines[n], "| \t"), "|") {
			b.nodes--
			row.Parts = append(row.Parts, Node{Kind: kind, Parts: b.inline(strings.TrimSpace(cell))})
		}
		t.Parts = append(t.Parts, row)
	}
	return t, n
}

func paragraph(b *Budget, lines []string, _ int) (Node, int) {
	n := 1
	for n < len(lines) && !blank(lines[n]) && begins(lines[n]) == nil {
		n++
	}
	return Node{Kind: "p", Parts: b.inline(strings.TrimSpace(strings.Join(lines[:n], "\n")))}, n
}

// marks are those in a paragraph: code, strong, emphasis, and links and images. Between two marks of a kind there is
// none of it, so that a search for an end never passes the next beginning: together they read a text a few times.
var marks = regexp.MustCompile("`+([^`]+)`+" +
	`|\*\*([^*\s](?:[^*]*[^*\s])?)\*\*` +
	"|\\*([^*\\s`](?:[^*`]*[^*\\s`])?)\\*" +
	`|(!?)\[([^\[\]]*)\]\(([^()\n]+)\)`)

// inline reads the text of a paragraph. Of a link, all that is in its parentheses is shown.
func (b *Budget) inline(text string) (out []Node) {
	add := func(n Node) {
		if b.nodes--; n.Kind != "" || n.Text != "" {
			out = append(out, n)
		}
	}
	if !strings.ContainsAny(text, "`*[") {
		add(Node{Text: text})
		return out
	}
	at := 0
	for _, m := range marks.FindAllStringSubmatchIndex(text, -1) {
		add(Node{Text: text[at:m[0]]})
		at = m[1]
		group := func(i int) string { return text[m[2*i]:m[2*i+1]] }
		switch {
		case m[2] >= 0:
			add(Node{Kind: "code", Text: group(1)})
		case m[4] >= 0:
			add(Node{Kind: "strong", Parts: b.inline(group(2))})
		case m[6] >= 0:
			add(Node{Kind: "em", Parts: b.inline(group(3))})
		case group(4) != "":
			add(Node{Text: group(5) + " [" + group(6) + "]"})
		default:
			out = append(out, b.inline(group(5))...)
			add(Node{Text: " (" + group(6) + ")"})
		}
	}
	add(Node{Text: text[at:]})
	return out
}
