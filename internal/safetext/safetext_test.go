package safetext

import (
	"cmp"
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/cco-dev/cco/internal/must"
)

// These are the kinds of characters with which a stranger can do harm, by their first and last.
var harmful = map[string][][2]rune{
	"C0":                 {{0, '\t' - 1}, {'\n' + 1, 0x1f}},
	"DEL":                {{0x7f, 0x7f}},
	"C1":                 {{0x80, 0x9f}},
	"bidirectional":      {{0x202a, 0x202e}},
	"isolates":           {{0x2066, 0x2069}},
	"marks of direction": {{0x200e, 0x200f}, {0x061c, 0x061c}},
	"line separators":    {{0x2028, 0x2029}},
	"zero width":         {{0x200b, 0x200d}, {0x2060, 0x2064}, {0xfeff, 0xfeff}, {0x180e, 0x180e}, {0x00ad, 0x00ad}},
	"tags":               {{0xe0000, 0xe007f}},
	"selectors":          {{0xfe00, 0xfe0f}, {0xe0100, 0xe01ef}},
	"drawn as blanks": {{0x034f, 0x034f}, {0x115f, 0x1160}, {0x17b4, 0x17b5}, {0x2800, 0x2800}, {0x3164, 0x3164},
		{0xffa0, 0xffa0}},
	"without a common form": {{0xe000, 0xf8ff}, {0xfff9, 0xfffc}},
}

// Guards against a character that one output replaces and another lets through.
func TestEveryHarmfulCharacterIsDisarmed(t *testing.T) {
	for kind, ranges := range harmful {
		t.Run(kind, func(t *testing.T) {
			for _, r := range ranges {
				for c := r[0]; c <= r[1]; c++ {
					disarmed(t, "a"+string(c)+"b", c)
				}
			}
		})
	}
}

func disarmed(t *testing.T, s string, c rune) {
	t.Helper()
	const want = "a" + Replacement + "b"
	if Text(s) != want || Line(s) != want {
		t.Errorf("%U: %q, %q", c, Text(s), Line(s))
	}
	if got := Spell(s); strings.ContainsRune(got, c) || !strings.HasPrefix(got, "a<U+") {
		t.Errorf("%U is spelled %q", c, got)
	}
	encoded := must.Get(json.Marshal(s))(t)
	safe := JSON(encoded)
	var back string
	if err := json.Unmarshal(safe, &back); err != nil || back != s || strings.ContainsRune(string(safe), c) {
		t.Errorf("%U as JSON is %q, which reads %q, %v", c, safe, back, err)
	}
}

func TestTextIsShown(t *testing.T) {
	const no = Replacement
	for name, c := range map[string]struct{ in, text, line string }{
		"plain":            {"abc ~", "abc ~", "abc ~"},
		"lines":            {"a\n\tb", "a\n\tb", "a" + no + no + "b"},
		"CRLF":             {"a\r\n", "a" + no + "\n", "a" + no + no},
		"other scripts":    {"größe Привет 你好　मर مرحبا", "", ""},
		"pictures":         {"❤️ 👨‍👩‍👧 👍🏽 ❤️‍🔥 1️⃣ ℹ️", "", ""},
		"too many joints":  {"👍\u200d\u200dx", "👍\u200d" + no + "x", "👍\u200d" + no + "x"},
		"joint of nothing": {"\xff\u200d\x1b\ufe0f", no + no + no + no, no + no + no + no},
		"not UTF-8":        {"a\xff\xfeb\xe2\x82", "a" + no + "b" + no, "a" + no + "b" + no},
		"replaced before":  {"a" + no, "a" + no, "a" + no},
	} {
		t.Run(name, func(t *testing.T) {
			text, line := cmp.Or(c.text, c.in), cmp.Or(c.line, c.in)
			if Text(c.in) != text || Line(c.in) != line {
				t.Errorf("%q becomes %q and %q", c.in, Text(c.in), Line(c.in))
			}
		})
	}
}

func TestCutsNeverSplitACharacter(t *testing.T) {
	for _, s := range []string{"abcd", "aäöü", "日本語", "👍👍", "a\u0301b"} {
		for n := range len(s) + 2 {
			got := Cut(s, n)
			whole := strings.TrimSuffix(got, "…")
			if !utf8.ValidString(got) || len(whole) > n || !strings.HasPrefix(s, whole) || (got == s) != (n >= len(s)) {
				t.Errorf("Cut(%q, %d) = %q", s, n, got)
			}
			if got := Fit(s, n); !utf8.ValidString(got) || utf8.RuneCountInString(got) > max(1, n) {
				t.Errorf("Fit(%q, %d) = %q", s, n, got)
			}
		}
	}
	if got := Cut(strings.Repeat("\x80", 100), 50); len(got) < 50 {
		t.Errorf("of what isn't UTF-8 %q is left", got)
	}
	if got := Fit("größe", 5) + Fit("größer", 5); got != "größegröß…" {
		t.Errorf("%q", got)
	}
}

func FuzzText(f *testing.F) {
	f.Add("a\u202e\x1b\xff👨‍👩")
	f.Fuzz(func(t *testing.T, s string) {
		if got := Text(s); !utf8.ValidString(got) || strings.ContainsFunc(got, func(r rune) bool {
			return Steers(r) && r != '\n' && r != '\t'
		}) || Text(got) != got {
			t.Errorf("%q becomes %q", s, got)
		}
	})
}
