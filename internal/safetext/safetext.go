// Package safetext makes text from strangers safe to show: nothing in it controls a terminal, reverses the order of
// letters or stays invisible.
package safetext

import (
	"fmt"
	"regexp"
	"strings"
	"sync"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Replacement replaces anything unsafe.
const Replacement = "\uFFFD"

// Text keeps line breaks and tabs, and replaces everything else that is unsafe.
func Text(s string) string { return rewrite(s, true, replace) }

// Line makes a text one line: it replaces line breaks and tabs as well.
func Line(s string) string { return rewrite(s, false, replace) }

// Quote spells a text of somebody's, once: what looks like a spelled character in it already is not taken for one.
func Quote(s string) string { return Spell(strings.ReplaceAll(s, "<U+", "<U+003C>U+")) }

// Spell writes out in ASCII what Text replaces, so that nothing is lost: <U+202E>. What is spelled stays as it is.
func Spell(s string) string {
	return rewrite(s, true, func(b *strings.Builder, r rune) { fmt.Fprintf(b, "<U+%04X>", r) })
}

// Colourless takes away what only colours text in a terminal, or clears a line of it: such a sequence in the middle of
// a word would keep the word from being known.
func Colourless(s string) string {
	if !strings.ContainsRune(s, '\x1b') {
		return s
	}
	return colours().ReplaceAllString(s, "")
}

var colours = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`\x1b\[[\d;:]*[mK]`) })

// JSON does the same to JSON, which has an escape for every character.
func JSON(text []byte) []byte {
	return []byte(rewrite(string(text), true, func(b *strings.Builder, r rune) {
		for _, unit := range utf16.AppendRune(nil, r) {
			fmt.Fprintf(b, `\u%04x`, unit)
		}
	}))
}

// Cut is the beginning of s, of at most so many bytes and without half a character, and a sign that there was more.
func Cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:Boundary(s, most)] + "…"
}

// Fit is the beginning of s and the sign that there was more, together at most so many characters.
func Fit(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:max(0, most-1)]) + "…"
}

// Boundary is the last place up to n at which a character begins. In text that isn't UTF-8 any place will do.
func Boundary(s string, n int) int {
	for at := n; at >= 0 && at > n-utf8.UTFMax; at-- {
		if utf8.RuneStart(s[at]) {
			return at
		}
	}
	return n
}

// Steers says whether a character controls a terminal, breaks a line or reverses the order of letters.
func Steers(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// unsafe says whether a character steers, or has no visible shape of its own: format characters (including zero-width
// ones and tags), private ones, variation selectors, and letters that are drawn as blanks.
func unsafe(r rune) bool {
	switch {
	case r < utf8.RuneSelf:
		return r < ' ' || r == 0x7f
	case r == brailleBlank || r == objectPlace:
		return true
	}
	return Steers(r) || unicode.In(r, unicode.Cf, unicode.Co, unicode.Variation_Selector,
		unicode.Other_Default_Ignorable_Code_Point)
}

const (
	zeroWidthJoiner = '\u200d'
	emojiStyle      = '\ufe0f'
	brailleBlank    = '\u2800'
	objectPlace     = '\ufffc'
	// styled are the characters beside pictures that are drawn as a picture if emojiStyle follows.
	styled = "0123456789#*‼⁉ℹ↔〰"
)

func replace(b *strings.Builder, _ rune) { b.WriteString(Replacement) }

// rewrite rewrites unsafe characters. Most text has none, and is returned unchanged.
func rewrite(s string, lines bool, write func(*strings.Builder, rune)) string {
	safe := func(r rune) bool { return lines && (r == '\n' || r == '\t') || !unsafe(r) }
	first := 0 // most text is ASCII
	for first < len(s) && (s[first] >= ' ' && s[first] < 0x7f || lines && (s[first] == '\n' || s[first] == '\t')) {
		first++
	}
	if rest := s[first:]; utf8.ValidString(rest) && !strings.ContainsFunc(rest, func(r rune) bool { return !safe(r) }) {
		return s
	}
	var b strings.Builder
	var last, before rune // the two characters in front
	for _, r := range strings.ToValidUTF8(s, Replacement) {
		if safe(r) || partOfPicture(r, last, before) {
			b.WriteRune(r)
		} else {
			write(&b, r)
		}
		before, last = last, r
	}
	return b.String()
}

// partOfPicture says whether a character only says how the picture before it is drawn. One picture has at most one of
// each; more would hide something.
func partOfPicture(r, last, before rune) bool {
	switch r {
	case emojiStyle:
		return picture(last) || strings.ContainsRune(styled, last)
	case zeroWidthJoiner: // families and the like
		return picture(last) || last == emojiStyle && picture(before)
	}
	return false
}

func picture(r rune) bool {
	skin := r >= 0x1f3fb && r <= 0x1f3ff
	return skin || unicode.Is(unicode.So, r) && r != unicode.ReplacementChar && !unsafe(r)
}
