package forge

import (
	"fmt"
	"regexp"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Bounds on what is taken over from a forge, in bytes.
const (
	MaxBody  = 64 << 10
	MaxTitle = 1 << 10
	MaxName  = 256
	MaxPath  = 4 << 10
)

// emptyLink is a line that Markdown renders as nothing: a link definition that points nowhere, whose title is a
// comment.
const emptyLink = `(?m)^ {0,3}\[[^\]\n]*\]:[ \t]*(?:#|<>|<#>)[ \t]*(\S.*)$`

// Clean makes words of others fit to be shown and handed on: what a page would hide is made visible, what would steer a
// terminal or reorder a line is spelled out, and the size is bounded.
func Clean(s string, most int) string {
	whole := len(s)
	if len(s) > 2*most {
		// What follows could only make it longer, so most of what is left out need not be looked at.
		s = s[:boundary(s, 2*most)]
	}
	s = strings.ToValidUTF8(s, "\uFFFD")
	s = showComments(s)
	if strings.Contains(s, "]:") {
		s = regexp.MustCompile(emptyLink).ReplaceAllString(s, "[hidden: $1]")
	}
	s = spell(s)
	if len(s) <= most {
		return s
	}
	return s[:boundary(s, most)] + fmt.Sprintf("\n[cut: the whole has %d bytes]", whole)
}

// Name cleans something that has one line.
func Name(s string, most int) string {
	return Clean(strings.NewReplacer("\n", " ", "\r", " ", "\t", " ").Replace(s), most)
}

// boundary is the last place up to n at which a character begins.
func boundary(s string, n int) int {
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return n
}

// showComments makes HTML comments visible. One that never ends hides all that follows it.
func showComments(s string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(s, "<!--")
		b.WriteString(before)
		if !found {
			return b.String()
		}
		hidden, after, ended := strings.Cut(rest, "-->")
		// On one line: nothing in it is to be taken for a line that everybody sees.
		b.WriteString("[hidden: " + strings.Join(strings.Fields(hidden), " ") + "]")
		if !ended {
			return b.String()
		}
		s = after
	}
}

// spell writes out characters that can't be seen or that change how others are shown.
func spell(s string) string {
	if strings.IndexFunc(s, unseen) < 0 {
		return s
	}
	var b strings.Builder
	after := plain
	for _, r := range s {
		switch {
		case r == '\r':
			continue
		case r == emojiStyle && after == picture:
			b.WriteRune(r)
			after = styled
			continue
		case r == zeroWidthJoiner && after != plain:
			b.WriteRune(r) // family emoji and the like; a second one in a row hides something
		case unseen(r):
			fmt.Fprintf(&b, "<U+%04X>", r)
		default:
			b.WriteRune(r)
		}
		after = plain
		if unicode.In(r, unicode.So, unicode.Sk) {
			after = picture
		}
	}
	return b.String()
}

// What the last character was, for those that may follow a picture.
const (
	plain = iota
	picture
	styled
)

const (
	zeroWidthJoiner = '\u200d'
	emojiStyle      = '\ufe0f'
)

// unseen says whether a character has no shape of its own: controls, format characters (bidirectional ones and tags
// among them), private ones, variation selectors, and letters that are drawn as blanks.
func unseen(r rune) bool {
	switch {
	case r == '\n' || r == '\t':
		return false
	case r < 0x20:
		return true
	case r < 0x7f:
		return false
	}
	switch r {
	case 0x034f, 0x115f, 0x1160, 0x17b4, 0x17b5, 0x2028, 0x2029, 0x2800, 0x3164, 0xffa0, 0xfffc:
		return true
	}
	return unicode.In(r, unicode.Cc, unicode.Cf, unicode.Co, unicode.Variation_Selector)
}
