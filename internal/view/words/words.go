// Package words makes Markdown that an agent or a stranger wrote into a small tree of known parts. What draws it sets
// texts, and never has markup to deal with: HTML in it is text, a link shows its target, an image is its address. It
// reads each character a bounded number of times, whatever stands there, and knows as much of Markdown as that allows.
package words

import (
	"context"
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
	r := &reader{Budget: b}
	if len(markdown) <= maxText && !b.over() {
		lines := strings.Split(strings.ReplaceAll(markdown, "\r\n", "\n"), "\n")
		if nodes := r.blocks(lines, 0); !b.over() {
			return nodes
		}
	}
	return []Node{{Kind: "pre", Text: markdown}}
}

func (b *Budget) over() bool { return b.nodes < 0 || b.ctx.Err() != nil || time.Now().After(b.end) }

type reader struct{ *Budget }

// block begins at the first of some lines: it gives its node, and how many lines it has; none is another kind of block.
type block func(r *reader, lines []string, depth int) (Node, int)

// blocks reads lines as blocks, one below the other.
func (r *reader) blocks(lines []string, depth int) (out []Node) {
	for len(lines) > 0 && !r.over() {
		if blank(lines[0]) {
			lines = lines[1:]
			continue
		}
		r.nodes--
		var node Node
		n := 0
		if depth < maxDepth {
			for _, try := range []block{fence, heading, rule, quote, list, table, indented} {
				if node, n = try(r, lines, depth); n > 0 {
					break
				}
			}
		}
		if n == 0 {
			node, n = paragraph(r, lines, depth)
		}
		out = append(out, node)
		lines = lines[n:]
	}
	return out
}

func blank(line string) bool { return strings.TrimSpace(line) == "" }

// indent is how far a line is set in, and what follows.
func indent(line string) (cols int, rest string) {
	for i := range len(line) {
		switch line[i] {
		case ' ':
			cols++
		case '\t':
			cols += 4 - cols%4
		default:
			return cols, line[i:]
		}
	}
	return cols, ""
}

// out sets a line out by so many columns, or by as many as it is set in.
func out(line string, by int) string {
	cols, rest := indent(line)
	if cols <= by {
		return rest
	}
	return strings.Repeat(" ", cols-by) + rest
}

func fence(_ *reader, lines []string, _ int) (Node, int) {
	cols, rest := indent(lines[0])
	n := len(rest) - len(strings.TrimLeft(rest, "`"))
	mark := "`"
	if n == 0 {
		n, mark = len(rest)-len(strings.TrimLeft(rest, "~")), "~"
	}
	if cols > 3 || n < 3 || mark == "`" && strings.Contains(rest[n:], "`") {
		return Node{}, 0
	}
	node := Node{Kind: "pre"}
	if info := strings.Fields(rest[n:]); len(info) > 0 {
		node.Lang = info[0]
	}
	var b strings.Builder
	for i, line := range lines[1:] {
		in, rest := indent(line)
		if rest = strings.TrimRight(rest, " \t"); in <= 3 && len(rest) >= n && strings.Trim(rest, mark) == "" {
			node.Text = b.String()
			return node, i + 2
		}
		b.WriteString(out(line, cols) + "\n")
	}
	node.Text = b.String()
	return node, len(lines)
}

// level is that of a heading, 0 for another line.
func level(line string) (n int, text string) {
	cols, rest := indent(line)
	n = len(rest) - len(strings.TrimLeft(rest, "#"))
	if cols > 3 || n > 6 || len(rest) > n && rest[n] != ' ' && rest[n] != '\t' {
		return 0, ""
	}
	return n, strings.TrimSpace(rest[n:])
}

func heading(r *reader, lines []string, depth int) (Node, int) {
	n, text := level(lines[0])
	if n == 0 {
		return Node{}, 0
	}
	if bare := strings.TrimRight(text, "#"); bare == "" || strings.HasSuffix(bare, " ") {
		text = strings.TrimSpace(bare)
	}
	return Node{Kind: "h", Level: n, Parts: r.inline(text, depth+1)}, 1
}

