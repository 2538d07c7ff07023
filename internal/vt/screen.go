package vt

import (
	"strings"
	"unicode"

	"golang.org/x/text/width"
)

// These limit the size of the screen, the scrolled-off lines that are kept, and the marks on one character.
const (
	maxCols, maxRows = 1000, 500
	maxHistory       = 16 << 20
	maxMarks         = 4
)

// cell is one place on the screen. A wide character has an empty cell behind it.
type cell struct {
	r     rune // 0 if nothing was written
	tail  bool // the second half of a wide character
	marks string
}

// place is the cursor's position, with the state that is saved with it.
type place struct {
	row, col int
	wrap     bool // the last column was written: the next character goes to the next line
	origin   bool
	shifted  bool
	drawing  [2]bool // G0 and G1 have line-drawing characters
	placed   bool    // at an absolute line, or above where it began: its moves from the start no longer say where
}

// Screen is a terminal without colours: what is on it, and what has scrolled off it, as text.
type Screen struct {
	cols, rows int
	lines      [][]cell // the visible screen; cells behind a line's end are empty
	other      [][]cell // the main screen, while the alternate one is visible
	altMode    int      // the mode that switched to the alternate screen, 0 on the main screen
	top, end   int      // the scrolling region
	cursor     place
	saved      [2]place
	insert     bool
	nowrap     bool
	known      bool // lines holds everything on the main screen, since it was cleared
	tabs       []bool
	printed    rune // what REP repeats
	work       int  // see maxWork

	scan    scanner
	keep    int
	history []string
	size    int // the size of the history, in bytes
	off     func(line string)
}

// NewScreen returns an empty screen. It keeps a number of lines that scroll off; older ones, which nothing can erase
// any more, are passed to off, if there is one.
func NewScreen(cols, rows, keep int, off func(line string)) *Screen {
	// if nothing is saved, it is the top
	s := &Screen{keep: keep, off: off, saved: [2]place{{placed: true}, {placed: true}}}
	s.Resize(cols, rows)
	return s
}

// Write shows bytes on the screen. It never fails.
func (s *Screen) Write(p []byte) (int, error) {
	s.scan.scan(p, s.token)
	return len(p), nil
}

// Lines are the lines that have scrolled off and those on the visible screen, main or alternate, without empty lines at
// the end.
func (s *Screen) Lines() []string {
	lines := append([]string(nil), s.history...)
	for _, l := range s.lines[:s.last()+1] {
		lines = append(lines, lineText(l))
	}
	return lines
}

// Resize changes the size. Lines keep their content.
func (s *Screen) Resize(cols, rows int) {
	cols, rows = max(1, min(cols, maxCols)), max(1, min(rows, maxRows))
	if cols == s.cols && rows == s.rows {
		return
	}
	s.lines = s.fitRows(s.lines, rows, s.altMode == 0, &s.cursor.row)
	if s.altMode != 0 {
		s.other = s.fitRows(s.other, rows, true, &s.saved[0].row)
	}
	s.cols, s.rows = cols, rows
	s.top, s.end = 0, rows-1
	tabs := make([]bool, cols)
	for i := range tabs {
		tabs[i] = i%8 == 0
	}
	s.tabs = tabs
	s.moveTo(s.cursor.row, s.cursor.col)
}

// fitRows removes empty lines below the cursor first, then lines from the top.
func (s *Screen) fitRows(lines [][]cell, rows int, main bool, row *int) [][]cell {
	for len(lines) > rows && *row < len(lines)-1 && empty(lines[len(lines)-1]) {
		lines = lines[:len(lines)-1]
	}
	for len(lines) > rows {
		if main {
			s.scrolledOff(lines[0])
		}
		lines = lines[1:]
		*row = max(0, *row-1)
	}
	fitted := make([][]cell, rows)
	copy(fitted, lines)
	return fitted
}

func empty(line []cell) bool {
	for _, c := range line {
		if c.r != 0 && c.r != ' ' {
			return false
		}
	}
	return true
}

// last is the lowest line with content, -1 if there is none.
func (s *Screen) last() int {
	for i := len(s.lines) - 1; i >= 0; i-- {
		if !empty(s.lines[i]) {
			return i
		}
	}
	return -1
}

// which is 0 on the main screen and 1 on the alternate.
func (s *Screen) which() int {
	if s.altMode != 0 {
		return 1
	}
	return 0
}

func lineText(line []cell) string {
	var b strings.Builder
	for _, c := range line {
		switch {
		case c.tail:
		case c.r == 0:
			b.WriteByte(' ')
		default:
			b.WriteRune(c.r)
			b.WriteString(c.marks)
		}
	}
	return strings.TrimRight(b.String(), " ")
}

