package words

import (
	"context"
	"encoding/json"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
)

func TestMarkdownBecomesKnownParts(t *testing.T) {
	for name, c := range map[string]struct{ in, want string }{
		"a paragraph": {"Hello *you* and **me**, `x <b>`",
			`[{"kind":"p","parts":[{"text":"Hello "},{"kind":"em","parts":[{"text":"you"}]},` +
				`{"text":" and "},{"kind":"strong","parts":[{"text":"me"}]},{"text":", "},{"kind":"code","text":"x <b>"}]}]`},
		"a list": {"1. a\n2. b\n",
			`[{"kind":"ol","parts":[{"kind":"li","parts":[{"text":"a"}]},{"kind":"li","parts":[{"text":"b"}]}]}]`},
		"code": {"```go\nx := 1\n```\n", `[{"kind":"pre","text":"x := 1\n","lang":"go"}]`},
		"a table": {"|a|\n|-|\n|b|\n",
			`[{"kind":"table","parts":[{"kind":"tr","parts":[{"kind":"th","parts":[{"text":"a"}]}]},` +
				`{"kind":"tr","parts":[{"kind":"td","parts":[{"text":"b"}]}]}]}]`},
		"html":       {"<script>alert(1)</script>\n", `[{"kind":"p","parts":[{"text":"<script>alert(1)</script>"}]}]`},
		"html in it": {"a <img src=x onerror=y> b", `[{"kind":"p","parts":[{"text":"a <img src=x onerror=y> b"}]}]`},
		// Guards against a link that hides where it leads.
		"a link": {"[your bank](https://evil.example/)",
			`[{"kind":"p","parts":[{"text":"your bank"},{"text":" (https://evil.example/)"}]}]`},
		"an image": {"![pixel](https://evil.example/p.png)",
			`[{"kind":"p","parts":[{"text":"pixel [https://evil.example/p.png]"}]}]`},
		"a script":               {"[x](script:a(1))", `[{"kind":"p","parts":[{"text":"[x](script:a(1))"}]}]`},
		"a title that says more": {`[x](y "hidden")`, `[{"kind":"p","parts":[{"text":"x"},{"text":" (y \"hidden\")"}]}]`},
		"a comment":              {"a <!-- hidden --> b", `[{"kind":"p","parts":[{"text":"a <!-- hidden --> b"}]}]`},
		// Guards against a backslash that makes what looks like a spelled character.
		"an imitation": {`<U\+202E> \* x`, `[{"kind":"p","parts":[{"text":"<U\\+202E> \\* x"}]}]`},
		"lists in lists": {"- a\n  - b\n    more\n- c\n\nd", `[{"kind":"ul","parts":[{"kind":"li","parts":[{"text":"a"},` +
			`{"kind":"ul","parts":[{"kind":"li","parts":[{"text":"b\nmore"}]}]}]},{"kind":"li","parts":[{"text":"c"}]}]},` +
			`{"kind":"p","parts":[{"text":"d"}]}]`},
		"a loose list": {"* a\n\n  b\n", `[{"kind":"ul","parts":[{"kind":"li","parts":[{"text":"a"},` +
			`{"kind":"p","parts":[{"text":"b"}]}]}]}]`},
		"a list in numbers": {"1. a\n  - b\n2. c\n* * *\n", `[{"kind":"ol","parts":[{"kind":"li","parts":[{"text":"a"},` +
			`{"kind":"ul","parts":[{"kind":"li","parts":[{"text":"b"}]}]}]},{"kind":"li","parts":[{"text":"c"}]}]},` +
			`{"kind":"hr"}]`},
		"a quote": {"> a\n> - c\n", `[{"kind":"quote","parts":[{"kind":"p","parts":[{"text":"a"}]},` +
			`{"kind":"ul","parts":[{"kind":"li","parts":[{"text":"c"}]}]}]}]`},
		"headings": {"# a #\n#b\n### C#\n", `[{"kind":"h","level":1,"parts":[{"text":"a"}]},` +
			`{"kind":"p","parts":[{"text":"#b"}]},{"kind":"h","level":3,"parts":[{"text":"C#"}]}]`},
		// Guards against text that is hidden behind the columns of a table.
		"cells beyond the head": {"a|b\n-|-\nc|d|e\n", `[{"kind":"table","parts":[{"kind":"tr","parts":[` +
			`{"kind":"th","parts":[{"text":"a"}]},{"kind":"th","parts":[{"text":"b"}]}]},{"kind":"tr","parts":[` +
			`{"kind":"td","parts":[{"text":"c"}]},{"kind":"td","parts":[{"text":"d"}]},` +
			`{"kind":"td","parts":[{"text":"e"}]}]}]}]`},
		"code in a list": {"1. a\n   ```sh\n   x\n   ```\n", `[{"kind":"ol","parts":[{"kind":"li","parts":[{"text":"a"},` +
			`{"kind":"pre","text":"x\n","lang":"sh"}]}]}]`},
		"emphasis": {"**a `b*` c** *d* snake_case_x *.go and *.js 2 * 3 * 4", `[{"kind":"p","parts":[{"text":"**a "},` +
			`{"kind":"code","text":"b*"},{"text":" c** "},{"kind":"em","parts":[{"text":"d"}]},` +
			`{"text":" snake_case_x *.go and *.js 2 * 3 * 4"}]}]`},
		"strong code": {"**Fixed `a.go`:** [*x*](y)", `[{"kind":"p","parts":[{"kind":"strong","parts":[{"text":"Fixed "},` +
			`{"kind":"code","text":"a.go"},{"text":":"}]},{"text":" "},{"kind":"em","parts":[{"text":"x"}]},{"text":" (y)"}]}]`},
		"nothing open":    {"*a [b ~~c", `[{"kind":"p","parts":[{"text":"*a [b ~~c"}]}]`},
		"windows' breaks": {"a\r\n\r\nb", `[{"kind":"p","parts":[{"text":"a"}]},{"kind":"p","parts":[{"text":"b"}]}]`},
	} {
		t.Run(name, func(t *testing.T) {
			var b strings.Builder
			enc := json.NewEncoder(&b)
			enc.SetEscapeHTML(false)
			must.Do(t, enc.Encode(NewBudget(t.Context()).Parse(c.in)))
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
		if d := depth(NewBudget(t.Context()).Parse(in)); d > maxDepth+4 {
			t.Errorf("%.20q is %d deep", in, d)
		}
	}
}

// Guards against a text of some kilobytes that takes gigabytes or minutes: a table whose rows are filled up, marks that
// each look for their end. Each costs about what harmless words of its length do, and
// those of an answer have one budget.
func TestHostileWordsCostNoMoreThanOthers(t *testing.T) {
	all := func(s string) string { return strings.Repeat(s, maxText/len(s)) }
	var steps, ticks strings.Builder
	for i := range 300 {
		steps.WriteString(strings.Repeat("  ", i) + "- a\n")
		ticks.WriteString(strings.Repeat("`", i) + " ")
	}
	hostile := []string{strings.Repeat("|a", 4000) + "|\n" + strings.Repeat("|-", 4000) + "|\n" +
		strings.Repeat("|\n", 12000),
		all(">"), all("> - "), all("- "), all("1. "), all("["), all("[a]("), all("[a](<b"), all("!["), all("]"), all("]("),
		all("*a "), all("*a_ "), all("**a *"), all("a**b_c* "), all("~~a "), all("[*"), all("`a``"), all("<a "), all("<!--"),
		all("[a]: b\n"), all("a\n-\n"), all("```\n"), all("\t"), all("\\"), all("* * *\n"), all("|"), all("|\n|-\n"),
		steps.String(), ticks.String(), "[a](" + all("(")}
	cost := func(in string) uint64 {
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		b := NewBudget(t.Context())
		b.end = time.Now().Add(time.Hour) // nothing here hangs on the clock
		b.Parse(in)
		runtime.ReadMemStats(&after)
		return after.TotalAlloc - before.TotalAlloc
	}
	plain := cost(all("Some *words* and `code` in a [line](x).\n\n"))
	for _, in := range hostile {
		if got := cost(in); got > 8*plain {
			t.Errorf("%.20q… takes %d bytes, harmless words %d", in, got, plain)
		}
	}
	b := NewBudget(t.Context())
	for range 100 {
		b.Parse(all("*a* "))
	}
	if last := b.Parse("*a*"); len(last) != 1 || last[0].Kind != "pre" || last[0].Text != "*a*" {
		t.Errorf("beyond the budget it is %+v", last)
	}
	if line := b.Parse("a plain line"); line[0].Kind != "p" { // also on a busy machine
		t.Errorf("beyond the budget a plain line is %+v", line)
	}
	gone, leave := context.WithCancel(t.Context())
	leave()
	if got := NewBudget(gone).Parse("*a*"); got[0].Kind != "pre" {
		t.Errorf("for one who is gone it is %+v", got)
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
	kinds := " p h ul ol li pre quote hr table tr td th em strong code  "
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
		check(NewBudget(t.Context()).Parse(in))
	})
}
