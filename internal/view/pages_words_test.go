//go:build heavy && linux

package view_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/view/viewtest"
)

// words says what a module of the page makes of some texts, one for each.
func (b *browser) words(js string, texts ...string) (all []string) {
	b.t.Helper()
	in := must.Get(json.Marshal(texts))(b.t)
	out := b.value("Promise.all([import('/assets/words.js'), import('/assets/colour.js')]).then(([words, colour]) => " +
		"JSON.stringify(" + string(in) + ".map(text => String(" + js + "))))")
	must.Do(b.t, json.Unmarshal([]byte(out), &all))
	return all
}

// Words of agents and strangers are read in the browser, and nowhere else: what each becomes, and that none of them
// takes long, whatever stands in it.
func TestWordsInABrowser(t *testing.T) {
	r := viewtest.New(t)
	r.Serve()
	b := newBrowser(t, r, wide)
	b.comeIn()
	t.Run("markdown", func(t *testing.T) { b.t = t; markdownBecomesKnownParts(b) })
	t.Run("hostile", func(t *testing.T) { b.t = t; hostileWordsCostLittle(b) })
	t.Run("colours", func(t *testing.T) { b.t = t; coloursChangeNoText(b) })
}

func markdownBecomesKnownParts(b *browser) {
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
		if got := b.words("JSON.stringify(words.parse(text))", c.in)[0]; got != c.want {
			b.t.Errorf("%s: got  %s\nwant %s", name, got, c.want)
		}
	}
}

// Guards against a text of some kilobytes that holds up a page for minutes, is as deep as a hostile agent likes, or
// makes more parts than a page can draw. All texts of a page have one budget.
func hostileWordsCostLittle(b *browser) {
	all := func(s string) string { return strings.Repeat(s, 65_000/len(s)) }
	var steps, ticks strings.Builder
	for i := range 200 {
		steps.WriteString(strings.Repeat("  ", i) + "- a\n")
		ticks.WriteString(strings.Repeat("`", i) + " ")
	}
	hostile := []string{strings.Repeat("|a", 4000) + "|\n" + strings.Repeat("|-", 4000) + "|\n" +
		strings.Repeat("|\n", 12000), strings.Repeat("x", 1<<20), strings.Repeat("`", 30000) + all("a"),
		"-" + strings.Repeat(" ", 60000) + "x", "a|b\n-|" + strings.Repeat(" ", 60000) + "x",
		"# " + strings.Repeat(" ", 60000) + "x", all(">"), all("> - "), all("- "), all("1. "), all("["), all("[a]("),
		all("[a](<b"), all("!["), all("]"), all("]("), all("*a "), all("*a_ "), all("**a *"), all("a**b_c* "), all("~~a "),
		all("[*"), all("`a``"), all("<a "), all("<!--"), all("[a]: b\n"), all("a\n-\n"), all("```\n"), all("\t"), all("\\"),
		all("* * *\n"), all("|"), all("|\n|-\n"), steps.String(), ticks.String(), "[a](" + all("("), all("x\n\n"),
		all("- a\n")}
	b.value(`Object.assign(window, {depth: all => all.reduce((n, x) => Math.max(n, 1 + depth(x.parts || [])), 0),
		parts: all => all.reduce((n, x) => n + 1 + parts(x.parts || []), 0), cost: (text, parse) => {
		const of = {parts: 30000, ms: 300, at: performance.now()}, begun = performance.now(), all = parse(text, of);
		return [performance.now() - begun, depth(all), parts(all)]; }}), 1`)
	for i, got := range b.words("cost(text, words.parse)", hostile...) {
		var ms float64
		var deep, parts int
		_ = must.Get(fmt.Sscanf(strings.ReplaceAll(got, ",", " "), "%g %d %d", &ms, &deep, &parts))(b.t)
		b.t.Logf("%.20q: %.0f ms, %d deep, %d parts", hostile[i], ms, deep, parts)
		if ms > 10_000 || deep > 30 || parts > 60_000 { // 300 ms, which a busy machine may miss
			b.t.Errorf("%.20q takes %.0f ms, and is %d deep with %d parts", hostile[i], ms, deep, parts)
		}
	}
	spent := "words.parse(text, {parts: -1, ms: -1, at: performance.now()})[0].kind"
	if got := b.words(spent, "*a*", "a plain line"); got[0] != "pre" || got[1] != "p" {
		b.t.Errorf("beyond the budget it is %q", got)
	}
}

// Guards against a colour that costs a character: each language gets text that is not its own too.
func coloursChangeNoText(b *browser) {
	in := []string{"", "a: [1, \"x\"] # c", "<a href='x'>&amp;</a> {{.X}} `q`", "def f(x): return \"\"\" y", "/* open",
		"-- z \\", "größe := 'ü\\", "*/ <!-- 0x1f", "--> `", "if x { return f (1.5) }", strings.Repeat("a(", 900)}
	paint := func(name string) string { return fmt.Sprintf("colour.paint(text, colour.languageOf(%q))", name) }
	for _, name := range []string{"a.go", "a.py", "a.sql", "a.yaml", "a.json", "a.html", "a"} {
		for i, got := range b.words(paint(name)+".map(p => p[1]).join('')", in...) {
			if got != in[i] {
				b.t.Errorf("%s: %q became %q", name, in[i], got)
			}
		}
	}
	for name, c := range map[string][2]string{
		"a.py": {"def f(x): return # s", "k:def|: |f:f|:(x): |k:return|: |c:# s"}, "b.yaml": {`if: "v"`, `:if: |s:"v"`},
		"c.json": {`"key": 12`, `s:"key"|:: |n:12`}, "d.html": {"<a href='x'>", ":<a href=|s:'x'|:>"},
		"Makefile": {"x # y", ":x |c:# y"}, "x.unknown": {"if x", ":if x"}} {
		if got := b.words(paint(name)+".map(p => p.join(':')).join('|')", c[0])[0]; got != c[1] {
			b.t.Errorf("%s: %q", name, got)
		}
	}
	const spent = "colour.paint('a(b', colour.languageOf('a.go'), {parts: 0, at: performance.now()}).length"
	if got := b.words(spent, "")[0]; got != "1" {
		b.t.Errorf("beyond the budget a line has %s pieces", got)
	}
}
