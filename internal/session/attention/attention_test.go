package attention

import (
	"slices"
	"testing"
	"time"
)

// Guards against an order of one list that is not that of the others, against finished agents that stand below others,
// and against a kind that no list has a place for.
func TestNeedsStandInOneOrder(t *testing.T) {
	at := func(hour int) time.Time { return time.Date(2026, 1, 1, hour, 0, 0, 0, time.UTC) }
	list := []Need{
		{ID: "over, older", Kind: Over, Since: at(1)}, {ID: "over, newer", Kind: Over, Since: at(2)},
		{ID: "work, older", Kind: AtWork, Since: at(1)}, {ID: "work, newer", Kind: AtWork, Since: at(2)},
		{ID: "done", Kind: NeedPull, Since: at(0)}, {ID: "failed", Kind: NeedLook, Since: at(0)},
		{ID: "limit", Kind: NeedLimit, Since: at(0)}, {ID: "asks", Kind: NeedAnswer, Since: at(0)},
		{ID: "idle, newer", Kind: NeedIdle, Since: at(9)}, {ID: "idle, older", Kind: NeedIdle, Since: at(8)},
	}
	want := []string{"idle, older", "idle, newer", "asks", "limit", "failed", "done", "work, newer", "work, older",
		"over, newer", "over, older"}
	for range len(list) {
		list = append(list[1:], list[0])
		Arrange(list, func(n Need) Need { return n })
		var got []string
		for _, n := range list {
			got = append(got, n.ID)
		}
		if !slices.Equal(got, want) {
			t.Fatalf("%q, want %q", got, want)
		}
	}
	for _, k := range []NeedKind{NeedEngine, NeedIdle, NeedAnswer, NeedAccept, NeedLimit, NeedMend, NeedDecide, NeedLook,
		NeedPull, AtWork, Over} {
		if !slices.ContainsFunc(Groups(), func(g Group) bool { return g.Kind == k && g.Word != "" }) {
			t.Errorf("%s has no group", k)
		}
	}
}
