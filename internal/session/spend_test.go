package session

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/store"
)

func TestLimitsAreReached(t *testing.T) {
	l := Limits{RunCost: 1, RunTokens: 100, DayCost: 5, DayTokens: 500}
	for _, c := range []struct {
		name     string
		l        Limits
		run, day store.Spend
		want     string
	}{
		{"nothing spent", l, store.Spend{}, store.Spend{}, ""},
		{"almost", l, store.Spend{Cost: 0.99, Input: 99}, store.Spend{Cost: 4.99, Output: 499}, ""},
		{"money", l, store.Spend{Cost: 1}, store.Spend{}, "limits.run_cost of $1.00"},
		{"money by an estimate", l, store.Spend{Cost: 1.2, Estimate: true}, store.Spend{},
			"limits.run_cost of $1.00 is reached by an estimate of $1.20"},
		{"the day's by an estimate", l, store.Spend{}, store.Spend{Cost: 6, Estimate: true},
			"limits.day_cost of $5.00 is reached by an estimate of $6.00"},
		{"tokens of every kind", l, store.Spend{Input: 25, Output: 25, CacheRead: 25, CacheWrite: 25}, store.Spend{},
			"limits.run_tokens of 100"},
		{"the day's money", l, store.Spend{}, store.Spend{Cost: 6}, "limits.day_cost of $5.00"},
		{"the day's tokens", l, store.Spend{}, store.Spend{Input: 500}, "limits.day_tokens of 500"},
		{"no limit at all", Limits{}, store.Spend{Cost: 1e9, Input: 1e15}, store.Spend{Cost: 1e9, Input: 1e15}, ""},
	} {
		got := c.l.Reached(c.run, c.day)
		if name, _, _ := strings.Cut(c.want, " "); got.Limit != store.Cause(name) || !strings.HasPrefix(got.Words, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

// Guards against a door that takes "nothing is left" for "no limit".
func TestTheDoorGetsWhatIsLeftOfTheDay(t *testing.T) {
	l := Limits{RunCost: 10, RunTokens: 1000, DayCost: 50, DayTokens: 5000}
	for _, c := range []struct {
		name string
		l    Limits
		day  store.Spend
		want broker.Limits
	}{
		{"a fresh day", l, store.Spend{}, broker.Limits{Tokens: 1000, Cost: 10}},
		{"late in the day", l, store.Spend{Cost: 45, Input: 4900}, broker.Limits{Tokens: 100, Cost: 5}},
		{"over it", l, store.Spend{Cost: 60, Input: 9999}, broker.Limits{Tokens: 1, Cost: 1e-9}},
		{"only of the day", Limits{DayCost: 50}, store.Spend{Cost: 20}, broker.Limits{Cost: 30}},
		{"none", Limits{}, store.Spend{Cost: 20}, broker.Limits{}},
	} {
		if got := c.l.Remaining(c.day); got != c.want {
			t.Errorf("%s: %+v, want %+v", c.name, got, c.want)
		}
	}
}
