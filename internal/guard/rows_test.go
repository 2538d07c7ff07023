package guard

import (
	"strings"
	"testing"
)

func TestListed(t *testing.T) {
	for word, want := range map[string]bool{
		"a": true, "bc": true, "-d": true, "b": false, "c": false, "": false, " ": false, "a bc": false, "bc ": false,
		"-": false, "d": false,
	} {
		if got := listed("a bc -d", word); got != want {
			t.Errorf("%q: %v", word, got)
		}
	}
	if !listed("npx bash sh", "sh") || listed("kill shsh", "l") || listed("kill shsh", "sh") {
		t.Error("a part of another word counts")
	}
}

// Guards against one name in two rows, of which the first would decide.
func TestRows(t *testing.T) {
	seen := map[string]bool{}
	for _, d := range deputies {
		if d.act == "" || d.instead == "" {
			t.Errorf("%s: nothing is said of it", d.names)
		}
		for _, name := range strings.Fields(d.names) {
			if seen[name] || only(name, nil) || listed(wrappers, name) || listed(shells, name) {
				t.Errorf("%s is something else too", name)
			}
			seen[name] = true
		}
	}
}
