// Package word is text of which some pieces are not known: the words of a command, and the options among them.
package word

import (
	"path"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
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
	if len(t) == 1 && t[0].Kind == Literal {
		return t[0].Text, true
	}
	return "", len(t) == 0
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

// With is t with u behind it, joined as far as pieces are of one kind.
func (t Text) With(u ...Seg) Text {
	out := append(make(Text, 0, len(t)+min(len(u), maxSegs)), t...)
	for len(u) > 0 {
		s, n := u[0], 1
		for s.Kind == Literal && n < len(u) && u[n].Kind == Literal {
			n++
		}
		if n > 1 {
			s.Text = Text(u[:n]).Known() // at once: one by one would take the square of their number
		}
		u = u[n:]
		last := len(out) - 1
		switch {
		case s.Kind == Literal && s.Text == "":
		case last >= 0 && s.Kind == Literal && out[last].Kind == Literal:
			out[last].Text += s.Text
		case last >= 0 && s.Kind > Matched && out[last].Kind > Matched:
			out[last].Kind = max(out[last].Kind, s.Kind) // nothing is known of either
		default:
			out = append(out, s)
		}
	}
	if len(out) > maxSegs || out.Size() > maxText {
		return Unknown(max(Dynamic, out.Worst()))
	}
	return out
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

// Filled is t with matched for what a pattern matches, or the pattern itself, and unknown for what is not known.
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
	return Lit(t[0].Text[n:]).With(t[1:]...)
}

// Lines splits t at its known newlines.
func (t Text) Lines() []Text { return t.Split("\n") }

// Split cuts t at every known byte of seps and drops what is empty between.
func (t Text) Split(seps string) (out []Text) {
	var cur Text
	for _, s := range t {
		for s.Kind == Literal {
			i := strings.IndexAny(s.Text, seps)
			if i < 0 {
				break
			}
			if cur = cur.Plus(s.Text[:i]); len(cur) > 0 {
				out = append(out, cur)
			}
			cur, s.Text = nil, s.Text[i+1:]
		}
		cur = cur.With(s)
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

// PathLike says whether an argument can name something outside: anything but URLs, remote files and plain words.
func PathLike(t Text) bool {
	v := t.Prefix()
	host, _, remote := strings.Cut(v, ":")
	switch {
	case len(t) == 0 || strings.Contains(v, "://") && !strings.HasPrefix(v, "file:") || strings.Contains(v, "\n"):
		return false
	case remote && host != "" && !strings.ContainsAny(host, "/.~"): // host:path
		return false
	}
	return true
}

// Listed says whether name is in a list that has a blank before and after each name.
func Listed(list, name string) bool {
	return name != "" && !strings.Contains(name, " ") && strings.Contains(list, " "+name+" ")
}

// AnsiC decodes the inside of $'…'.
func AnsiC(v string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(v, `\`)
		b.WriteString(before)
		if !found || rest == "" {
			return b.String() + v[len(before):]
		}
		c := rest[0]
		v = rest[1:]
		switch {
		case strings.IndexByte("abfnrtveE", c) >= 0:
			b.WriteByte("\a\b\f\n\r\t\v\x1b\x1b"[strings.IndexByte("abfnrtveE", c)])
		case strings.IndexByte("xuU", c) >= 0: // of at most 2, 4 and 8 digits
			v = code(&b, v, 16, 2<<strings.IndexByte("xuU", c))
		case c >= '0' && c <= '7':
			v = code(&b, rest, 8, 3)
		case c == 'c' && v != "":
			b.WriteByte(v[0] & 0x1f)
			v = v[1:]
		default:
			if strings.IndexByte(`\'"?`, c) < 0 {
				b.WriteByte('\\')
			}
			b.WriteByte(c)
		}
	}
}

// code writes the character whose number of at most this many digits stands at
// the front of v, and returns what is behind it.
func code(b *strings.Builder, v string, base, most int) string {
	n := 0
	var value uint64
	for n < len(v) && n < most {
		digit, err := strconv.ParseUint(v[n:n+1], base, 8)
		if err != nil {
			break
		}
		value = value*uint64(base) + digit
		n++
	}
	switch {
	case n == 0:
		b.WriteByte('\\')
	case most > 3 && utf8.ValidRune(rune(value)):
		b.WriteRune(rune(value))
	default:
		b.WriteByte(byte(value))
	}
	return v[n:]
}

// GlobMatch matches a shell pattern against s. Other than in package path, a star matches slashes too.
func GlobMatch(pattern, s string) bool {
	pattern = strings.NewReplacer(`\[`, `\[`, "[!", "[^", "/", "\x00").Replace(pattern)
	ok, err := path.Match(pattern, strings.ReplaceAll(s, "/", "\x00"))
	return ok && err == nil
}

// IsGlob says that GlobMatch can read a pattern.
func IsGlob(pattern string) bool {
	_, err := path.Match(pattern, "")
	return err == nil && !strings.Contains(pattern, "[[")
}
