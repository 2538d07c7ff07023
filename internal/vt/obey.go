package vt

import "strings"

// token carries out an instruction to the terminal, as far as it affects text.
func (s *Screen) token(t token) {
	switch t.kind {
	case tokenRune:
		s.print(t.r)
	case tokenControl:
		s.control(t.r)
	case tokenEscape:
		s.escape(t)
	case tokenCSI:
		switch {
		case t.prefix == '?' && t.inter == "" && (t.final == 'h' || t.final == 'l'):
			for _, n := range t.numbers() {
				s.privateMode(n, t.final == 'h')
			}
		case t.prefix == 0 && t.inter == "!" && t.final == 'p':
			s.softReset()
		case (t.prefix == 0 || t.prefix == '?' && (t.final == 'J' || t.final == 'K')) && t.inter == "":
			s.move(t)
		}
	}
}

func (s *Screen) control(r rune) {
	switch r {
	case '\b':
		s.moveTo(s.cursor.row, s.cursor.col-1)
	case '\t':
		s.tab(1)
	case '\n', '\v', '\f':
		s.lineFeed()
	case '\r':
		s.cursor.col, s.cursor.wrap = 0, false
	case 0x0e, 0x0f:
		s.cursor.shifted = r == 0x0e
	}
}

func (s *Screen) escape(t token) {
	switch t.inter + string(t.final) {
	case "7":
		s.saved[s.which()] = s.cursor
	case "8":
		s.restore()
	case "D":
		s.lineFeed()
	case "E":
		s.cursor.col = 0
		s.lineFeed()
	case "M":
		s.reverseFeed()
	case "H":
		s.tabs[s.cursor.col] = true
	case "c":
		s.reset()
	case "(0", "(A", "(B":
		s.cursor.drawing[0] = t.final == '0'
	case ")0", ")A", ")B":
		s.cursor.drawing[1] = t.final == '0'
	}
}

func (s *Screen) reverseFeed() {
	s.cursor.wrap = false
	if s.cursor.row == s.top {
		s.cursor.placed = true // otherwise it would have gone up
		s.scrollDown(s.top, 1)
		return
	}
	s.cursor.row = max(0, s.cursor.row-1)
}

func (s *Screen) restore() {
	s.cursor = s.saved[s.which()]
	s.moveTo(s.cursor.row, s.cursor.col)
}

func (s *Screen) softReset() {
	s.top, s.end = 0, s.rows-1
	s.insert, s.nowrap = false, false
	s.cursor.origin, s.cursor.shifted, s.cursor.drawing = false, false, [2]bool{}
	s.saved[s.which()] = place{placed: true}
}

func (s *Screen) reset() {
	s.privateMode(s.altMode, false)
	s.softReset()
	s.lines, s.cursor, s.known = make([][]cell, s.rows), place{placed: true}, true
	for i := range s.tabs {
		s.tabs[i] = i%8 == 0
	}
}

func (s *Screen) tab(n int) {
	col := s.cursor.col
	for ; n > 0 && col < s.cols-1; n-- {
		for col++; col < s.cols-1 && !s.tabs[col]; col++ {
		}
	}
	for ; n < 0 && col > 0; n++ {
		for col--; col > 0 && !s.tabs[col]; col-- {
		}
	}
	s.moveTo(s.cursor.row, col)
}

func (s *Screen) privateMode(n int, on bool) {
	switch n {
	case 6:
		s.cursor.origin = on
		s.placeAt(0, 0)
	case 7:
		s.nowrap = !on
	case 1048:
		if on {
			s.saved[s.which()] = s.cursor
		} else {
			s.restore()
		}
	case 47, 1047, 1049:
		s.alternate(n, on)
	}
}

// alternate switches between the screens. The alternate one begins empty, whichever of the modes was used.
func (s *Screen) alternate(n int, on bool) {
	if on == (s.altMode != 0) {
		return
	}
	if on {
		if n == 1049 {
			s.saved[0] = s.cursor
		}
		s.other, s.lines, s.altMode = s.lines, make([][]cell, s.rows), n
		return
	}
	s.lines, s.other = s.other, nil
	was := s.altMode
	s.altMode = 0
	if was == 1049 && n == 1049 {
		s.restore()
	}
}

// placeAt puts the cursor at a line and column of the screen, or of the region in origin mode.
func (s *Screen) placeAt(row, col int) {
	if s.cursor.origin {
		row += s.top
	}
	s.cursor.placed = true
	s.moveTo(row, col)
}

// move obeys a plain control sequence.
func (s *Screen) move(t token) {
	n, c := t.number(0, 1), &s.cursor
	switch t.final {
	case 'A':
		s.up(n)
	case 'B', 'e':
		s.down(n)
	case 'C', 'a':
		s.moveTo(c.row, c.col+n)
	case 'D':
		s.moveTo(c.row, c.col-n)
	case 'E':
		s.down(n)
		c.col = 0
	case 'F':
		s.up(n)
		c.col = 0
	case 'G', '`':
		s.moveTo(c.row, n-1)
	case 'H', 'f':
		s.placeAt(n-1, t.number(1, 1)-1)
	case 'd':
		s.placeAt(n-1, c.col)
	case 'I':
		s.tab(n)
	case 'Z':
		s.tab(-n)
	case 'g':
		s.clearTabs(t.number(0, 0))
	case 'r':
		s.region(n-1, t.number(1, s.rows)-1)
	case 's':
		s.saved[s.which()] = s.cursor
	case 'u':
		s.restore()
	case 'h', 'l':
		if t.number(0, 0) == 4 {
			s.insert = t.final == 'h'
		}
	default:
		s.edit(t.final, t.number(0, 0), n)
	}
}

