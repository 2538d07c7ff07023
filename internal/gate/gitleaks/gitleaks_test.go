package gitleaks

import (
	"regexp"
	"strings"
	"testing"
)

// Guards against an expression that Go's regexp does not know: it would be found at the first secret. And against a
// file of which a part is not read.
func TestTheFileIsRead(t *testing.T) {
	try := func(list ...string) {
		for _, e := range list {
			if _, err := regexp.Compile(e); err != nil {
				t.Error(err)
			}
		}
	}
	all, allowed := Load(), 0
	for _, r := range all.Rules {
		try(r.Regex, r.Path)
		for _, a := range r.Allow {
			try(append(a.Paths, a.Regexes...)...)
			lower(t, a.Words)
			allowed++
		}
		lower(t, r.Keywords)
		if r.ID == "" || r.Regex == "" && r.Path == "" {
			t.Errorf("%+v", r)
		}
	}
	try(append(all.Global.Paths, all.Global.Regexes...)...)
	if len(all.Rules) < 200 || allowed < 13 || len(all.Global.Paths) < 20 || len(all.Global.Words) == 0 {
		t.Errorf("%d rules, %d exceptions, %+v", len(all.Rules), allowed, all.Global)
	}
}

func lower(t *testing.T, words []string) {
	t.Helper()
	for _, w := range words {
		if w != strings.ToLower(w) {
			t.Errorf("%q has capitals", w)
		}
	}
}

func BenchmarkLoad(b *testing.B) {
	for b.Loop() {
		Parse()
	}
}