func rule(_ *reader, lines []string, _ int) (Node, int) {
	cols, rest := indent(lines[0])
	if cols > 3 || rest == "" || !strings.Contains("-*_", rest[:1]) || strings.Trim(rest, rest[:1]+" \t") != "" ||
		strings.Count(rest, rest[:1]) < 3 {
		return Node{}, 0
	}
	return Node{Kind: "hr"}, 1
}

func quote(r *reader, lines []string, depth int) (Node, int) {
	var inside []string
	n := 0
	for ; n < len(lines); n++ {
		cols, rest := indent(lines[n])
		switch {
		case cols <= 3 && strings.HasPrefix(rest, ">"):
			inside = append(inside, strings.TrimPrefix(rest[1:], " "))
			continue
		case n > 0 && goesOn(lines[n]) && !blank(inside[n-1]):
			inside = append(inside, lines[n])
			continue
		}
		break
	}
	if n == 0 {
		return Node{}, 0
	}
	return Node{Kind: "quote", Parts: r.blocks(inside, depth+1)}, n
}

// goesOn says that a line is more of the paragraph before it.
func goesOn(line string) bool {
	_, rest := indent(line)
	if rest == "" || rest[0] == '>' {
		return false
	}
	one := []string{line}
	_, code := fence(nil, one, 0)
	_, hr := rule(nil, one, 0)
	head, _ := level(line)
	mark, _ := marker(line)
	return code+hr+head == 0 && (mark == "" || len(mark) > 1 && mark != "1.")
}

// marker is what begins an item of a list, and how far the item is set in behind it.
func marker(line string) (mark string, width int) {
	cols, rest := indent(line)
	n := 0
	for n < len(rest) && n < 9 && rest[n] >= '0' && rest[n] <= '9' {
		n++
	}
	ordered := n > 0 && n < len(rest) && (rest[n] == '.' || rest[n] == ')')
	if !ordered && (rest == "" || !strings.Contains("-*+", rest[:1])) {
		return "", 0
	}
	if !ordered {
		n = 0
	}
	behind := rest[n+1:]
	if behind != "" && behind[0] != ' ' && behind[0] != '\t' {
		return "", 0
	}
	gap, text := indent(behind)
	if text == "" || gap > 4 {
		gap = 1
	}
	return rest[:n+1], cols + n + 1 + gap
}

func list(r *reader, lines []string, depth int) (Node, int) {
	cols, _ := indent(lines[0])
	first, _ := marker(lines[0])
	if first == "" || cols > 3 {
		return Node{}, 0
	}
	node := Node{Kind: "ul"}
	if len(first) > 1 {
		node.Kind = "ol"
	}
	var items [][]string
	n, width, loose := 0, 0, false
	for n < len(lines) {
		line := lines[n]
		in, _ := indent(line)
		mark, w := marker(line)
		switch _, isRule := rule(r, lines[n:], 0); {
		case blank(line):
			if n+1 < len(lines) && blank(lines[n+1]) || !follows(lines[n+1:], first, width) {
				return r.items(node, items, loose, depth), n + 1
			}
			loose = true
			items[len(items)-1] = append(items[len(items)-1], "")
		case n > 0 && in >= width:
			items[len(items)-1] = append(items[len(items)-1], out(line, width))
		case mark != "" && mark[len(mark)-1] == first[len(first)-1] && (len(mark) > 1) == (len(first) > 1) && isRule == 0:
			width = w
			items = append(items, []string{out(line[len(line)-len(strings.TrimLeft(line, " \t"))+len(mark):], w-in-len(mark))})
		case n > 0 && goesOn(line) && !blank(lines[n-1]):
			items[len(items)-1] = append(items[len(items)-1], line)
		default:
			return r.items(node, items, loose, depth), n
		}
		n++
	}
	return r.items(node, items, loose, depth), n
}

