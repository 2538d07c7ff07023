package gate

import (
	"bytes"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/safetext"
)

// unseenRow is what a reader does not see for what it is.
type unseenRow struct {
	Line expression
	Code bool // but not where people write in their own scripts
	Says string
}

var (
	unseenRows = table[unseenRow]("hidden")
	nameRows   = table[unseenRow]("names")
)

// gap is how many spaces push the rest of a line out of sight.
const gap = 160

var blank = [256]bool{' ': true, '\t': true}

// unseen says quickly whether a line may have something that is not seen.
func unseen(text []byte) bool {
	for _, b := range bytes.TrimSuffix(text, []byte("\r")) {
		if b >= 0xC2 || b < ' ' && b != '\t' {
			return true
		}
	}
	return hasRun(text, gap, &blank, "")
}

// oddity takes down what is not seen in a line.
func (x *examination) oddity(c *change, no int, text []byte) {
	s := strings.TrimRight(strings.ToValidUTF8(string(text[:min(len(text), maxText)]), ""), "\r")
	says := hiddenIn(s, within(fold(c.path), listed("prose")))
	if says == "" {
		return
	}
	if x.odd[c] == nil {
		s = safetext.Quote(strings.TrimSpace(strings.ReplaceAll(s, strings.Repeat(" ", gap), " … ")))
		x.odd[c] = &Finding{Kind: "hidden", Path: c.path, Line: no, Says: says, Text: "+" + safetext.Cut(s, 200)}
	}
	x.odd[c].Count++
}

// hiddenIn says what in a line is not seen; "" if all is.
func hiddenIn(s string, prose bool) string {
	if strings.Contains(s, "  ") || strings.ContainsFunc(s, func(r rune) bool {
		return unicode.In(r, unicode.C, unicode.M, unicode.Z, unicode.Hangul) && r != ' '
	}) {
		for _, r := range unseenRows() {
			if (!prose || !r.Code) && r.Line.match(s) {
				return r.Says
			}
		}
	}
	if !prose && mixedWord(s) {
		return "a word with letters of two alphabets that look alike"
	}
	return ""
}

// lookalikes are Cyrillic and Greek letters that can't be told from Latin ones.
const lookalikes = "аеорсухіјѕһԁԛԝӏАВЕЗІКМНОРСТХЅЈΥΑΒΕΖΗΙΚΜΝΟΡΤΧονυаɡıℓ"

// mixedWord says whether a word has Latin letters and others that look like them, and no letter that gives it away.
func mixedWord(s string) bool {
	foreign := func(r rune) bool {
		return unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r) && !strings.ContainsRune(lookalikes, r)
	}
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_'
	}) {
		if strings.ContainsAny(word, lookalikes) && !strings.ContainsFunc(word, foreign) &&
			strings.ContainsAny(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz") {
			return true
		}
	}
	return false
}

// names looks at the names of new files.
func (x *examination) names() {
	for _, c := range x.changes {
		if !c.fresh() {
			continue
		}
		for part := range strings.SplitSeq(c.path, "/") {
			if says := misleads(part); says != "" {
				x.add(Finding{Kind: "names", Path: safetext.Quote(c.path), Says: says})
				break
			}
		}
	}
}

// misleads says what is wrong with a part of a path.
func misleads(name string) string {
	if says := hiddenIn(name, false); says != "" {
		return "has " + says
	}
	for _, r := range nameRows() {
		if r.Line.match(name) {
			return r.Says
		}
	}
	return ""
}
