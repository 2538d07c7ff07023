package gate

import (
	"bytes"
	"path"
	"strings"
)

// mark is a line that a tool acts on in any file with an ending.
type mark struct {
	Ends  string // "" for any
	Has   string // is looked for first
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
	for i, m := range marks() {
		if (m.Ends == "" || path.Ext(p) == m.Ends) && bytes.Contains(text, []byte(m.Has)) && m.Line().Match(text) &&
			(m.Plain == nil || !m.Plain().Match(text)) {
			return &marks()[i]
		}
	}
	return nil
}

// marked tells of lines that tools act on.
func (x *examination) marked() {
	for _, c := range x.changes {
		told := map[string]bool{}
		for _, l := range x.marks[c] {
			m := marked(c.path, []byte(l.text))
			if told[m.Says] || isFixture(c.path) && m.Kind.row().response == Tell ||
				m.Kind == "editor" && strings.HasSuffix(fold(c.path), ".md") {
				continue
			}
			told[m.Says] = true
			x.tell(c, m.Kind, Medium, l, m.Says)
		}
	}
}
