// Package word is text of which some pieces are not known: the words of a command, and the options among them.
package word

import (
	"slices"
	"strings"
)

// Kind says how much is known of a piece of text, from all to nothing. The
// order matters: a later kind is the more doubtful one.
type Kind uint8

// The kinds.
const (
	Literal Kind = iota
	Token        // unknown, but one harmless word: a number, a date, a commit
	Matched      // what a glob matched in the directory before it
	Below        // a relative path that a listing of the inside printed
	Environ      // a variable that the command never set
	Dynamic      // data: read from somewhere, printed by something
	Hidden       // made by decoding or by a program: nobody writes a path that way by accident
)

// Seg is one piece of a text.
type Seg struct {
	Kind Kind
	Text string // of a literal; the pattern of a match
}

// Piece is a piece of this kind.
func Piece(k Kind, s string) Seg { return Seg{k, s} }

// Text is a string of which some pieces are not known.
type Text []Seg

// Bounds on a text, past which nothing is known of it.
const (
	maxText = 1 << 16
	maxSegs = 512
)

// Lit is text that is known.
func Lit(s string) Text {
	if s == "" {
		return nil
	}
	return Text{{Literal, s}}
}

// Unknown is text of which no more than its kind is known.
func Unknown(k Kind) Text { return Text{{k, ""}} }

// Literal returns the whole text if all of it is known.
func (t Text) Literal() (string, bool) {
	switch len(t) {
	case 0:
		return "", true
	case 1:
		if t[0].Kind == Literal {
			return t[0].Text, true
		}
	}
	return "", false
}

// Is says whether t is known to be s.
func (t Text) Is(s string) bool {
	v, ok := t.Literal()
	return ok && v == s
}

// Prefix is the known beginning.
func (t Text) Prefix() string {
	if len(t) > 0 && t[0].Kind == Literal {
		return t[0].Text
	}
	return ""
}

// Worst is the most doubtful kind in t.
func (t Text) Worst() Kind {
	worst := Literal
	for _, s := range t {
		worst = max(worst, s.Kind)
	}
	return worst
}

// First is the kind that t begins with.
func (t Text) First() Kind {
	if len(t) == 0 {
		return Literal
	}
	return t[0].Kind
}

// Plus is t with known text behind it.
func (t Text) Plus(s string) Text { return t.With(Seg{Literal, s}) }

func (t Text) With(u ...Seg) Text {
	out := append(make(Text, 0, len(t)+min(len(u), maxSegs)), t...)
	for i := 0; i < len(u); i++ {
		s := u[i]
		if s.Kind == Literal {
			if end := literalRun(u, i); end > i+1 {
				s.Text, i = joinedRun(u[i:end]), end-1
			}
		}
		if s.Kind == Literal && s.Text == "" {
			continue
		}
		if n := len(out); n > 0 && s.Kind == Literal && out[n-1].Kind == Literal {
			out[n-1].Text += s.Text
			continue
		}
		if n := len(out); n > 0 && s.Kind > Matched && out[n-1].Kind > Matched {
			out[n-1].Kind = max(out[n-1].Kind, s.Kind) // nothing is known of either
			continue
		}
		out = append(out, s)
	}
	if len(out) > maxSegs || out.Size() > maxText {
		return Unknown(max(Dynamic, out.Worst()))
	}
	return out
}

// literalRun is the end of the known pieces that begin at u[i].
func literalRun(u []Seg, i int) int {
	for i < len(u) && u[i].Kind == Literal {
		i++
	}
	return i
}

// joinedRun joins known pieces at once; one by one would take the square of
// their number.
func joinedRun(u []Seg) string {
	var b strings.Builder
	for _, s := range u {
		b.WriteString(s.Text)
	}
	return b.String()
}

func (t Text) Size() int {
	n := len(t)
	for _, s := range t {
		n += len(s.Text)
	}
	return n
}

// Known is t with its unknown pieces left out, for scanning.
func (t Text) Known() string { return t.Filled("", "") }

// String shows t to a person.
func (t Text) String() string { return t.Filled("", "…") }

// Filled is t with matched for what a pattern matches, or the pattern itself,
// and unknown for what is not known.
func (t Text) Filled(matched, unknown string) string {
	if v, ok := t.Literal(); ok {
		return v
	}
	var b strings.Builder
	for _, s := range t {
		switch {
		case s.Kind == Literal || s.Kind == Matched && matched == "":
			b.WriteString(s.Text)
		case s.Kind == Matched:
			b.WriteString(matched)
		default:
			b.WriteString(unknown)
		}
	}
	return b.String()
}

// Cut drops n known bytes from the front.
func (t Text) Cut(n int) Text {
	if len(t) == 0 || t[0].Kind != Literal || n > len(t[0].Text) {
		return t
	}
	return Text{{Literal, t[0].Text[n:]}}.trim().With(t[1:]...)
}

func (t Text) trim() Text {
	if len(t) == 1 && t[0].Kind == Literal && t[0].Text == "" {
		return nil
	}
	return t
}

// Lines splits t at its known newlines.
func (t Text) Lines() []Text { return t.Split("\n") }

// Split cuts t at every known byte of seps and drops what is empty between.
func (t Text) Split(seps string) []Text {
	var out []Text
	var cur Text
	for _, s := range t {
		if s.Kind != Literal {
			cur = cur.With(s)
			continue
		}
		rest := s.Text
		for {
			i := strings.IndexAny(rest, seps)
			if i < 0 {
				break
			}
			if cur = cur.Plus(rest[:i]); len(cur) > 0 {
				out = append(out, cur)
			}
			cur, rest = nil, rest[i+1:]
		}
		cur = cur.Plus(rest)
	}
	if len(cur) > 0 {
		out = append(out, cur)
	}
	return out
}

// Arg is one word of a command with its place in the source.
type Arg struct {
	Text
	Start, End int
}

// Hold is t at the place of a.
func (a Arg) Hold(t Text) Arg { return Arg{t, a.Start, a.End} }

// After is a without its first n bytes, which are known.
func (a Arg) After(n int) Arg { return a.Hold(a.Cut(n)) }

// Literals turns plain strings into arguments at one place.
func Literals(at Arg, words ...string) []Arg {
	args := make([]Arg, len(words))
	for i, w := range words {
		args[i] = at.Hold(Lit(w))
	}
	return args
}

func (t Text) Equal(u Text) bool { return slices.Equal(t, u) }

// PathLike says whether an argument can name something outside: anything but
// URLs, remote files and plain words.
func PathLike(t Text) bool {
	if len(t) == 0 {
		return false
	}
	if t.First() != Literal {
		return true
	}
	v := t[0].Text
	if strings.Contains(v, "://") && !strings.HasPrefix(v, "file:") || strings.ContainsAny(v, "\n") {
		return false
	}
	if i := strings.IndexByte(v, ':'); i > 0 && !strings.ContainsAny(v[:i], "/.~") {
		return false // host:path
	}
	return true
}

// Listed says whether name is in a list that has a blank before and after each
// name. Nothing is allocated: the hook pays for every piece of memory anew.
func Listed(list, name string) bool {
	for name != "" && strings.IndexByte(name, ' ') < 0 {
		i := strings.Index(list, name)
		if i < 0 {
			return false
		}
		end := i + len(name)
		if i > 0 && list[i-1] == ' ' && list[end] == ' ' {
			return true
		}
		list = list[end:]
		list = list[strings.IndexByte(list, ' '):] // each name has a blank behind it
	}
	return false
}
