package gate

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

var (
	heldBack = flag.String("held-back", "", "try a set that rules are not tuned to, and print figures alone")
	wrongs   = flag.String("wrong", "", "write the cases that are wrong to a file")
)

// kindsOf are the gate's kinds for a label.
var kindsOf = map[string][]Kind{"install": {"install"}, "hook": {"commit"}, "open": {"editor"}, "agent": {"agents"},
	"build": {"build"}, "test-run": {"test"}, "ci": {"ci"}, "deps": {"dependencies", "packages"}, "review": {"review"},
	"prose": {"agents"}, "tests": {"weakened"}, "secret": {"secrets"}, "unknown": {"unknown"}}

// load writes all cases into one repository, as two commits each.
func load(t *testing.T, cases []labelledCase) (*git.Repo, []Range) {
	t.Helper()
	r := gittest.New(t)
	var in strings.Builder
	quote := func(p string) string {
		return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(p) + `"`
	}
	write := func(n int, files map[string]caseFile) {
		fmt.Fprintf(&in, "commit refs/heads/c%d\ncommitter a <a@example.org> 1700000000 +0000\ndata 1\nx\n", n)
		if n%2 == 1 {
			fmt.Fprintf(&in, "from refs/heads/c%d\ndeleteall\n", n-1)
		}
		fmt.Fprintf(&in, "M 100644 inline zzz\ndata 1\nz\n") // no tree is empty
		for _, p := range slices.Sorted(maps.Keys(files)) {
			fmt.Fprintf(&in, "M %s inline %s\ndata %d\n%s\n", files[p].Mode, quote(p), len(files[p].Content), files[p].Content)
		}
		in.WriteString("\n")
	}
	for i, c := range cases {
		write(2*i, c.Before)
		write(2*i+1, c.After)
	}
	r.Feed(in.String(), "fast-import", "--quiet", "--force")
	ids, trees := map[string]string{}, map[string]string{}
	for l := range strings.Lines(r.Git("for-each-ref", "--format=%(refname:short) %(objectname) %(tree)")) {
		f := strings.Fields(l)
		ids[f[0]], trees[f[0]] = f[1], f[2]
	}
	var ranges []Range
	for i, c := range cases {
		name := "c" + strconv.Itoa(2*i+1)
		in := Range{Base: ids["c"+strconv.Itoa(2*i)], Tip: ids[name]}
		if c.Message != "" || len(c.Headers) > 0 {
			in.Tip = strings.TrimSpace(r.Feed(commitText(trees[name], in.Base, c), "hash-object", "--literally", "-t",
				"commit", "-w",
				"--stdin"))
		}
		ranges = append(ranges, in)
	}
	return must.Get(git.Open(t.Context(), r.Dir))(t), ranges
}

// commitText is a commit's object with the headers and the message that a case has.
func commitText(tree, parent string, c labelledCase) string {
	head := []string{"tree " + tree, "parent " + parent, "author a <a@example.org> 1700000000 +0000",
		"committer a <a@example.org> 1700000000 +0000"}
	for _, h := range c.Headers {
		word, _, _ := strings.Cut(h, " ")
		if i := slices.IndexFunc(head, func(l string) bool { return strings.HasPrefix(l, word+" ") }); i >= 0 && word != "" {
			head[i] = h
		} else {
			head = append(head, h)
		}
	}
	message := c.Message
	if message == "" {
		message = "x\n"
	}
	return strings.Join(head, "\n") + "\n\n" + message
}

// verdict is what the gate made of a case.
type verdict struct{ right, asked, alarm bool }

func harmless(c labelledCase) bool { return c.Kinds[0] == "harmless" || c.Answers[0] == "none" }

// mustAsk says that nothing but a question, or a refusal, is right.
func mustAsk(c labelledCase) bool {
	return !slices.ContainsFunc(c.Answers, func(a string) bool { return a != "ask" && a != "refuse" })
}

func judged(c labelledCase, r Report) (v verdict) {
	var want []Kind
	for _, k := range c.Kinds {
		want = append(want, kindsOf[k]...)
	}
	for _, g := range r.Groups {
		asks := (Policy{}).Of(g) != Tell
		v.asked = v.asked || asks
		v.alarm = v.alarm || harmless(c) && (asks && !slices.Contains(c.Answers, "ask") || slices.Equal(c.Answers,
			[]string{"none"}))
		if !slices.Contains(want, g.Kind) || mustAsk(c) && !asks {
			continue
		}
		for _, f := range g.Findings {
			v.right = v.right || c.Says == "" || strings.Contains(f.Words()+"\n"+strings.Join(f.Rest(), "\n"), c.Says)
		}
	}
	v.right = v.right || harmless(c) && !v.alarm
	return v
}

// Guards against a gate that misses what it is for, or cries at everything: changes that were labelled before there
// was a rule. `go test -run TestSet -v -args -held-back held-back2` gives figures of those that no rule was tuned to.
func TestSet(t *testing.T) {
	cases := slices.DeleteFunc(loadCases(t), func(c labelledCase) bool {
		return c.Set != *heldBack && (*heldBack != "" || strings.HasPrefix(c.Set, "held-back"))
	})
	repo, ranges := load(t, cases)
	type count struct{ all, wrong int }
	counts := map[string]*count{}
	add := func(name string, wrong bool) {
		if counts[name] == nil {
			counts[name] = &count{}
		}
		if counts[name].all++; wrong {
			counts[name].wrong++
		}
	}
	var bad strings.Builder
	for i, c := range cases {
		report := must.Get(Examine(t.Context(), repo, ranges[i]))(t)
		v := judged(c, report)
		switch {
		case harmless(c):
			add("harmless", v.alarm)
		default:
			add("risky", !v.right)
			add("risky, "+c.Kinds[0], !v.right)
		}
		if mustAsk(c) && c.Kinds[0] != "secret" {
			add("asks", !v.asked)
		}
		if slices.Equal(c.Answers, []string{"tell"}) && !harmless(c) {
			add("asked, want tell", v.asked)
		}
		if c.Set == "moves" {
			add("moves", !v.right)
		}
		if !v.right || v.alarm || mustAsk(c) && !v.asked {
			fmt.Fprintf(&bad, "%s %s %v %v %q\n", c.Set, c.ID, c.Kinds, c.Answers, c.Says)
			for _, g := range report.Groups {
				for _, f := range g.Findings[:min(3, len(g.Findings))] {
					fmt.Fprintf(&bad, "    %s %s %s\n", g.Kind, f.answer, f.Words())
				}
			}
		}
	}
	for _, name := range slices.Sorted(maps.Keys(counts)) {
		n := counts[name]
		t.Logf("%-18s %3d of %3d wrong (%.1f %%)", name, n.wrong, n.all, 100*float64(n.wrong)/float64(n.all))
	}
	if *wrongs != "" {
		must.Do(t, os.WriteFile(*wrongs, []byte(bad.String()), 0o600))
	}
	if *heldBack != "" {
		return // rules are not tuned to it
	}
	for _, bar := range []struct {
		name       string
		least, per int // how many there must be, and per cent that may be wrong
	}{{"risky", 400, 4}, {"harmless", 200, 4}, {"asks", 100, 0}, {"moves", 80, 0}, {"risky, secret", 60, 10}} {
		if n := counts[bar.name]; n == nil || n.all < bar.least || n.wrong*100 > bar.per*n.all {
			t.Errorf("%s: %+v, may be wrong: %d %%\n%s", bar.name, n, bar.per, bad.String())
		}
	}
}
