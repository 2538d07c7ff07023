package vt

import (
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"
)

// Filter passes those of a box's bytes to the user's terminal that can do no harm there, spelled so that every terminal
// reads them alike, and remembers what to undo when the user leaves.
type Filter struct {
	Clipboard bool // the clipboard may be written
	Deaf      bool // nobody reads answers, so queries are dropped: the output is a recording, or there is no keyboard
	Draws     bool // only what draws on the screen passes: no title, link, colour table or other string

	scan   scanner
	screen *Screen
	out    []byte
	wrote  bool
	named  bool // the title is ours
	asked  struct {
		any        bool
		attributes int // queries for device attributes
	}

	modes   map[int]bool // modes that were changed
	colours map[string]bool
	kitty   [2]keyboard // of the main and of the alternate screen
	touched struct{ title, link, keys, insert, keypad, charset, style, tabs, region bool }
}

// keyboard records changes to the keyboard modes of kitty's protocol.
type keyboard struct {
	pushed int
	set    bool
}

// NewFilter returns a filter for a terminal of the given size.
func NewFilter(cols, rows int) *Filter {
	return &Filter{screen: NewScreen(cols, rows, 0, nil), modes: map[int]bool{}, colours: map[string]bool{}}
}

// Resize sets the terminal's new size.
func (f *Filter) Resize(cols, rows int) { f.screen.Resize(cols, rows) }

// Pass returns the bytes that may be shown. The result is valid until the next call.
func (f *Filter) Pass(p []byte) []byte {
	f.out = f.out[:0]
	f.scan.scan(p, f.token)
	return f.out
}

func (f *Filter) token(t token) {
	switch t.kind {
	case tokenRune:
	case tokenControl:
		if strings.IndexByte(controls, byte(t.r)) < 0 || t.r == bel && f.Deaf {
			return
		}
		f.touched.charset = f.touched.charset || t.r == 0x0e
	case tokenEscape:
		if t.inter == "" && t.final == 'c' {
			f.reset()
			return
		}
		if !slices.Contains(escapes, t.inter+string(t.final)) {
			return
		}
		f.noteEscape(t)
	case tokenCSI:
		i := slices.IndexFunc(sequences, func(c csi) bool { return c.allows(t) })
		if i < 0 || sequences[i].query && f.Deaf {
			return
		}
		f.asked.any = f.asked.any || sequences[i].query
		if t.prefix == '?' && (t.final == 'h' || t.final == 'l') {
			f.setModes(t)
			return
		}
		if t.prefix == '<' && !f.pops(&t) {
			return
		}
		// Programs repeat within a line; a terminal that is told to would repeat for hours.
		if t.prefix == 0 && t.final == 'b' && t.number(0, 1) > f.screen.cols {
			t.params = fmt.Sprint(f.screen.cols)
		}
		f.noteCSI(t)
	case tokenString:
		if !f.allowsString(t) {
			return
		}
	}
	f.emit(t)
}

func (f *Filter) emit(t token) {
	f.wrote = true
	f.out = t.append(f.out)
	f.screen.token(t)
}

// setModes passes one mode at a time, since only some of those that are named together may be allowed.
func (f *Filter) setModes(t token) {
	for _, n := range t.numbers() {
		if _, ok := modes[n]; !ok {
			continue
		}
		if isAlternate(n) && t.final == 'l' && f.screen.altMode == 0 {
			continue // some terminals would still move the cursor to a place that another program saved
		}
		f.modes[n] = true
		f.emit(token{kind: tokenCSI, prefix: '?', params: fmt.Sprint(n), final: t.final})
	}
}

func isAlternate(mode int) bool { return mode == 47 || mode == 1047 || mode == 1049 }

func (f *Filter) noteEscape(t token) {
	switch t.inter + string(t.final) {
	case "=", ">":
		f.touched.keypad = true
	case "H":
		f.touched.tabs = true
	default:
		f.touched.charset = f.touched.charset || t.inter == "(" || t.inter == ")"
	}
}

// pops lets a program take from the keyboard's stack only as much as it has put there: the rest is the user's.
func (f *Filter) pops(t *token) bool {
	k := &f.kitty[f.screen.which()]
	n := min(t.number(0, 1), k.pushed)
	if n != t.number(0, 1) {
		t.params = fmt.Sprint(n)
	}
	k.pushed -= n
	return n > 0
}

func (f *Filter) noteCSI(t token) {
	k := &f.kitty[f.screen.which()]
	switch string(t.prefix) + t.inter + string(t.final) {
	case ">u":
		k.pushed = min(k.pushed+1, maxParam)
	case "=u":
		k.set = true
	case ">m":
		f.touched.keys = true
	case "\x00 q":
		f.touched.style = true
	case "\x00h":
		f.touched.insert = true
	case "\x00g":
		f.touched.tabs = true
	case "\x00c":
		f.asked.attributes++
	case "\x00r":
		f.touched.region = true
	}
}

// allowsString decides about a string, and prepares to undo its effect.
func (f *Filter) allowsString(t token) bool {
	steers := func(r rune) bool { return r < 0x20 || r == del || r == utf8.RuneError }
	if f.Draws || strings.ContainsFunc(t.text, steers) {
		return false
	}
	if t.final == 'P' {
		asks := isDeviceQuery(t.text) && !f.Deaf
		f.asked.any = f.asked.any || asks
		return asks
	}
	number, text, _ := strings.Cut(t.text, ";")
	i := slices.IndexFunc(commands, func(c osc) bool { return c.number == number })
	if t.final != ']' || i < 0 || f.named && isTitle(number) {
		return false
	}
	c := commands[i]
	if len(text) > c.most || c.text != nil && !c.text(text) || number == "52" && (!f.Clipboard || f.Deaf) {
		return false
	}
	if asks := c.query && (text == "?" || strings.Contains(text, ";?")); asks {
		f.asked.any = f.asked.any || !f.Deaf
		return !f.Deaf
	}
	f.noteCommand(number)
	return true
}