func (s *Screen) up(n int) {
	low := 0
	if s.cursor.row >= s.top {
		low = s.top
	}
	s.cursor.placed = s.cursor.placed || s.cursor.row-n < low
	s.cursor.row, s.cursor.wrap = max(low, s.cursor.row-n), false
}

func (s *Screen) down(n int) {
	high := s.rows - 1
	if s.cursor.row <= s.end {
		high = s.end
	}
	s.cursor.row, s.cursor.wrap = min(high, s.cursor.row+n), false
}

func (s *Screen) clearTabs(how int) {
	switch how {
	case 0:
		s.tabs[s.cursor.col] = false
	case 3:
		clear(s.tabs)
	}
}

func (s *Screen) region(top, end int) {
	end = min(end, s.rows-1)
	if top >= end {
		return
	}
	s.top, s.end = top, end
	s.placeAt(0, 0)
}

// maxWork limits the lines and characters that sequences make out of nothing: seconds' worth, and more than any program
// makes in days.
const maxWork = 100_000_000

// edit changes the screen's content: how is the first param, n the same param as a number of times.
func (s *Screen) edit(final byte, how, n int) {
	c := &s.cursor
	if strings.IndexByte("LMSTb", final) >= 0 {
		n = min(n, s.rows*s.cols)
		if s.work += n; s.work > maxWork {
			return
		}
	}
	inRegion := c.row >= s.top && c.row <= s.end
	switch final {
	case 'J':
		s.eraseScreen(how)
	case 'K':
		s.eraseLine(c.row, how)
	case 'L':
		if inRegion {
			s.scrollDown(c.row, n)
			c.col, c.wrap = 0, false
		}
	case 'M':
		if inRegion {
			s.scrollUp(c.row, n, false)
			c.col, c.wrap = 0, false
		}
	case 'S':
		s.scrollUp(s.top, n, true)
	case 'T':
		s.scrollDown(s.top, n)
	case '@':
		s.insertCells(n)
	case 'P':
		line := s.lines[c.row]
		if c.col < len(line) {
			s.cut(line, c.col)
			s.lines[c.row] = append(line[:c.col], line[min(len(line), c.col+n):]...)
			s.headless(c.row, c.col)
		}
		c.wrap = false
	case 'X':
		line := s.lines[c.row]
		end := min(len(line), c.col+n)
		for i := c.col; i < end; i++ {
			s.cut(line, i)
			line[i] = cell{}
		}
		s.headless(c.row, end)
		c.wrap = false
	case 'b':
		if s.printed != 0 {
			for range min(n, s.cols) { // programs repeat within a line; hostile ones would repeat for hours
				s.print(s.printed)
			}
		}
	}
}

// headless clears the second half of a wide character whose first half is gone.
func (s *Screen) headless(row, at int) {
	if line := s.lines[row]; at >= 0 && at < len(line) && line[at].tail {
		line[at] = cell{}
	}
}

func (s *Screen) insertCells(n int) {
	line, at := s.lines[s.cursor.row], s.cursor.col
	if at >= len(line) {
		return
	}
	s.cut(line, at)
	n = min(n, s.cols-at)
	moved := append(make([]cell, n), line[at:]...)
	line = append(line[:at], moved...)
	s.lines[s.cursor.row] = line[:min(len(line), max(s.cols, at))]
}

func (s *Screen) eraseScreen(how int) {
	s.cursor.wrap = false
	all := how == 2 || how == 0 && s.cursor.placed && s.cursor.row == 0 && s.cursor.col == 0
	s.known = s.known || all && s.altMode == 0
	switch how {
	case 0:
		s.eraseLine(s.cursor.row, 0)
		s.blank(s.cursor.row+1, s.rows)
	case 1:
		s.eraseLine(s.cursor.row, 1)
		s.blank(0, s.cursor.row)
	case 2:
		s.blank(0, s.rows)
	case 3:
		s.history, s.size = nil, 0
	}
}

func (s *Screen) blank(from, to int) {
	for i := from; i < to; i++ {
		s.lines[i] = s.lines[i][:0]
	}
}

func (s *Screen) eraseLine(row, how int) {
	line, at := s.lines[row], s.cursor.col
	s.cursor.wrap = false
	switch {
	case how == 2 || how == 1 && at >= len(line):
		s.lines[row] = line[:0]
	case how == 0 && at < len(line):
		s.cut(line, at)
		s.lines[row] = line[:at]
	case how == 1:
		for i := range at + 1 {
			line[i] = cell{}
		}
		s.headless(row, at+1)
	}
}