func (s *Screen) scrolledOff(line []cell) {
	if s.keep == 0 && s.off == nil {
		return
	}
	text := lineText(line)
	s.history = append(s.history, text)
	s.size += len(text)
	for len(s.history) > s.keep || s.size > maxHistory {
		if s.off != nil {
			s.off(s.history[0])
		}
		s.size -= len(s.history[0])
		s.history = s.history[1:]
	}
}

// Below the first of the marks, Unicode has one character without a width of its own. Its tables are slow to ask.
const (
	firstMark  = 0x300
	softHyphen = 0xad
)

// print writes a character at the cursor.
func (s *Screen) print(r rune) {
	g := 0
	if s.cursor.shifted {
		g = 1
	}
	if s.cursor.drawing[g] && r >= '`' && r <= '~' {
		r = lineDrawing[r-'`']
	}
	wide := 1
	switch {
	case (r >= firstMark || r == softHyphen) && unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		s.mark(r)
		return
	case r >= 0x1100 && isWide(r) && s.cols > 1:
		wide = 2
	}
	s.printed = r
	s.known = s.known && (s.cursor.placed || s.altMode != 0)
	if s.cursor.wrap || s.cursor.col+wide > s.cols {
		if s.nowrap {
			s.cursor.col = s.cols - wide
		} else {
			s.cursor.col = 0
			s.lineFeed()
		}
		s.cursor.wrap = false
	}
	if s.insert {
		s.insertCells(wide)
	}
	line := s.reach(s.cursor.col + wide)
	s.cut(line, s.cursor.col)
	s.cut(line, s.cursor.col+wide)
	line[s.cursor.col] = cell{r: r}
	if wide == 2 {
		line[s.cursor.col+1] = cell{tail: true}
	}
	s.cursor.col += wide
	if s.cursor.col >= s.cols {
		s.cursor.col, s.cursor.wrap = s.cols-1, !s.nowrap
	}
}

func isWide(r rune) bool {
	k := width.LookupRune(r).Kind()
	return k == width.EastAsianWide || k == width.EastAsianFullwidth
}

// mark puts a mark on the character before the cursor.
func (s *Screen) mark(r rune) {
	line, at := s.lines[s.cursor.row], s.cursor.col-1
	if s.cursor.wrap {
		at = s.cursor.col
	}
	if at >= 0 && at < len(line) && line[at].tail {
		at--
	}
	if at >= 0 && at < len(line) && line[at].r != 0 && len(line[at].marks) < maxMarks*3 {
		line[at].marks += string(r)
	}
}

// reach makes the cursor's line at least n cells long.
func (s *Screen) reach(n int) []cell {
	line := s.lines[s.cursor.row]
	if len(line) < n {
		line = append(line, make([]cell, n-len(line))...)
		s.lines[s.cursor.row] = line
	}
	return line
}

// cut makes room before a cell: half of a wide character can't stay.
func (s *Screen) cut(line []cell, at int) {
	if at > 0 && at < len(line) && line[at].tail {
		line[at-1], line[at] = cell{}, cell{}
	}
}

// lineFeed moves down a line, and scrolls at the end of the region.
func (s *Screen) lineFeed() {
	s.cursor.wrap = false
	if s.cursor.row == s.end {
		s.scrollUp(s.top, 1, true)
		return
	}
	s.cursor.row = min(s.cursor.row+1, s.rows-1)
}

// scrollUp moves the lines from top to the end of the region up. Lines that leave the main screen at its top are kept.
func (s *Screen) scrollUp(top, n int, keep bool) {
	n = min(n, s.end-top+1)
	for i := range n {
		if keep && top == 0 && s.altMode == 0 {
			s.scrolledOff(s.lines[top+i])
		}
	}
	gone := make([][]cell, n)
	for i := range gone {
		gone[i] = s.lines[top+i][:0]
	}
	copy(s.lines[top:s.end+1], s.lines[top+n:s.end+1])
	copy(s.lines[s.end+1-n:s.end+1], gone)
}

func (s *Screen) scrollDown(top, n int) {
	n = min(n, s.end-top+1)
	gone := make([][]cell, n)
	for i := range gone {
		gone[i] = s.lines[s.end-i][:0]
	}
	copy(s.lines[top+n:s.end+1], s.lines[top:s.end+1-n])
	copy(s.lines[top:top+n], gone)
}

func (s *Screen) moveTo(row, col int) {
	low, high := 0, s.rows-1
	if s.cursor.origin {
		low, high = s.top, s.end
	}
	s.cursor.row, s.cursor.col, s.cursor.wrap = max(low, min(row, high)), max(0, min(col, s.cols-1)), false
}

// lineDrawing are DEC's line-drawing characters for ` to ~.
var lineDrawing = []rune("◆▒␉␌␍␊°±␤␋┘┐┌└┼⎺⎻─⎼⎽├┤┴┬│≤≥π≠£·")