// Name gives the terminal a title, which stands from now on in place of those of the program.
func (f *Filter) Name(title string) []byte {
	f.out = f.out[:0]
	f.noteCommand("2")
	f.named = true
	return fmt.Appendf(f.out, "\x1b]2;%s\x1b\\", title)
}

func isTitle(command string) bool { return command == "0" || command == "1" || command == "2" }

func (f *Filter) noteCommand(number string) {
	switch number {
	case "0", "1", "2":
		if !f.touched.title {
			f.touched.title = true
			f.out = append(f.out, "\x1b[22;0t"...)
		}
	case "4", "10", "11", "12":
		f.colours[number] = true
	case "8":
		f.touched.link = true
	}
}

// Restore returns bytes that undo everything that has passed, and put the cursor at the beginning of an empty line
// below it.
func (f *Filter) Restore() []byte {
	if !f.wrote && !f.named {
		return nil
	}
	f.out, f.scan = f.out[:0], scanner{}
	if f.named {
		f.out = append(f.out, "\x1b[23;0t"...)
	}
	if f.wrote {
		f.undo()
		f.goBelow()
	}
	f.wrote, f.named = false, false
	return f.out
}

// reset does what a full reset of the terminal does, but for the scrollback, which most terminals would wipe: what
// stands there is the user's.
func (f *Filter) reset() {
	f.undo()
	for _, t := range []token{{inter: "!", final: 'p'}, {final: 'H'}, {params: "2", final: 'J'}} {
		t.kind = tokenCSI
		f.emit(t)
	}
}

// undo takes back what has passed, but for what stands on the screen.
func (f *Filter) undo() {
	out := func(format string, args ...any) { f.out = fmt.Appendf(f.out, format, args...) }
	when := func(touched bool, text string) {
		if touched {
			out("%s", text)
		}
	}
	when(f.modes[2026], "\x1b[?2026l") // first, so that the rest is visible
	f.restoreKeyboard()
	when(f.touched.keys, "\x1b[>4m")
	for _, n := range sortedModes(f.modes) {
		if how := modes[n]; how != 0 && n != 2026 {
			f.emit(token{kind: tokenCSI, prefix: '?', params: fmt.Sprint(n), final: how})
		}
	}
	when(f.touched.insert, "\x1b[4l")
	when(f.touched.keypad, "\x1b>")
	when(f.touched.charset, "\x1b(B\x1b)B\x0f")
	when(f.touched.link, "\x1b]8;;\x1b\\")
	when(f.touched.style || f.modes[12], "\x1b[0 q")
	out("\x1b[m")
	for _, c := range []string{"4", "10", "11", "12"} {
		if f.colours[c] {
			out("\x1b]%s\x1b\\", map[string]string{"4": "104", "10": "110", "11": "111", "12": "112"}[c])
		}
	}
	when(f.touched.title && !f.named, "\x1b[23;0t")
	if f.touched.tabs {
		out("\r\x1b[3g%s\r", strings.Repeat("\x1b[8C\x1bH", (f.screen.cols-1)/8))
	}
}

// LastQuery returns a query that every terminal answers, and the number of such answers by then: nothing comes after
// the last. If the terminal was asked nothing, the query is empty.
func (f *Filter) LastQuery() (query string, answers int) {
	if !f.asked.any {
		return "", 0
	}
	return "\x1b[c", f.asked.attributes + 1
}

func sortedModes(set map[int]bool) []int {
	var list []int
	for n := range set {
		list = append(list, n)
	}
	slices.Sort(list)
	return list
}

// restoreKeyboard removes what was put on the keyboard's stacks, one for each screen, and leaves the alternate screen.
func (f *Filter) restoreKeyboard() {
	for {
		which := f.screen.which()
		k := &f.kitty[which]
		if k.set {
			f.out = append(f.out, "\x1b[=0u"...)
		}
		if k.pushed > 0 {
			f.out = fmt.Appendf(f.out, "\x1b[<%du", k.pushed)
		}
		*k = keyboard{}
		if which == 0 {
			return
		}
		f.emit(token{kind: tokenCSI, prefix: '?', params: fmt.Sprint(f.screen.altMode), final: 'l'})
	}
}

// goBelow moves below everything on the screen, and erases none of it. Nobody knows where on the user's terminal the
// agent began. Until it places its cursor, all its moves are relative, and so is this one. After that only a screen
// that it has cleared is known; on any other screen the lines below are the user's, and only a new line is surely free.
func (f *Filter) goBelow() {
	s, row, last := f.screen, f.screen.cursor.row, f.screen.last()
	switch {
	case s.known:
		f.out = fmt.Appendf(f.out, "\x1b[r\x1b[%d;1H", max(last, 0)+1)
		row = last
	case s.cursor.placed:
		f.out = append(f.out, "\x1b[r\x1b[999;1H\r\n"...) // to the bottom, whatever the terminal's size
		row, last = 1, 0
	case f.touched.region:
		f.out = append(f.out, "\x1b7\x1b[r\x1b8"...)
		fallthrough
	default:
		if last > row {
			f.out = fmt.Appendf(f.out, "\x1b[%dB", last-row)
		}
	}
	if last >= 0 && last >= row {
		f.out = append(f.out, "\r\n"...)
	}
	f.out = append(f.out, "\r\x1b[J"...)
}
