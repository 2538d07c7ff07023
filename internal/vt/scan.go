// Package vt reads the language of terminals: what programs write to them, and the keys and answers that come back. It
// does no I/O. An agent wrote what it reads, so every part of it is limited.
package vt

import (
	"strconv"
	"strings"
	"unicode/utf8"
)

type tokenKind byte

const (
	tokenRune    tokenKind = iota // a character
	tokenControl                  // one of the first 32, or DEL
	tokenEscape                   // ESC, intermediates, final
	tokenCSI                      // ESC [, prefix, params, intermediates, final
	tokenString                   // ESC and one of ]P_^Xk, text, terminator
)

// token is one instruction to a terminal, in whichever spelling.
type token struct {
	kind   tokenKind
	r      rune   // for a character or control
	prefix byte   // for a CSI: one of <=>?, or 0
	params string // for a CSI
	inter  string
	final  byte   // for a string: its introducer
	text   string // for a string
	bell   bool   // the string ended with BEL
}

const (
	esc = 0x1b
	bel = 0x07
	can = 0x18
	sub = 0x1a
	del = 0x7f
)

// No terminal knows longer sequences; they are left out completely. A string is long when it carries a clipboard.
const (
	maxSequence = 256
	maxString   = 1 << 20
)

type scanState byte

const (
	inGround scanState = iota
	inEscape
	inCSI
	inString
	inStringEscape
)

// scanner splits bytes into tokens. Characters are UTF-8; 8-bit controls are recognised both bare and as characters,
// because terminals differ in which of the two they obey.
type scanner struct {
	state scanState
	buf   []byte // the current sequence
	kind  byte   // the introducer of the current string
	over  bool   // it is too long, or invalid
	char  []byte // the bytes of the current character
}

// scan calls each for every complete token. It keeps an incomplete one for the next call.
func (s *scanner) scan(p []byte, each func(token)) {
	for _, b := range p {
		s.byte(b, each)
	}
}

func (s *scanner) byte(b byte, each func(token)) {
	if len(s.char) > 0 {
		if b&0xc0 == 0x80 {
			s.char = append(s.char, b)
			if len(s.char) == charLen(s.char[0]) {
				r, n := utf8.DecodeRune(s.char)
				if n != len(s.char) {
					r = utf8.RuneError
				}
				s.char = s.char[:0]
				s.rune(r, each)
			}
			return
		}
		s.char = s.char[:0]
		s.rune(utf8.RuneError, each)
	}
	switch {
	case b < utf8.RuneSelf:
		s.rune(rune(b), each)
	case b < 0xa0:
		s.rune(rune(b), each) // a bare 8-bit control
	case charLen(b) > 1:
		s.char = append(s.char, b)
	default:
		s.rune(utf8.RuneError, each)
	}
}

func charLen(lead byte) int {
	switch {
	case lead >= 0xc2 && lead < 0xe0:
		return 2
	case lead >= 0xe0 && lead < 0xf0:
		return 3
	case lead >= 0xf0 && lead < 0xf5:
		return 4
	}
	return 1
}

func (s *scanner) rune(r rune, each func(token)) {
	if s.state == inStringEscape {
		if r == '\\' {
			s.endString(each, false)
			return
		}
		s.begin(inEscape) // it ends the string too
	}
	switch {
	case r == esc && s.state == inString:
		s.state = inStringEscape
	case r == esc:
		s.begin(inEscape)
	case r == can, r == sub:
		s.begin(inGround)
	case r >= 0x80 && r < 0xa0:
		s.c1(byte(r), each)
	case s.state == inString:
		s.stringRune(r, each)
	case r < 0x20:
		each(token{kind: tokenControl, r: r}) // even in the middle of a sequence
	case s.state == inEscape:
		s.escapeRune(r, each)
	case s.state == inCSI:
		s.csiRune(r, each)
	case r == del:
	default:
		each(token{kind: tokenRune, r: r})
	}
}

// c1 obeys an 8-bit control as ESC and the letter that it stands for.
func (s *scanner) c1(b byte, each func(token)) {
	if b == 0x9c && s.state == inString {
		s.endString(each, false)
		return
	}
	s.begin(inEscape)
	s.escapeRune(rune(b-0x40), each)
}

