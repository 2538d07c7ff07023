package keep

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// share is a session's part in a budget that it has in common with others, whose keepers are other processes.
type share struct {
	store   *store.Store
	budget  string
	session string
	gone    func(session string) bool // its keeper has died
	full    func(session.Reached)     // called once
	once    sync.Once
}

// share is the run's part in a budget, nil if it has none.
func (r *run) share() broker.Budget {
	if r.order.Budget == "" {
		return nil
	}
	return &share{store: r.Store, budget: r.order.Budget, session: r.rec.ID, gone: r.Gone, full: r.spentAll}
}

// How often a request that waits for room looks for it.
const (
	firstLook = 20 * time.Millisecond
	laterLook = 500 * time.Millisecond
)

func amount(s broker.Spend) store.Amount { return store.Amount{Cost: s.Cost, Tokens: s.Tokens()} }

// Reserve waits until a request may begin, whatever the others' requests will cost.
func (b *share) Reserve(ctx context.Context, most broker.Spend) (hold int64, full string, err error) {
	for wait := firstLook; ; wait = min(2*wait, laterLook) {
		hold, now, err := b.store.Hold(ctx, b.budget, b.session, amount(most))
		switch {
		case err != nil:
			return 0, "", err
		case hold != 0:
			return hold, "", nil
		case now.Reached():
			limit := reachedBudget(now)
			b.once.Do(func() { b.full(limit) })
			return 0, limit.Words, nil
		}
		if err := b.buryDead(ctx); err != nil {
			return 0, "", err
		}
		select {
		case <-time.After(wait):
		case <-ctx.Done():
			return 0, "", ctx.Err()
		}
	}
}

// buryDead charges what sessions hold whose keepers were killed: nobody else would.
func (b *share) buryDead(ctx context.Context) error {
	holders, err := b.store.Holders(ctx, b.budget)
	for _, id := range holders {
		if id != b.session && b.gone(id) {
			if err := b.store.Forfeit(ctx, b.budget, id); err != nil {
				return err
			}
		}
	}
	return err
}

// Settle charges a request. If that can't be written, the hold stays, and counts as spent when this keeper has ended.
func (b *share) Settle(hold int64, spent broker.Spend) {
	_ = b.store.Settle(context.Background(), b.budget, hold, amount(spent))
}

func reachedBudget(b store.Budget) session.Reached {
	words := "the budget of " + unit.Count(b.Limit.Tokens, "token") + " that it shares is reached"
	if b.Limit.Cost > 0 && b.Spent.Cost >= b.Limit.Cost {
		words = fmt.Sprintf("the budget of $%.2f that it shares is reached", b.Limit.Cost)
	}
	return session.Reached{Limit: store.LimitBudget, Words: words}
}
