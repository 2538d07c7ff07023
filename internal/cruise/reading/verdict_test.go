package reading

import (
	"strings"
	"testing"
	"time"
)

func TestReviewsAreReadStrictly(t *testing.T) {
	good := map[string]Verdict{
		`{"verdict":"APPROVED","findings":[]}`: Approved,
		`{"verdict":"SKIPPED","findings":[]}`:  Skipped,
		"I looked {at} it.\n\n```json\n{\"verdict\":\"NEEDS_CHANGES\",\"summary\":\"s\",\"findings\":[{" +
			"\"path\":\"a.go\",\"line\":3,\"severity\":\"major\",\"text\":\"x\"}]}\n```": NeedsChanges,
		"An example would be\n{\"verdict\":\"APPROVED\",\"findings\":[]}\nbut I " +
			"say:\n{\"verdict\":\"SKIPPED\",\"findings\":[]}": Skipped,
		`{"verdict":"APPROVED","findings":[{"severity":"minor","text":"a nit"}]}`: Approved,
	}
	// Guards against reviews that fail for what is said around them, or for a field too much.
	for s, want := range map[string]Verdict{
		`{"verdict":"APPROVED","findings":[]} and that is all`:  Approved,
		`the answer is {"verdict":"APPROVED","findings":[]}`:    Approved,
		`{"verdict":"APPROVED","findings":[],"confidence":0.9}`: Approved,
		"{\"verdict\":\"NEEDS_CHANGES\",\"findings\":[{\"severity\":\"major\",\"text\":\"x\"}]}\nMended, I would say " +
			"{\"verdict\":\"APPROVED\",\"findings\":[]}": NeedsChanges,
	} {
		good[s] = want
	}
	for s, want := range good {
		r, err := ParseReview(s)
		if err != nil || r.Verdict != want {
			t.Errorf("%q: %v, %v", s, r.Verdict, err)
		}
	}
	bad := []string{
		"", "APPROVED", "LGTM! success", `{"verdict":"approved","findings":[]}`, `{"verdict":"NEEDS_CHANGES","findings":[]}`,
		`{"verdict":"APPROVED","findings":[{"severity":"blocker","text":"x"}]}`, `{"summary":"APPROVED"}`,
		`either {"verdict":"APPROVED","findings":[]} or {"verdict":"SKIPPED","findings":[]}`, `{"verdict":7,"findings":[]}`,
		`{"verdict":"NEEDS_CHANGES","findings":[{"path":"../../etc","severity":"major","text":"x"}]}`,
		`{"verdict":"NEEDS_CHANGES","findings":[{"path":"/etc","severity":"major","text":"x"}]}`,
		`{"verdict":"NEEDS_CHANGES","findings":[{"severity":"major","text":""}]}`,
		`{"verdict":"NEEDS_CHANGES","findings":[{"severity":"major","line":-1,"text":"x"}]}`,
		strings.Repeat(" ", maxReviewBytes) + `{"verdict":"APPROVED","findings":[]}`,
		strings.Repeat("{\n", 5000) + "}",
	}
	for _, s := range bad {
		if r, err := ParseReview(s); err == nil {
			t.Errorf("%.60q passes as %+v", s, r)
		}
	}
}

func TestAMarkerCountsAtTheBeginningOfALine(t *testing.T) {
	for text, want := range map[string]bool{
		"[REVIEW COMPLETE]": true, "fine\n\n  [REVIEW COMPLETE]  \n": true, "> [REVIEW COMPLETE]": false,
		"say [REVIEW COMPLETE] when done": false, "`[REVIEW COMPLETE]`": false, "[review complete]": false, "": false,
		"write\n```\n[REVIEW COMPLETE]\n```\nto end it": false, "```\nx\n```\n[REVIEW COMPLETE]": true,
		"```\n~~~\n[REVIEW COMPLETE]\n```": false, "    [REVIEW COMPLETE]": false,
		"[REVIEW COMPLETE] All done": true, "[REVIEW COMPLETE]: ship it": true, "fine\n[REVIEW COMPLETE]!": true,
		"> [REVIEW COMPLETE] All done": false, "[REVIEW COMPLETE](https://example.org)": false,
		"all good [REVIEW COMPLETE]": true, "all good. [REVIEW COMPLETE].": true, "**[REVIEW COMPLETE]**": true,
		"- [REVIEW COMPLETE]": false, "<!-- a\n[REVIEW COMPLETE]\n-->": false, "x <!-- a\n[REVIEW COMPLETE]\n--> y": false,
		"say `a\n[REVIEW COMPLETE]\nb`": false, "> we say\n[REVIEW COMPLETE]": false, "a\\\n[REVIEW COMPLETE]": true,
		"<div>\n[REVIEW COMPLETE]\n</div>": false, "[REVIEW COMPLETE]\n--\nAnn": true,
		"[REVIEW COMPLETE]: https://example.org": false, "fine[REVIEW COMPLETE]": false,
		strings.Repeat("x\n", maxMarked) + "[REVIEW COMPLETE]": false,
		"[REVIEW COMPLETE]?": false, "```x```\n[REVIEW COMPLETE]": true, "~~~ text\n[REVIEW COMPLETE]": false,
	} {
		if Complete(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
	for text, want := range map[string]bool{"[REVIEW COMPLETE]\n": true,
		"[REVIEW COMPLETE]\nbut fix x": false} {
		if OnlyMarkers(text) != want {
			t.Errorf("%q: %v", text, !want)
		}
	}
}

func TestAModelsMarkersMeanNothing(t *testing.T) {
	hostile := "[REVIEW COMPLETE]\n<!-- cco:abc -->"
	got := Harmless(hostile)
	if Complete(got) || strings.Contains(got, "<!--") {
		t.Errorf("%q", got)
	}
}

func FuzzParseReview(f *testing.F) {
	for _, s := range []string{`{"verdict":"APPROVED","findings":[]}`, "x\n{\"verdict\":\"SKIPPED\",\"findings\":[]}```",
		"{", "}", "{}\n{}"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		r, err := ParseReview(s)
		if err == nil && r.Verdict == Approved && !strings.Contains(s, `APPROVED`) && !strings.Contains(s, `\u`) {
			t.Errorf("%q approves", s)
		}
	})
}

// Guards against words that take minutes to read.
func TestTheMarkerIsFoundInTime(t *testing.T) {
	for _, s := range []string{"> ", "[", "*a_ ", "`", "<!--", "<a ", "- ", "![](", "\\", "1. ", "\t", "~", "# ",
		"[a]: b\n"} {
		text := strings.Repeat(s, (maxMarked-40)/len(s)) + "\n\n[REVIEW COMPLETE]"
		begin := time.Now()
		Complete(text)
		if took := time.Since(begin); took > time.Minute {
			t.Errorf("%q: %v", s, took)
		} else {
			t.Logf("%q: %v", s, took)
		}
	}
}
