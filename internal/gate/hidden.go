package gate

import (
	"path"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/safetext"
)

// oddity is a line that a reader does not see for what it is.
type oddity struct {
	no   int
	says string
	text string
}

// gap is how many spaces push the rest of a line out of sight.
const gap = 160

// unseen says quickly whether a line may have something that is not seen.
func unseen(text []byte) bool {
	spaces := 0
	for i, b := range text {
		if b == ' ' || b == '\t' {
			if spaces++; spaces >= gap {
				return true
			}
			continue
		}
		spaces = 0
		if b >= 0xC2 || b == 0x1b || b == 0x08 || b < 0x09 || b == '\r' && i < len(text)-1 {
			return true
		}
	}
	return false
}

// maxOdd is how much of a line is looked at.
const maxOdd = 64 << 10

func oddities(p string, no int, text []byte) []oddity {
	s := string(text[:min(len(text), maxOdd)])
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "")
	}
	says := hiddenIn(s, isProse(p))
	if says == "" {
		return nil
	}
	return []oddity{{no,
		says, "+" + safetext.Cut(safetext.Quote(strings.TrimSpace(strings.ReplaceAll(s, strings.Repeat(" ", gap), " … "+
			""))), 200)}}
}

// isProse says whether a file is for people, in any language of theirs.
func isProse(p string) bool {
	return within(strings.ToLower(p), "*.md *.rst *.txt *.adoc *.html *.htm *.po *.pot *.arb *.xlf *.xliff *.strings "+
		"*.resx *.csv *.tsv *.tex *.json *.yml *.yaml *.svg *.xml "+
		"*.srt *.vtt *.lang *.ftl *.properties locales/ locale/ i18n/ lang/ translations/ l10n/ readme* changelog* "+
		"license* authors*")
}

// endsLine ends a line for Python or JavaScript, and not for git.
const endsLine = "\r\u0085\u2028\u2029"

// hiddenIn says what in a line is not seen; "" if all is.
func hiddenIn(s string, prose bool) string {
	if i := strings.Index(strings.ReplaceAll(s, "\t", " "), strings.Repeat(" ", gap)); i >= 0 &&
		strings.TrimSpace(s[i:]) != "" {
		return "a long gap pushes text out of sight"
	}
	end := strings.TrimRight(s, "\r")
	if strings.Contains(end, "\r") || !prose && strings.ContainsAny(end, endsLine) {
		return "characters that end a line for some programs only"
	}
	var last rune
	selectors := 0
	for i, r := range s {
		next, _ := utf8.DecodeRuneInString(s[i+utf8.RuneLen(r):])
		switch {
		case r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
			return "characters that reverse the order of letters"
		case r == 0x200B || r == 0x2060 || r == 0x180E || r >= 0x2061 && r <= 0x2064 || r == 0x3164 || r == 0x115F ||
			r == 0x1160 || r == 0xFFA0:
			return "characters that nobody sees"
		case r == 0xFEFF && i > 0, r == 0x00AD && !prose, (r == 0x200E || r == 0x200F) && !prose, r == 0x1b, r == 0x08:
			return "characters that nobody sees"
		case (r == 0x200C || r == 0x200D) && !prose && (last < 0x80 || next < 0x80):
			return "characters that nobody sees"
		case r >= 0xE0000 && r <= 0xE007F && last < 0x1F000:
			return "characters that nobody sees"
		case r >= 0xFE00 && r <= 0xFE0F || r >= 0xE0100 && r <= 0xE01EF:
			if selectors++; selectors > 1 {
				return "characters that nobody sees"
			}
			last = r
			continue
		}
		selectors, last = 0, r
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
	for word := range strings.FieldsFuncSeq(s, func(r rune) bool {
		return !unicode.IsLetter(r) && r != '_' &&
			!unicode.IsDigit(r)
	}) {
		latin, alike, other := 0, 0, 0
		for _, r := range word {
			switch {
			case r < 0x80 && unicode.IsLetter(r):
				latin++
			case strings.ContainsRune(lookalikes, r):
				alike++
			case r >= 0x80 && unicode.IsLetter(r) && !unicode.Is(unicode.Latin, r):
				other++
			}
		}
		if latin > 0 && alike > 0 && other == 0 {
			return true
		}
	}
	return false
}

// hidden tells of lines that are not seen for what they are.
func (x *examination) hidden() {
	for _, c := range x.changes {
		list := x.odd[c]
		if len(list) == 0 {
			continue
		}
		o := list[0]
		x.add(Finding{Kind: "hidden", Path: c.path, Line: o.no, Says: o.says, Text: o.text, Count: len(list)})
	}
}

// names looks at the names of new files.
func (x *examination) names() {
	for _, c := range x.changes {
		if !c.fresh() {
			continue
		}
		for _, part := range strings.Split(c.path, "/") {
			if says := misleads(part); says != "" {
				x.add(Finding{Kind: "names", Path: safetext.Quote(c.path), Says: says})
				break
			}
		}
	}
}

// misleads says what is wrong with a part of a path.
func misleads(name string) string {
	switch {
	case strings.HasPrefix(name, "-"):
		return "begins with a dash, which programs take for an option"
	case hiddenIn(name, false) != "" && !strings.Contains(hiddenIn(name, false), "alphabets"):
		return "has " + hiddenIn(name, false)
	case mixedWord(name):
		return "has letters of two alphabets that look alike"
	case strings.TrimRight(name, " .") != name:
		return "ends with a space or a dot, which some systems drop"
	case strings.HasPrefix(name, " ") || strings.Contains(name, "   "):
		return "has spaces that nobody sees"
	case strings.HasPrefix(name, "~") && len(name) == 1, name == "$HOME":
		return "is what a shell takes for another directory"
	case strings.ContainsAny(name, "`$|;&<>*?\"'\\") && strings.ContainsAny(name, "`$|;&<>"):
		return "has characters that a shell takes for its own"
	case strings.ContainsFunc(name, func(r rune) bool {
		return r == 0xA0 || r >= 0x2000 && r <= 0x200A || r == 0x3000 || r == 0x2215 || r == 0x2044 || r == 0xFF0F ||
			r == 0x2024 || r == 0xFF0E
	}):
		return "has characters that look like others"
	case doubleEnding(name):
		return "ends twice: it is not what its first ending says"
	}
	return ""
}

// doubleEnding finds a document that is a program.
func doubleEnding(name string) bool {
	l := strings.ToLower(name)
	inner := path.Ext(strings.TrimSuffix(l, path.Ext(l)))
	return within("x"+path.Ext(l), "*.exe *.scr *.bat *.cmd *.com *.js *.vbs *.sh *.ps1 *.jar *.app *.lnk *.pif *.hta "+
		"*.msi") && inner != "" &&
		within("x"+inner, "*.pdf *.png *.jpg *.jpeg *.gif *.doc *.docx *.xls *.xlsx *.txt *.csv *.mp3 *.mp4 *.ppt *.pptx "+
			"*.zip *.rtf")
}
