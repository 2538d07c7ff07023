package term

import (
	"os"
	"strings"
	"unicode/utf8"

	xterm "golang.org/x/term"

	"github.com/cco-dev/cco/internal/safetext"
)

// Table prints rows in columns. The first row is the heading.
func (s *Streams) Table(rows [][]string) { s.rows(rows, 0) }

// Lines is Table with rows that are cut where the terminal ends, so that each is one line.
func (s *Streams) Lines(rows [][]string) { s.rows(rows, s.width()) }

func (s *Streams) rows(rows [][]string, most int) {
	widths := map[int]int{}
	for _, row := range rows {
		for i, cell := range row {
			widths[i] = max(widths[i], utf8.RuneCountInString(safetext.Text(cell)))
		}
	}
	for n, row := range rows {
		var line strings.Builder
		for i, cell := range row {
			cell = strings.ReplaceAll(safetext.Text(cell), "\n", " ")
			line.WriteString(cell)
			if i < len(row)-1 {
				line.WriteString(strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell)+2))
			}
		}
		text := strings.TrimRight(line.String(), " ")
		if most > 0 {
			text = safetext.Fit(text, most)
		}
		if n == 0 {
			text = s.Paint(Dim, text)
		}
		s.Printf("%s\n", text)
	}
}

// width is how many columns the terminal of the results has, 0 if they go elsewhere.
func (s *Streams) width() int {
	if f, ok := s.Out.(*os.File); ok && s.OutTTY {
		if w, _, err := xterm.GetSize(int(f.Fd())); err == nil {
			return w
		}
	}
	return 0
}
