package gate

import (
	"bytes"
	"slices"
	"strings"
)

// mark is a line that a tool acts on in any file with an ending.
type mark struct {
	Ends  string   // "" for any
	Has   []string // one of them is looked for first, and its last byte before that
	Line  expression
	Plain expression // lines that do no more than set how a file is shown
	First float64    // it is one among so many lines at the beginning of a file,
	Last  float64    // or at the end,
	Tail  float64    // or among so many bytes there; everywhere if none of these is set
	Kind  Kind
	Says  string
}

var marks = table[mark]("marks")

// marked says which row a line falls under; nil if none.
func marked(p string, text []byte) *mark {
	if len(text) > maxText {
		return nil
	}
	return first(marks(), func(m *mark) bool {
		return strings.HasSuffix(p, m.Ends) && slices.ContainsFunc(m.Has, func(s string) bool {
			return bytes.IndexByte(text, s[len(s)-1]) >= 0 && bytes.Contains(text, []byte(s))
		}) && m.Line().Match(text) && (m.Plain == nil || !m.Plain().Match(text))
	})
}

// mark tells of a line that a tool acts on, once for a file and row.
func (x *examination) mark(c *change, m *mark, l line) {
	once := c.path + "\x00" + m.Says
	if x.marked[once] || isFixture(c.path) && m.Kind.row().response == Tell || !x.counts(c, m, once, l.no) {
		return
	}
	x.marked[once] = true
	x.tell(c, m.Kind, Medium, l, m.Says)
}

// counts says whether a line stands where the tool looks for it. Blank lines are none, and in a file that is too large
// to be read each place is one.
func (x *examination) counts(c *change, m *mark, once string, no int) bool {
	first, last := int(m.First), int(m.Last)
	at, known := x.edges[once]
	if !known && m.First+m.Last+m.Tail > 0 {
		full, text := []int{0}, x.blob(c.isOID)
		for n, left := 1, len(text); text != ""; n++ {
			line, rest, _ := strings.Cut(text, "\n")
			if text = rest; strings.TrimSpace(line) != "" && (m.Tail == 0 || left > int(m.Tail)) {
				full = append(full, n)
			}
			left = len(rest)
		}
		if end := append(full, full[len(full)-1]+1); len(end) > first+last+2 {
			at = [2]int{end[first], end[len(end)-1-last]}
		}
		x.edges[once] = at
	}
	return no <= at[0] || no >= at[1]
}
