package git

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Short abbreviates an object id for people.
func Short(oid string) string {
	const n = 10
	if len(oid) > n {
		return oid[:n]
	}
	return oid
}

// Quote leaves plain text alone and puts the rest into Go quotes, so that no name can speak to a terminal.
func Quote(s string) string {
	if s != "" && Clean(s) == s && !strings.ContainsAny(s, "\"'`\\") && !strings.HasPrefix(s, " ") &&
		!strings.HasSuffix(s, " ") {
		return s
	}
	return strconv.Quote(s)
}

// Clean makes hostile text printable on one line: control and format characters and broken UTF-8 become U+FFFD.
func Clean(s string) string { return cleanKeeping(s, "") }

func cleanKeeping(s, keep string) string {
	return strings.Map(func(r rune) rune {
		if r == utf8.RuneError || !unicode.IsPrint(r) && !strings.ContainsRune(keep, r) {
			return utf8.RuneError
		}
		return r
	}, s)
}

// clipTo cuts text to at most n bytes, and says so.
func clipTo(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n] + "…"
}

// Clip shortens hostile text for a message.
func Clip(s string) string { return clipTo(s, 120) }

// shellWord quotes s for a command that a person copies.
func shellWord(s string) string {
	odd := func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && !strings.ContainsRune("/._-+:@%", r)
	}
	if s != "" && !strings.ContainsFunc(s, odd) {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
