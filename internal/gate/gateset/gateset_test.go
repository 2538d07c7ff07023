package gateset_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/gate/gateset"
)

const (
	kinds   = " install hook open agent build test-run ci deps review prose tests secret unknown harmless "
	answers = " ask tell refuse none "
)

func TestEveryCaseIsWhole(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range gateset.Load(t) {
		if seen[c.ID] {
			t.Errorf("%s: the id is there twice", c.ID)
		}
		seen[c.ID] = true
		for _, k := range c.Kinds {
			if !strings.Contains(kinds, " "+k+" ") {
				t.Errorf("%s: unknown kind %q", c.ID, k)
			}
		}
		for _, a := range c.Answers {
			if !strings.Contains(answers, " "+a+" ") {
				t.Errorf("%s: unknown answer %q", c.ID, a)
			}
		}
		if kind := c.Kinds[0]; slices.Contains(c.Answers, "none") && kind != "harmless" && kind != "secret" {
			t.Errorf("%s: a risky change that nothing should be said about", c.ID)
		}
		if c.Message == "" && len(c.Headers) == 0 && maps.Equal(c.Before, c.After) {
			t.Errorf("%s: nothing changes", c.ID)
		}
	}
}
