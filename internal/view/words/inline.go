package words

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// piece is a part of a paragraph, and how deep parts are in it.
type piece struct {
	Node
	deep int
}

// opener is a mark that may begin something, and the piece that it is as long as nothing ends it.
type opener struct {
	mark string
	at   int
}

// line reads the text of one paragraph, from its beginning to its end.
type line struct {
	r      *reader
	text   string
	at     int
	depth  int
	plain  strings.Builder
	pieces []piece
	open   []opener
	count  map[string]int // of the open ones
	ticks  map[int][]int  // where runs of backticks are, by their length
}

// kinds are what marks make of the text between them.
var kinds = map[string]string{"*": "em", "_": "em", "**": "strong", "__": "strong", "~~": "del"}

const punctuation = "!\"#$%&'()*+,-./:;<=>?@[\\]^_`{|}~"

// inline reads the text of a paragraph.
func (r *reader) inline(text string, depth int) []Node {
	l := &line{r: r, text: text, depth: depth, count: map[string]int{}}
	for l.at < len(text) {
		if l.at&0xfff == 0 && r.over() {
			break
		}
		switch c := text[l.at]; c {
		case '\\':
			l.escape()
		case '`':
			l.code()
		case '*', '_', '~':
			l.emphasis(c)
		case '!', '[', ']':
			l.bracket(c)
		case '\n':
			l.lineBreak()
		default:
			l.plain.WriteByte(c)
			l.at++
		}
	}
	l.flush()
	return l.nodes(0)
}

// flush makes a piece of the text that was read.
func (l *line) flush() {
	if l.plain.Len() > 0 {
		l.add(Node{Text: l.plain.String()}, 0)
		l.plain.Reset()
	}
}

func (l *line) add(n Node, deep int) {
	l.r.nodes--
	l.pieces = append(l.pieces, piece{n, deep})
}

// nodes takes the pieces from one on, with texts that stand side by side as one.
func (l *line) nodes(from int) (all []Node) {
	var text strings.Builder
	end := func() {
		if text.Len() > 0 {
			all = append(all, Node{Text: text.String()})
			text.Reset()
		}
	}
	for _, p := range l.pieces[from:] {
		if p.Kind == "" {
			text.WriteString(p.Text)
			continue
		}
		end()
		all = append(all, p.Node)
	}
	end()
	l.pieces = l.pieces[:from]
	return all
}

// escape takes a backslash away. One that keeps a spelled character from being imitated stays.
func (l *line) escape() {
	next := l.text[l.at+1:]
	switch {
	case strings.HasPrefix(next, "\n"):
		l.flush()
		l.add(Node{Kind: "br"}, 0)
		l.at += 2
	case next != "" && strings.Contains(punctuation, next[:1]) &&
		(next[0] != '+' || !strings.HasSuffix(l.text[:l.at], "<U")):
		l.plain.WriteByte(next[0])
		l.at += 2
	default:
		l.plain.WriteByte('\\')
		l.at++
	}
}

func (l *line) lineBreak() {
	if strings.HasSuffix(l.text[:l.at], "  ") {
		l.flush()
		l.add(Node{Kind: "br"}, 0)
	} else {
		l.plain.WriteByte('\n')
	}
	l.at++
}

// run is how many of a character stand here.
func (l *line) run(at int) int {
	n := at
	for n < len(l.text) && l.text[n] == l.text[at] {
		n++
	}
	return n - at
}

func (l *line) code() {
	if l.ticks == nil {
		l.ticks = map[int][]int{}
		for i := 0; i < len(l.text); i++ {
			if l.text[i] == '`' {
				n := l.run(i)
				l.ticks[n] = append(l.ticks[n], i)
				i += n - 1
			}
		}
	}
	n := l.run(l.at)
	ends := l.ticks[n]
	for len(ends) > 0 && ends[0] <= l.at {
		ends = ends[1:]
	}
	l.ticks[n] = ends
	if len(ends) == 0 {
		l.plain.WriteString(l.text[l.at : l.at+n])
		l.at += n
		return
	}
	inside := strings.ReplaceAll(l.text[l.at+n:ends[0]], "\n", " ")
	if len(inside) > 2 && strings.HasPrefix(inside, " ") && strings.HasSuffix(inside, " ") {
		inside = inside[1 : len(inside)-1]
	}
	l.flush()
	l.add(Node{Kind: "code", Text: inside}, 0)
	l.at = ends[0] + n
}

