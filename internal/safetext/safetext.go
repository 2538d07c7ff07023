// Package safetext makes text that strangers wrote fit to be shown: nothing in it drives a terminal, turns the order
// of letters around or stays unseen.
package safetext

import (
	"fmt"
	"strings"
	"unicode"
	"unicode/utf16"
	"unicode/utf8"
)

// Replacement stands where something unsafe stood.
const Replacement = "\uFFFD"

// Text keeps line breaks and tabs, and replaces everything else that is unsafe.
func Text(s string) string { return rewrite(s, true, replace) }

// Line makes a text one line: line breaks and tabs are replaced as well.
func Line(s string) string { return rewrite(s, false, replace) }

// Spell writes out in ASCII what Text replaces, so that nothing of it is lost: <U+202E>.
func Spell(s string) string {
	return rewrite(s, true, func(b *strings.Builder, r rune) { fmt.Fprintf(b, "<U+%04X>", r) })
}

// JSON does it to JSON, which has a spelling of its own for every character.
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

// Fit is the beginning of s with the sign that there was more, of at most so many characters together.
func Fit(s string, most int) string {
	if len(s) <= most || utf8.RuneCountInString(s) <= most {
		return s
	}
	return string([]rune(s)[:max(0, most-1)]) + "…"
}

// Boundary is the last place up to n at which a character begins. In what isn't UTF-8 any place will do.
func Boundary(s string, n int) int {
	for at := n; at >= 0 && at > n-utf8.UTFMax; at-- {
		if utf8.RuneStart(s[at]) {
			return at
		}
	}
	return n
}

// Steers says whether a character drives a terminal, breaks a line or turns the order of letters around.
func Steers(r rune) bool {
	return unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp, unicode.Bidi_Control)
}

// unsafe says whether a character steers, or has no shape of its own by which a reader could see it: format characters
// (zero-width ones and tags among them), private ones, variation selectors, and letters that are drawn as blanks.
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
	// styled are the characters beside pictures that are drawn as one with emojiStyle behind them.
	styled = "0123456789#*‼⁉ℹ↔〰"
)

func replace(b *strings.Builder, _ rune) { b.WriteString(Replacement) }

// rewrite writes unsafe characters another way. Most text has none, and is given back as it is.
func rewrite(s string, lines bool, write func(*strings.Builder, rune)) string {
	safe := func(r rune) bool { return lines && (r == '\n' || r == '\t') || !unsafe(r) }
	first := 0 // most of it all is ASCII
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

// partOfPicture says whether a character only says how the picture in front of it is drawn. One picture has one of
// each at most; more would hide something.
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
