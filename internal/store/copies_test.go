//go:build heavy

package store_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a session that nobody but its machine knows of, one that is taken for another machine's because they
// have the same id, and one that is shown long after it was removed.
func TestMachinesTellOfTheirSessions(t *testing.T) {
	s := must.Get(store.OpenShared(t.Context(), pgtest.Start(t).Open(t)))(t)
	ctx := t.Context()
	one := store.Copy{ID: "0000000a", Home: "one", Phase: "p", Agent: "claude", State: store.Running, Cost: 1.5,
		Estimate: true, Tokens: 10}
	review := store.Copy{ID: "0000000b", Home: "one", Phase: "p", Agent: "codex", State: store.Done}
	two := one
	two.Home, two.State, two.Cost, two.Estimate = "two", store.Failed, 0.25, false
	must.Do(t, s.CopySessions(ctx, "one", []string{one.ID, review.ID}, []store.Copy{one, review}))
	must.Do(t, s.CopySessions(ctx, "two", []string{two.ID}, []store.Copy{two}))
	are := func(want ...store.Copy) {
		t.Helper()
		got := must.Get(s.Copies(ctx, "p"))(t)
		if diff := cmp.Diff(want, got, cmpopts.IgnoreFields(store.Copy{}, "Told", "Silence")); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
		for _, c := range got {
			if c.Told.IsZero() || c.Silence < 0 {
				t.Errorf("%+v", c)
			}
		}
	}
	are(one, review, two)
	one.State, one.Cost = store.Done, 2
	must.Do(t, s.CopySessions(ctx, "one", []string{one.ID}, []store.Copy{one}))
	are(one, two)
	must.Do(t, s.CopySessions(ctx, "one", nil, nil))
	are(two)
	if got := must.Get(s.Copies(ctx, "other"))(t); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
