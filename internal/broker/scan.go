package broker

import (
	"bytes"
	"strconv"
	"unicode/utf8"
)

const (
	scanDepth = 512 // deeper than that is not read
	scanKey   = 64  // bytes of a key that are kept
	scanValue = 96  // bytes of a value that are kept
)

// scanner walks through JSON as it passes, in a fixed amount of memory. It calls see for every value with the path of
// keys to it, arrays left out: {"a":[{"b":1}]} gives a with "[", a with "{" and a.b with "1". Keys and values are cut
// at their bounds. It is lenient: at what isn't JSON it stops and is broken.
type scanner struct {
	see    func(path, value []byte)
	broken bool

	state scanState
	kinds []byte // '{' or '[' for each open container
	lens  []int  // how long path was before each of them
	path  []byte
	isKey bool
	word  []byte // the key or value that is being read
	hex   []byte // of a \u escape
}

type scanState byte

const (
	wantValue scanState = iota
	wantKey
	wantColon
	wantComma
	inString
	inEscape
	inHex
	inScalar
)

func (s *scanner) reset() {
	s.state, s.broken = wantValue, false
	s.kinds, s.lens = s.kinds[:0], s.lens[:0]
	s.path, s.word = s.path[:0], s.word[:0]
}

// idle says that no value is open.
func (s *scanner) idle() bool { return s.state == wantValue && len(s.kinds) == 0 }

// write reads the next bytes.
func (s *scanner) write(p []byte) {
	for i := 0; i < len(p) && !s.broken; {
		if s.state == inString {
			i = s.inString(p, i)
			continue
		}
		s.step(p[i])
		i++
	}
}

// inString reads on to the end of the string, or of p, or to an escape. It is where most bytes go.
func (s *scanner) inString(p []byte, i int) int {
	start := i
	// In pieces, so that text full of escapes is not searched to its end for each of them.
	for i < len(p) {
		piece := p[i:min(i+256, len(p))]
		n := bytes.IndexByte(piece, '"')
		if n >= 0 {
			piece = piece[:n]
		}
		if e := bytes.IndexByte(piece, '\\'); e >= 0 {
			i += e
			break
		}
		i += len(piece)
		if n >= 0 {
			break
		}
	}
	s.keep(p[start:i])
	if i == len(p) {
		return i
	}
	if p[i] == '\\' {
		s.state = inEscape
	} else {
		s.endString()
	}
	return i + 1
}

func (s *scanner) keep(p []byte) {
	most := scanValue
	if s.isKey {
		most = scanKey
	}
	if room := most - len(s.word); room > 0 {
		s.word = append(s.word, p[:min(room, len(p))]...)
	}
}

func (s *scanner) step(c byte) {
	switch s.state {
	case inEscape:
		s.escape(c)
		return
	case inHex:
		if s.hex = append(s.hex, c); len(s.hex) == 4 {
			n, err := strconv.ParseUint(string(s.hex), 16, 32)
			s.broken = err != nil
			s.keep(utf8.AppendRune(nil, rune(n)))
			s.state = inString
		}
		return
	case inScalar:
		if c != ',' && c != '}' && c != ']' && c > ' ' {
			s.keep([]byte{c})
			return
		}
		s.endValue()
	}
	if c == ' ' || c == '\n' || c == '\t' || c == '\r' {
		return
	}
	s.mark(c)
}

func (s *scanner) escape(c byte) {
	s.state = inString
	switch c {
	case 'u':
		s.state, s.hex = inHex, s.hex[:0]
	case 'n', 't', 'r', 'b', 'f':
		s.keep([]byte{' '})
	default:
		s.keep([]byte{c})
	}
}

// mark handles a byte between words.
func (s *scanner) mark(c byte) {
	switch {
	case (c == '}' || c == ']') && (s.state == wantComma || s.state == wantKey || s.state == wantValue):
		s.pop(c)
	case s.state == wantKey && c == '"':
		s.begin(true)
	case s.state == wantKey && c == ',' || s.state == wantValue && c == ',':
		s.broken = true
	case s.state == wantColon && c == ':':
		s.state = wantValue
	case s.state == wantComma && c == ',':
		s.state = wantValue
		if s.kinds[len(s.kinds)-1] == '{' {
			s.state = wantKey
		}
	case s.state == wantValue && (c == '{' || c == '['):
		s.push(c)
	case s.state == wantValue && c == '"':
		s.begin(false)
	case s.state == wantValue:
		s.begin(false)
		s.state = inScalar
		s.keep([]byte{c})
	default:
		s.broken = true
	}
}

func (s *scanner) begin(key bool) {
	s.isKey, s.word, s.state = key, s.word[:0], inString
}

func (s *scanner) endString() {
	if !s.isKey {
		s.endValue()
		return
	}
	s.path = append(s.path[:s.lens[len(s.lens)-1]], '.')
	if len(s.path) == 1 {
		s.path = s.path[:0]
	}
	if len(s.path) < scanDepth { // nothing that we look for has a path that long
		s.path = append(s.path, s.word...)
	}
	s.state = wantColon
}

func (s *scanner) endValue() {
	s.see(s.path, s.word)
	s.after()
}

// after sets what may follow a value.
func (s *scanner) after() {
	s.state = wantComma
	if len(s.kinds) == 0 {
		s.state = wantValue
		s.path = s.path[:0]
	}
}

func (s *scanner) push(c byte) {
	if len(s.kinds) == scanDepth {
		s.broken = true
		return
	}
	s.see(s.path, []byte{c})
	s.kinds, s.lens = append(s.kinds, c), append(s.lens, len(s.path))
	s.state = wantValue
	if c == '{' {
		s.state = wantKey
	}
}

func (s *scanner) pop(c byte) {
	last := len(s.kinds) - 1
	if last < 0 || (s.kinds[last] == '{') != (c == '}') {
		s.broken = true
		return
	}
	s.path = s.path[:s.lens[last]]
	s.kinds, s.lens = s.kinds[:last], s.lens[:last]
	s.after()
}

// events feeds a scanner with the data of server-sent events.
type events struct {
	scan scanner
	line []byte // the first bytes of the line, up to its colon
	data bool   // this line is data
	over bool   // this line is something else
	any  bool   // this line has a byte
}

func (e *events) write(p []byte) {
	for len(p) > 0 {
		end := len(p)
		if n := bytes.IndexByte(p, '\n'); n >= 0 {
			end = n
		}
		if n := bytes.IndexByte(p[:end], '\r'); n >= 0 {
			end = n
		}
		e.part(p[:end])
		if end == len(p) {
			return
		}
		e.endLine()
		p = p[end+1:]
	}
}

func (e *events) part(p []byte) {
	const field = "data:"
	if len(p) > 0 {
		e.any = true
	}
	for !e.data && !e.over && len(p) > 0 {
		if p[0] != field[len(e.line)] {
			e.over = true
		} else if e.line = append(e.line, p[0]); len(e.line) == len(field) {
			e.data = true
			if e.scan.broken || e.scan.idle() {
				e.scan.reset()
			}
		}
		p = p[1:]
	}
	if e.data {
		e.scan.write(p)
	}
}

func (e *events) endLine() {
	if e.data {
		e.scan.write([]byte{'\n'})
	} else if !e.any {
		e.scan.reset() // an empty line ends the event
	}
	e.line = e.line[:0]
	e.data, e.over, e.any = false, false, false
}
