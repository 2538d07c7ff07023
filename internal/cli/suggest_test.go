package cli

import (
	"slices"
	"testing"
)

func TestNearWordsAreMeant(t *testing.T) {
	names := []string{"push", "pull", "prune", "sessions", "status", "stop", "start", "destroy", "list"}
	for wrong, want := range map[string][]string{
		"psuh": {"push"}, "pul": {"pull"}, "sesions": {"sessions"}, "stpo": {"stop"}, "strat": {"start"},
		"sess":   {"sessions"},
		"statsu": {"status"}, "x": nil, "nonsense": nil, "": nil,
	} {
		if got := suggestions(wrong, names); !slices.Equal(got, want) {
			t.Errorf("%q: %q, want %q", wrong, got, want)
		}
	}
}
