package steps

import (
	"testing"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
)

// Guards against a demand that counts as settled because cco, or anybody, resolved its thread.
func TestWhoTakesADemandBack(t *testing.T) {
	for name, c := range map[string]struct {
		said forge.Comment
		want bool
	}{
		"as it was said":       {forge.Comment{ID: "line-1", Author: "ann"}, false},
		"deleted":              {forge.Comment{ID: "line-2", Author: "ann"}, true},
		"resolved by itself":   {forge.Comment{ID: "line-1", Author: "ann", State: forge.ThreadResolved, Resolver: "ann"}, true},
		"resolved by another":  {forge.Comment{ID: "line-1", Author: "ann", State: forge.ThreadResolved, Resolver: "bob"}, false},
		"resolved by us":       {forge.Comment{ID: "line-1", Author: "me", State: forge.ThreadResolved, Resolver: "me"}, false},
		"a dismissed review":   {forge.Comment{ID: "line-1", Author: "ann", State: forge.ReviewDismissed}, true},
		"the forge is unaware": {forge.Comment{ID: "line-1", Author: "ann", State: forge.ThreadResolved}, false},
	} {
		d := cruise.Demand{Comment: "line-1~17", Author: c.said.Author}
		if got := withdrawn(d, []forge.Comment{c.said}, []string{"Me"}); got != c.want {
			t.Errorf("%s: %v", name, got)
		}
	}
}
