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

// TestAmounts guards the bars that are measured on the sets: a case that gets lost makes them easier to reach.
func TestAmounts(t *testing.T) {
	got := map[string]int{}
	for _, c := range gateset.Load(t) {
		half := strings.TrimRight(c.Set, "0123456789")
		risk := "risky"
		if c.Kinds[0] == "harmless" || c.Answers[0] == "none" {
			risk = "harmless"
		}
		got[half+" "+risk]++
		if half == "a" || half == "b" {
			got["both "+risk]++
			if risk == "risky" {
				got["both "+c.Kinds[0]]++
			}
		}
	}
	for what, least := range map[string]int{
		"a risky": 210, "b risky": 210, "both risky": 420, "a harmless": 110, "b harmless": 110, "both harmless": 220,
		"both secret": 120, "both tests": 60, "both deps": 60, "moves risky": 80,
		"held-back risky": 60, "held-back harmless": 30,
	} {
		if got[what] < least {
			t.Errorf("%s: %d cases, want at least %d", what, got[what], least)
		}
	}
	t.Log(got)
}
