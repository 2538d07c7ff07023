package guard

import "strings"

// kind says how much is known of a piece of text, from all to nothing. The
// order matters: a later kind is the more doubtful one.
type kind uint8

const (
	literal kind = iota
	token        // unknown, but one harmless word: a number, a date, a commit
	matched      // what a glob matched in the directory before it
	below        // a relative path that a listing of the inside printed
	environ      // a variable that the command never set
	dynamic      // data: read from somewhere, printed by something
	hidden       // made by decoding or by a program: nobody writes a path that way by accident
)

// seg is one piece of a text.
type seg struct {
	kind kind
	text string // of a literal; the pattern of a match
}

// text is a string of which some pieces are not known.
type text []seg

// Bounds on a text, past which nothing is known of it.
const (
	maxText = 1 << 16
	maxSegs = 512
)

func lit(s string) text {
	if s == "" {
		return nil
	}
	return text{{literal, s}}
}

func unknown(k kind) text { return text{{k, ""}} }

// literal returns the whole text if all of it is known.
func (t text) literal() (string, bool) {
	switch len(t) {
	case 0:
		return "", true
	case 1:
		if t[0].kind == literal {
			return t[0].text, true
		}
	}
	return "", false
}

// is says whether t is known to be s.
func (t text) is(s string) bool {
	v, ok := t.literal()
	return ok && v == s
}

// prefix is the known beginning.
func (t text) prefix() string {
	if len(t) > 0 && t[0].kind == literal {
		return t[0].text
	}
	return ""
}

// worst is the most doubtful kind in t.
func (t text) worst() kind {
	worst := literal
	for _, s := range t {
		worst = max(worst, s.kind)
	}
	return worst
}

// first is the kind that t begins with.
func (t text) first() kind {
	if len(t) == 0 {
		return literal
	}
	return t[0].kind
}

func (t text) with(u ...seg) text {
	out := append(make(text, 0, len(t)+min(len(u), maxSegs)), t...)
	for i := 0; i < len(u); i++ {
		s := u[i]
		if s.kind == literal {
			if end := literalRun(u, i); end > i+1 {
				s.text, i = joinedRun(u[i:end]), end-1
			}
		}
		if s.kind == literal && s.text == "" {
			continue
		}
		if n := len(out); n > 0 && s.kind == literal && out[n-1].kind == literal {
			out[n-1].text += s.text
			continue
		}
		if n := len(out); n > 0 && s.kind > matched && out[n-1].kind > matched {
			out[n-1].kind = max(out[n-1].kind, s.kind) // nothing is known of either
			continue
		}
		out = append(out, s)
	}
	if len(out) > maxSegs || out.size() > maxText {
		return unknown(max(dynamic, out.worst()))
	}
	return out
}

// literalRun is the end of the known pieces that begin at u[i].
func literalRun(u []seg, i int) int {
	for i < len(u) && u[i].kind == literal {
		i++
	}
	return i
}

// joinedRun joins known pieces at once; one by one would take the square of
// their number.
func joinedRun(u []seg) string {
	var b strings.Builder
	for _, s := range u {
		b.WriteString(s.text)
	}
	return b.String()
}

func (t text) size() int {
	n := len(t)
	for _, s := range t {
		n += len(s.text)
	}
	return n
}

// known is t with its unknown pieces left out, for scanning.
func (t text) known() string {
	var b strings.Builder
	for _, s := range t {
		if s.kind == literal || s.kind == matched {
			b.WriteString(s.text)
		}
	}
	return b.String()
}

// String shows t to a person.
func (t text) String() string {
	var b strings.Builder
	for _, s := range t {
		switch s.kind {
		case literal, matched:
			b.WriteString(s.text)
		default:
			b.WriteString("…")
		}
	}
	return b.String()
}

// cut drops n known bytes from the front.
func (t text) cut(n int) text {
	if len(t) == 0 || t[0].kind != literal || n > len(t[0].text) {
		return t
	}
	return text{{literal, t[0].text[n:]}}.trim().with(t[1:]...)
}

func (t text) trim() text {
	if len(t) == 1 && t[0].kind == literal && t[0].text == "" {
		return nil
	}
	return t
}

// lines splits t at its known newlines.
func (t text) lines() []text { return t.split("\n") }

// split cuts t at every known byte of seps and drops what is empty between.
func (t text) split(seps string) []text {
	var out []text
	var cur text
	for _, s := range t {
		if s.kind != literal {
			cur = cur.with(s)
			continue
		}
		rest := s.text
		for {
			i := strings.IndexAny(rest, seps)
			if i < 0 {
				break
			}
			if cur = cur.with(seg{literal, rest[:i]}); len(cur) > 0 {
				out = append(out, cur)
			}
			cur, rest = nil, rest[i+1:]
		}
		cur = cur.with(seg{literal, rest})
	}
	if len(cur) > 0 {
		out = append(out, cur)
	}
	return out
}

// arg is one word of a command with its place in the source.
type arg struct {
	text
	start, end int
}

// literals turns plain strings into arguments at one place.
func literals(at arg, words ...string) []arg {
	args := make([]arg, len(words))
	for i, w := range words {
		args[i] = arg{lit(w), at.start, at.end}
	}
	return args
}
