package sets

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a set that opens more than the names that it says: an address, a range, all names below one, a port.
func TestSetsAreNames(t *testing.T) {
	for _, name := range Names() {
		set := must.Get(Find(name))(t)
		rules := must.Get(set.Rules())(t)
		var got []string
		for _, r := range rules {
			if got = append(got, r.String()); !r.Named() {
				t.Errorf("%s allows %s, which is more than a name", name, r)
			}
		}
		if len(got) == 0 || !slices.Equal(got, set.Hosts) {
			t.Errorf("%s has %v, which are read as %v", name, set.Hosts, got)
		}
	}
	if s, err := Find("gem"); err == nil {
		t.Errorf("there is a set %v", s)
	}
}

// Guards against a set that lets data out in ordinary use, and doesn't say so.
func TestSetsThroughWhichDataCanLeaveSaySo(t *testing.T) {
	for _, name := range Names() {
		if set := must.Get(Find(name))(t); (set.Caution != "") != slices.Contains([]string{"go", "npm"}, name) {
			t.Errorf("%s says %q", name, set.Caution)
		}
	}
}
