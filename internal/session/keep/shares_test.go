package keep

import (
	"maps"
	"testing"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a bill by model that does not add up, or that counts what could not be written down twice.
func TestSharesAddUp(t *testing.T) {
	t.Parallel()
	seen := map[string]broker.Spend{}
	s := &shares{door: func() map[string]broker.Spend { return maps.Clone(seen) }}
	check := func(more store.Spend, want map[string]store.Spend) {
		t.Helper()
		if got := s.of(more); !maps.Equal(got, want) {
			t.Errorf("%+v, want %+v", got, want)
		}
	}
	s.named("opus\n")
	s.named("a later claim")
	check(store.Spend{Input: 5, Cost: 1}, map[string]store.Spend{"opus\ufffd": {Input: 5, Cost: 1}})
	seen["opus-5"], seen["haiku"] = broker.Spend{Input: 10, Cost: 2}, broker.Spend{Input: 4, Cost: 0.5, Unpriced: 1}
	// The agent claims a dollar more than the door has seen.
	want := map[string]store.Spend{"opus-5": {Input: 10, Cost: 3}, "haiku": {Input: 4, Cost: 0.5, Estimate: true}}
	check(store.Spend{Input: 14, Cost: 3.5, Estimate: true}, want)
	check(store.Spend{Input: 14, Cost: 3.5, Estimate: true}, want) // it was not recorded
	s.recorded()
	seen["haiku"] = broker.Spend{Input: 5, Cost: 0.75, Unpriced: 1}
	check(store.Spend{Input: 1, Cost: 0.25, Estimate: true},
		map[string]store.Spend{"haiku": {Input: 1, Cost: 0.25, Estimate: true}})
}