// follows says that a list goes on behind a blank line.
func follows(lines []string, mark string, width int) bool {
	if len(lines) == 0 || blank(lines[0]) {
		return false
	}
	in, _ := indent(lines[0])
	next, _ := marker(lines[0])
	return in >= width || next != "" && next[len(next)-1] == mark[len(mark)-1]
}

func (r *reader) items(list Node, items [][]string, loose bool, depth int) Node {
	for _, lines := range items {
		for box, sign := range map[string]string{"[ ] ": "☐ ", "[x] ": "☑ ", "[X] ": "☑ "} {
			if rest, ok := strings.CutPrefix(lines[0], box); ok {
				lines[0] = sign + rest
			}
		}
		item := Node{Kind: "li"}
		for _, part := range r.blocks(lines, depth+2) {
			if part.Kind == "p" && !loose {
				item.Parts = append(item.Parts, part.Parts...)
				continue
			}
			item.Parts = append(item.Parts, part)
		}
		r.nodes--
		list.Parts = append(list.Parts, item)
	}
	return list
}

// table has rows of at most as many cells as its head. None is filled up: a few bytes would become millions of cells.
func table(r *reader, lines []string, depth int) (Node, int) {
	if len(lines) < 2 || !strings.Contains(lines[0], "|") || strings.Trim(lines[1], "|:- \t") != "" ||
		!strings.Contains(lines[1], "-") {
		return Node{}, 0
	}
	head := cells(lines[0])
	if len(head) != len(cells(lines[1])) {
		return Node{}, 0
	}
	row := func(kind string, cells []string) Node {
		tr := Node{Kind: "tr"}
		for _, c := range cells[:min(len(cells), len(head))] {
			r.nodes--
			tr.Parts = append(tr.Parts, Node{Kind: kind, Parts: r.inline(c, depth+2)})
		}
		return tr
	}
	t := Node{Kind: "table", Parts: []Node{row("th", head)}}
	n := 2
	for ; n < len(lines) && !blank(lines[n]) && strings.Contains(lines[n], "|") && !r.over(); n++ {
		t.Parts = append(t.Parts, row("td", cells(lines[n])))
	}
	return t, n
}

// cells are those of a row. A bar behind a backslash is none between them.
func cells(line string) (all []string) {
	line = strings.TrimSpace(line)
	line = strings.TrimPrefix(line, "|")
	from := 0
	for i := range len(line) {
		if line[i] == '|' && (i == 0 || line[i-1] != '\\') {
			all = append(all, strings.TrimSpace(line[from:i]))
			from = i + 1
		}
	}
	if rest := strings.TrimSpace(line[from:]); rest != "" {
		all = append(all, rest)
	}
	return all
}

func indented(_ *reader, lines []string, _ int) (Node, int) {
	var b strings.Builder
	n := 0
	for ; n < len(lines); n++ {
		if cols, _ := indent(lines[n]); cols < 4 {
			break
		}
		b.WriteString(out(lines[n], 4) + "\n")
	}
	return Node{Kind: "pre", Text: b.String()}, n
}

func paragraph(r *reader, lines []string, depth int) (Node, int) {
	_, first := indent(lines[0])
	text := []string{first}
	node := Node{Kind: "p"}
	n := 1
	for ; n < len(lines); n++ {
		_, line := indent(lines[n])
		bare := strings.TrimSpace(line)
		if bare != "" && (strings.Trim(bare, "=") == "" || strings.Trim(bare, "-") == "") {
			node.Kind, node.Level = "h", 1+strings.Count(bare[:1], "-")
			n++
			break
		}
		if !goesOn(line) {
			break
		}
		text = append(text, line)
	}
	node.Parts = r.inline(strings.TrimRight(strings.Join(text, "\n"), " \t"), depth+1)
	return node, n
}