func (l *line) emphasis(c byte) {
	n := l.run(l.at)
	before, _ := utf8.DecodeLastRuneInString(l.text[:l.at])
	after, _ := utf8.DecodeRuneInString(l.text[l.at+n:])
	space := func(r rune, edge bool) bool { return edge || unicode.IsSpace(r) }
	mark := func(r rune) bool { return unicode.IsPunct(r) || unicode.IsSymbol(r) }
	first, last := l.at == 0, l.at+n == len(l.text)
	begins := !space(after, last) && (!mark(after) || space(before, first) || mark(before))
	ends := !space(before, first) && (!mark(before) || space(after, last) || mark(after))
	if c == '_' {
		begins, ends = begins && (!ends || mark(before)), ends && (!begins || mark(after))
	}
	text := l.text[l.at : l.at+n]
	l.at += n
	if c == '~' && n != 2 || n > 3 {
		l.plain.WriteString(text)
		return
	}
	marks := []string{text}
	if n == 3 {
		marks = []string{text[:1], text[:2]}
		if top := len(l.open) - 1; ends && top >= 0 && l.open[top].mark == text[:2] {
			marks = []string{text[:2], text[:1]}
		}
	}
	for _, m := range marks {
		switch {
		case ends && l.count[m] > 0:
			l.wrap(m)
		case begins:
			l.begin(m)
		default:
			l.plain.WriteString(m)
		}
	}
}

// begin adds a mark, which is text unless something ends it.
func (l *line) begin(mark string) {
	l.flush()
	l.open = append(l.open, opener{mark, len(l.pieces)})
	l.count[mark]++
	l.add(Node{Text: mark}, 0)
}

// back takes the last opener of a mark, and those that began behind it and have not ended.
func (l *line) back(marks ...string) opener {
	for {
		o := l.open[len(l.open)-1]
		l.open = l.open[:len(l.open)-1]
		l.count[o.mark]--
		for _, m := range marks {
			if m == o.mark {
				return o
			}
		}
	}
}

// wrap ends what the last such mark began.
func (l *line) wrap(mark string) {
	l.flush()
	o := l.back(mark)
	deep := 0
	for _, p := range l.pieces[o.at+1:] {
		deep = max(deep, p.deep)
	}
	if l.depth+deep+1 >= maxDepth || len(l.pieces) == o.at+1 {
		l.plain.WriteString(mark)
		return
	}
	parts := l.nodes(o.at + 1)
	l.pieces = l.pieces[:o.at]
	l.add(Node{Kind: kinds[mark], Parts: parts}, deep+1)
}

// maxTarget is how long what a link leads to may be.
const maxTarget = 1000

// bracket reads links and images. All that is in their parentheses is shown.
func (l *line) bracket(c byte) {
	switch {
	case c == '[':
		l.begin("[")
		l.at++
		return
	case c == '!' && strings.HasPrefix(l.text[l.at:], "!["):
		l.begin("![")
		l.at += 2
		return
	case c == ']' && l.count["["]+l.count["!["] > 0 && strings.HasPrefix(l.text[l.at+1:], "("):
		if to, n := target(l.text[l.at+1:]); n > 0 {
			l.flush()
			o := l.back("[", "![")
			l.pieces[o.at].Text = ""
			sides := [2]string{" (", ")"}
			if o.mark == "![" {
				sides = [2]string{" [", "]"}
			}
			l.plain.WriteString(sides[0] + to + sides[1])
			l.at += 1 + n
			return
		}
	}
	l.plain.WriteByte(c)
	l.at++
}

// target is what stands in parentheses, and how long they are with it.
func target(text string) (to string, n int) {
	deep := 0
	for i := range min(len(text), maxTarget) {
		switch text[i] {
		case '\n':
			return "", 0
		case '(':
			deep++
		case ')':
			if deep--; deep == 0 {
				return text[1:i], i + 1
			}
		}
	}
	return "", 0
}
