package keep

import (
	"context"
	"sync"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// meter adds up what a run spends, records it, and reports when a limit is reached.
type meter struct {
	limits  session.Limits
	door    func() broker.Spend
	keep    func(ctx context.Context, more store.Spend) (today store.Spend, err error)
	reached func(session.Reached) // called once

	mu      sync.Mutex
	earlier store.Spend // of attempts that have ended, as the CLI counted them
	now     store.Spend // of the present one
	kept    store.Spend
	today   store.Spend // of all sessions, at the last check
	said    bool
}

// count takes the CLI's own count of the present attempt.
func (m *meter) count(u event.Usage) {
	m.mu.Lock()
	m.now = store.Spend{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheWrite: u.CacheWrite, Cost: u.Cost}
	m.mu.Unlock()
	m.check()
}

// nextAttempt closes the account of an attempt.
func (m *meter) nextAttempt() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.earlier, m.now = m.earlier.Add(m.now), store.Spend{}
}

// total is what the CLI says, or what the door has seen if that is more: an agent can be wrong or lie. It can forge its
// CLI's output, so that counts only up to twice the run's limit: otherwise one claim would use up the day's limit for
// all sessions.
func (m *meter) total() store.Spend {
	cli := m.earlier.Add(m.now)
	if m.door == nil {
		return cli
	}
	if most := 2 * m.limits.RunTokens; most > 0 && cli.Tokens() > most {
		cli = store.Spend{Input: most, Cost: cli.Cost}
	}
	if most := 2 * m.limits.RunCost; most > 0 {
		cli.Cost = min(cli.Cost, most)
	}
	seen, out := m.door(), cli
	if seen.Tokens() > cli.Tokens() {
		out = store.Spend{Input: seen.Input, Output: seen.Output, CacheRead: seen.CacheRead, CacheWrite: seen.CacheWrite}
	}
	out.Cost = max(cli.Cost, seen.Cost)
	out.Estimate = seen.Guesses() > 0
	return out
}

// check reports once that a limit is reached. It knows what other sessions spent today as of the last writing.
func (m *meter) check() {
	m.mu.Lock()
	total := m.total()
	limit := m.limits.Reached(total, m.today.Add(total.Sub(m.kept)))
	tell := limit.Limit != "" && !m.said
	m.said = m.said || tell
	m.mu.Unlock()
	if tell {
		m.reached(limit)
	}
}

// write records what was spent since its last call, if anything was.
func (m *meter) write(ctx context.Context) error {
	m.mu.Lock()
	total := m.total()
	kept := m.kept
	m.mu.Unlock()
	if total == kept {
		return nil
	}
	today, err := m.keep(ctx, total.Sub(kept))
	if err != nil {
		return err
	}
	m.mu.Lock()
	m.kept, m.today = total, today
	m.mu.Unlock()
	m.check()
	return nil
}

// written is what has been recorded of the run so far.
func (m *meter) written() store.Spend {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.kept
}
