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
	Kind  Kind
	Says  string
}

var marks = table[mark]("marks")

// marked says which row a line falls under; nil if none.
func marked(p string, text []byte) *mark {
	if len(text) > maxText {
		return nil
	}
	rows := marks()
	for i := range rows {
		m := &rows[i]
		if strings.HasSuffix(p, m.Ends) && slices.ContainsFunc(m.Has, func(s string) bool {
			return bytes.IndexByte(text, s[len(s)-1]) >= 0 && bytes.Contains(text, []byte(s))
		}) && m.Line().Match(text) && (m.Plain == nil || !m.Plain().Match(text)) {
			return m
		}
	}
	return nil
}

// mark tells of a line that a tool acts on, once for a file and row.
func (x *examination) mark(c *change, m *mark, l line) {
	once := c.path + "\x00" + m.Says
	if x.marked[once] || isFixture(c.path) && m.Kind.row().response == Tell ||
		m.Kind == "editor" && strings.HasSuffix(fold(c.path), ".md") {
		return
	}
	x.marked[once] = true
	x.tell(c, m.Kind, Medium, l, m.Says)
}
