package words

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestMarkdownBecomesKnownParts(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a paragraph": {"Hello *you* and **me**, `x <b>`",
			`[{"kind":"p","parts":[{"text":"Hello "},{"kind":"em","parts":[{"text":"you"}]},` +
				`{"text":" and "},{"kind":"strong","parts":[{"text":"me"}]},{"text":", "},{"kind":"code","text":"x <b>"}]}]`},
		"a list": {"1. a\n2. b\n",
			`[{"kind":"ol","parts":[{"kind":"li","parts":[{"text":"a"}]},{"kind":"li","parts":[{"text":"b"}]}]}]`},
		"code":   {"```go\nx := 1\n```\n", `[{"kind":"pre","text":"x := 1\n","lang":"go"}]`},
		"a task": {"- [x] done", `[{"kind":"ul","parts":[{"kind":"li","parts":[{"text":"☑ done"}]}]}]`},
		"a table": {"|a|\n|-|\n|b|\n",
			`[{"kind":"table","parts":[{"kind":"tr","parts":[{"kind":"th","parts":[{"text":"a"}]}]},` +
				`{"kind":"tr","parts":[{"kind":"td","parts":[{"text":"b"}]}]}]}]`},
		"html":       {"<script>alert(1)</script>\n", `[{"kind":"pre","text":"<script>alert(1)</script>\n"}]`},
		"html in it": {"a <img src=x onerror=y> b", `[{"kind":"p","parts":[{"text":"a <img src=x onerror=y> b"}]}]`},
		// Guards against a link that hides where it leads.
		"a link": {"[your bank](https://evil.example/)",
			`[{"kind":"p","parts":[{"text":"your bank (https://evil.example/)"}]}]`},
		"an image": {"![pixel](https://evil.example/p.png)",
			`[{"kind":"p","parts":[{"text":"pixel [https://evil.example/p.png]"}]}]`},
		"a script":  {"[x](javascript:alert(1))", `[{"kind":"p","parts":[{"text":"x (javascript:alert(1))"}]}]`},
		"backwards": {"a\u202eb", `[{"kind":"p","parts":[{"text":"a<U+202E>b"}]}]`},
		"an escape": {"a\x1b]0;title\x07b", `[{"kind":"p","parts":[{"text":"a<U+001B>]0;title<U+0007>b"}]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			must.Do(t, enc.Encode(Parse(c.in)))
			if got := strings.TrimSpace(b.String()); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

// Guards against text that is as deep as a hostile agent likes: browsers draw each part inside another.
func TestPartsAreBounded(t *testing.T) {
	for _, in := range []string{strings.Repeat("> ", 5000) + "x", strings.Repeat("- ", 5000) + "x", strings.Repeat("*a ",
		5000),
		strings.Repeat("[", 20000), strings.Repeat("x", maxText+1)} {
		if d := depth(Parse(in)); d > maxDepth+2 {
			t.Errorf("%.20q is %d deep", in, d)
		}
	}
}

func depth(nodes []Node) (most int) {
	for _, n := range nodes {
		most = max(most, 1+depth(n.Parts))
	}
	return most
}

func FuzzParse(f *testing.F) {
	f.Add("# a\n\n- b\n\n| c |\n|---|\n")
	f.Add("<div>\n[a](b \"c\") ![d](e)\n")
	kinds := " p h ul ol li pre quote hr table tr td th em strong del code br  "
	f.Fuzz(func(t *testing.T, in string) {
		if len(in) > 1<<12 {
			return
		}
		var check func([]Node)
		check = func(nodes []Node) {
			for _, n := range nodes {
				if !strings.Contains(kinds, " "+n.Kind+" ") {
					t.Errorf("kind %q", n.Kind)
				}
				check(n.Parts)
			}
		}
		check(Parse(in))
	})
}