func (s *scanner) begin(state scanState) { s.state, s.buf, s.over = state, s.buf[:0], false }

func (s *scanner) escapeRune(r rune, each func(token)) {
	switch {
	case r == del:
		return
	case r >= 0x20 && r < 0x30:
		s.keep(byte(r), maxSequence)
		return
	case len(s.buf) == 0 && r == '[':
		s.begin(inCSI)
		return
	case len(s.buf) == 0 && strings.ContainsRune("]P_^Xk", r):
		s.begin(inString)
		s.kind = byte(r)
		return
	case r < del && !s.over:
		each(token{kind: tokenEscape, inter: string(s.buf), final: byte(r)})
	}
	s.begin(inGround)
}

func (s *scanner) csiRune(r rune, each func(token)) {
	switch {
	case r == del:
	case r >= 0x20 && r < 0x40:
		s.keep(byte(r), maxSequence)
	case r < del:
		if t, ok := splitCSI(string(s.buf)); ok && !s.over {
			t.final = byte(r)
			each(t)
		}
		s.begin(inGround)
	default:
		s.begin(inGround)
		each(token{kind: tokenRune, r: r})
	}
}

func splitCSI(body string) (token, bool) {
	t := token{kind: tokenCSI}
	if body != "" && body[0] >= '<' && body[0] <= '?' {
		t.prefix, body = body[0], body[1:]
	}
	n := strings.IndexFunc(body, func(r rune) bool { return r < '0' || r > ';' })
	if n < 0 {
		n = len(body)
	}
	t.params, t.inter = body[:n], body[n:]
	return t, strings.IndexFunc(t.inter, func(r rune) bool { return r >= 0x30 }) < 0
}

func (s *scanner) stringRune(r rune, each func(token)) {
	if r == bel && s.kind == ']' {
		s.endString(each, true)
		return
	}
	if len(s.buf)+utf8.UTFMax > maxString {
		s.over = true
		return
	}
	s.buf = utf8.AppendRune(s.buf, r)
}

func (s *scanner) endString(each func(token), bell bool) {
	if !s.over {
		each(token{kind: tokenString, final: s.kind, text: string(s.buf), bell: bell})
	}
	if cap(s.buf) > maxSequence*16 {
		s.buf = nil
	}
	s.begin(inGround)
}

func (s *scanner) keep(b byte, most int) {
	if len(s.buf) >= most {
		s.over = true
		return
	}
	s.buf = append(s.buf, b)
}

// append spells a token in 7 bits, as every terminal understands it.
func (t token) append(to []byte) []byte {
	switch t.kind {
	case tokenRune, tokenControl:
		return utf8.AppendRune(to, t.r)
	case tokenEscape:
		return append(append(append(to, esc), t.inter...), t.final)
	case tokenCSI:
		to = append(to, esc, '[')
		if t.prefix != 0 {
			to = append(to, t.prefix)
		}
		return append(append(append(to, t.params...), t.inter...), t.final)
	case tokenString:
		to = append(append(to, esc, t.final), t.text...)
		if t.bell {
			return append(to, bel)
		}
		return append(to, esc, '\\')
	}
	return to
}

// maxParam limits a number in a sequence: no screen is larger.
const maxParam = 9999

// numbers are the params of a CSI, -1 for a missing one. If a param has parts, only the first is read.
func (t token) numbers() []int {
	if t.params == "" {
		return nil
	}
	var list []int
	for field := range strings.SplitSeq(t.params, ";") {
		field, _, _ = strings.Cut(field, ":")
		n, err := strconv.Atoi(field)
		if field == "" || err != nil {
			n = -1
			if field != "" {
				n = maxParam
			}
		}
		list = append(list, min(n, maxParam))
	}
	return list
}

// number is the nth param, or the fallback if it is missing or zero.
func (t token) number(n, fallback int) int {
	list := t.numbers()
	if n >= len(list) || list[n] <= 0 {
		return fallback
	}
	return list[n]
}
