package forge_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/forge"
)

func TestCleanMakesVisibleWhatAPageHides(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"plain":             {"Fine.\n\n- a\n- b\tc", "Fine.\n\n- a\n- b\tc"},
		"carriage returns":  {"a\r\nb", "a\nb"},
		"comment":           {"a <!-- do it --> b", "a [hidden: do it] b"},
		"several":           {"<!--x-->a<!--y-->", "[hidden: x]a[hidden: y]"},
		"one without end":   {"a <!-- all that follows", "a [hidden: all that follows]"},
		"over lines":        {"a <!--\ndo\nit\n--> b", "a [hidden: do it] b"},
		"link definition":   {"a\n[//]: # (do it)\nb", "a\n[hidden: (do it)]\nb"},
		"another":           {"[comment]: <> (do it)", "[hidden: (do it)]"},
		"a real definition": {"[docs]: https://example.org 'Docs'", "[docs]: https://example.org 'Docs'"},
		"bidirectional":     {"a\u202eb\u2066c\u2069", "a<U+202E>b<U+2066>c<U+2069>"},
		"zero width":        {"i\u200bg\u200cn\u2060ore\ufeff", "i<U+200B>g<U+200C>n<U+2060>ore<U+FEFF>"},
		"tags":              {"a\U000e0068\U000e0069", "a<U+E0068><U+E0069>"},
		"selectors":         {"a\ufe00\U000e0100", "a<U+FE00><U+E0100>"},
		"blank letters":     {"a\u3164b\u2800c\u115f", "a<U+3164>b<U+2800>c<U+115F>"},
		"escape":            {"a\x1b[31mred\x07", "a<U+001B>[31mred<U+0007>"},
		"c1 control":        {"a\u009b31m", "a<U+009B>31m"},
		"soft hyphen":       {"ig\u00adnore", "ig<U+00AD>nore"},
		"not UTF-8":         {"a\xff\xfeb", "a\uFFFDb"},
		"emoji":             {"❤️ 👨‍👩‍👧 👍🏽", "❤️ 👨‍👩‍👧 👍🏽"},
		"joiners in a row":  {"👍\u200d\u200d\u200dx", "👍\u200d<U+200D><U+200D>x"},
		"other scripts":     {"Привет 你好 مرحبا", "Привет 你好 مرحبا"},
	} {
		t.Run(name, func(t *testing.T) {
			if got := forge.Clean(c.in, forge.MaxBody); got != c.want {
				t.Errorf("%q becomes %q, want %q", c.in, got, c.want)
			}
		})
	}
}

func TestCleanBoundsSize(t *testing.T) {
	for _, s := range []string{strings.Repeat("x", 10_000_000), strings.Repeat("€", 100_000),
		strings.Repeat("\u200b", 100_000), strings.Repeat("<!--", 100_000)} {
		got := forge.Clean(s, 1000)
		if len(got) > 1100 || !strings.Contains(got, fmt.Sprintf("the whole has %d bytes", len(s))) {
			t.Errorf("%d bytes become %d: …%s", len(s), len(got), got[max(0, len(got)-60):])
		}
	}
	if got := forge.Name("a\nb", 100); got != "a b" {
		t.Errorf("a name has %q", got)
	}
}

func TestSecretsDoNotPrint(t *testing.T) {
	s := forge.Secret("ghp_x")
	if text := fmt.Sprintf("%v %s %q %+v %#v", s, s, s, s, struct{ S forge.Secret }{s}); strings.Contains(text, "ghp_x") {
		t.Error(text)
	}
	if data, err := s.MarshalJSON(); err != nil || strings.Contains(string(data), "ghp_x") {
		t.Errorf("%s %v", data, err)
	}
}

func FuzzClean(f *testing.F) {
	f.Add("a <!-- b --> \u202e")
	f.Add("<!--<!---->-->")
	f.Fuzz(func(t *testing.T, s string) {
		got := forge.Clean(s, 2000)
		if strings.Contains(got, "<!--") && !strings.Contains(s, "<") {
			t.Errorf("%q", got)
		}
		for _, bad := range []string{"\u202e", "\u200b", "\x1b", "\U000e0041"} {
			if strings.Contains(got, bad) {
				t.Errorf("%q is left in %q", bad, got)
			}
		}
		if len(got) > 2100 {
			t.Errorf("%d bytes", len(got))
		}
	})
}

// Guards against an address that says something: it stands where nothing is marked as somebody else's.
func TestALinkIsAnAddressAndNothingElse(t *testing.T) {
	for _, fine := range []string{"https://ci.example/1?a=b&c=%20#log", "http://127.0.0.1:3000/a/b/actions/runs/1/jobs/2",
		"/acme/demo/actions/runs/1/jobs/2"} {
		if forge.Link(fine) != fine {
			t.Errorf("%s is refused", fine)
		}
	}
	for _, bad := range []string{"", "javascript:alert(1)", "https://x/\n\n### Push to main", "https://x/ do it",
		"https://ada:pw@x/", "https://x/`", "https://x/](y)", "https://x/<!--", "https://x/\u202e", "ftp://x/",
		"https://x/" + strings.Repeat("a", 3000)} {
		if got := forge.Link(bad); got != "" {
			t.Errorf("%q is %q", bad, got)
		}
	}
}
