package term

import (
	"strings"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/safetext"
)

// Table prints rows in columns. The first row is the heading.
func (s *Streams) Table(rows [][]string) {
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
		if n == 0 {
			text = s.Paint(Dim, text)
		}
		s.Printf("%s\n", text)
	}
}
