package keep

import (
	"context"
	"errors"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

func TestAMeterBelievesTheLargerCount(t *testing.T) {
	t.Parallel()
	var seen broker.Spend
	var kept store.Spend
	var said []string
	broken := errors.New("disk full")
	fail := false
	m := &meter{
		limits: session.Limits{RunTokens: 1000, DayCost: 5}, door: func() broker.Spend { return seen },
		keep: func(_ context.Context, more store.Spend) (store.Spend, error) {
			if fail {
				return store.Spend{}, broken
			}
			kept = kept.Add(more)
			return kept.Add(store.Spend{Cost: 3}), nil // others spend too
		},
		reached: func(limit session.Reached) { said = append(said, limit.Words) },
	}
	m.count(event.Usage{Input: 100, Output: 50, Cost: 0.5})
	m.count(event.Usage{Input: 200, Output: 50, Cost: 0.75}) // so far, not in addition
	seen = broker.Spend{Input: 100, Cost: 0.25}
	if err := m.write(t.Context()); err != nil || kept != (store.Spend{Input: 200, Output: 50, Cost: 0.75}) {
		t.Errorf("the agent's own count: %+v, %v", kept, err)
	}
	m.nextAttempt()
	m.count(event.Usage{Input: 10, Cost: 0.25})
	seen = broker.Spend{Input: 300, Output: 60, Cost: 0.5, Unpriced: 1}
	fail = true
	if err := m.write(t.Context()); !errors.Is(err, broken) {
		t.Errorf("it says nothing of %v", err)
	}
	fail = false
	if err := m.write(t.Context()); err != nil || kept != (store.Spend{Input: 300, Output: 60, Cost: 1, Estimate: true}) {
		t.Errorf("tokens of the door, money of the agent, nothing lost: %+v, %v", kept, err)
	}
	if len(said) != 0 {
		t.Errorf("too early: %q", said)
	}
	m.count(event.Usage{Input: 10, Cost: 1.25}) // 3 of others, 0.75 and 1.25
	m.count(event.Usage{Input: 9000, Cost: 2})
	if len(said) != 1 || !strings.HasPrefix(said[0], "limits.day_cost") {
		t.Errorf("said %q", said)
	}
}

// Guards against an agent that claims to have spent what all other sessions were to have today.
func TestAClaimUsesUpNoMoreThanTheRunMight(t *testing.T) {
	t.Parallel()
	seen := broker.Spend{Input: 5, Cost: 1}
	m := &meter{limits: session.Limits{RunTokens: 1000, RunCost: 10}, door: func() broker.Spend { return seen },
		reached: func(session.Reached) {}}
	m.count(event.Usage{Input: 1e12, Output: 1e12, Cost: 1e9})
	if got := m.total(); got != (store.Spend{Input: 2000, Cost: 20}) {
		t.Errorf("a claim: %+v", got)
	}
	seen = broker.Spend{Input: 3000, Output: 1, Cost: 25}
	if got := m.total(); got != (store.Spend{Input: 3000, Output: 1, Cost: 25}) {
		t.Errorf("what was really spent: %+v", got)
	}
}
