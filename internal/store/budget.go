package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Amount is money and tokens.
type Amount struct {
	Cost   float64 `json:"cost"` // dollars
	Tokens int64   `json:"tokens"`
}

// Budget is what several sessions may spend together. A limit of 0 is none.
type Budget struct {
	ID    string
	Limit Amount
	Spent Amount // by requests that have ended
	Held  Amount // by those under way, at most
	Holds int    // how many these are
}

// Reached says that nothing is left of it.
func (b Budget) Reached() bool {
	return b.Limit.Cost > 0 && b.Spent.Cost >= b.Limit.Cost || b.Limit.Tokens > 0 && b.Spent.Tokens >= b.Limit.Tokens
}

// allows says whether a request may begin: one alone always may while something is left, so that a budget is passed by
// at most one answer; several only if they can't pass it together.
func (b Budget) allows(most Amount) bool {
	if b.Reached() {
		return false
	}
	cost, tokens := b.Spent.Cost+b.Held.Cost+most.Cost, b.Spent.Tokens+b.Held.Tokens+most.Tokens
	fits := (b.Limit.Cost <= 0 || cost < b.Limit.Cost) && (b.Limit.Tokens <= 0 || tokens < b.Limit.Tokens)
	return b.Holds == 0 || fits
}

// AddBudget records a budget that sessions will share.
func (s *Store) AddBudget(ctx context.Context, id string, limit Amount, now time.Time) error {
	_, err := s.db.ExecContext(ctx, `INSERT INTO budgets (id, cost, tokens, created_at) VALUES (?, ?, ?, ?)`,
		id, limit.Cost, limit.Tokens, now.UnixMilli())
	if err != nil {
		return fmt.Errorf("record budget %s: %w", id, err)
	}
	return nil
}

// Hold takes the most that a session's request may cost out of a budget, if that is allowed: hold is 0 if it is not. In
// any case it gives the budget as it is then.
func (s *Store) Hold(ctx context.Context, budget, session string, most Amount) (hold int64, b Budget, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		if b, err = readBudget(ctx, tx, budget); err != nil || !b.allows(most) {
			return err
		}
		r, err := tx.ExecContext(ctx, `INSERT INTO budget_holds (budget, session, cost, tokens) VALUES (?, ?, ?, ?)`,
			budget, session, most.Cost, most.Tokens)
		if err == nil {
			hold, err = r.LastInsertId()
		}
		return err
	})
	if err != nil {
		return 0, b, fmt.Errorf("reserve from budget %s: %w", budget, err)
	}
	return hold, b, nil
}

// Settle puts what a request has cost in the place of what it held; a hold of 0 is a request that held nothing.
func (s *Store) Settle(ctx context.Context, budget string, hold int64, spent Amount) error {
	err := s.tx(ctx, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `DELETE FROM budget_holds WHERE id = ? AND budget = ?`, hold, budget); err != nil {
			return err
		}
		return spend(ctx, tx, budget, spent)
	})
	if err != nil {
		return fmt.Errorf("charge budget %s: %w", budget, err)
	}
	return nil
}

// Holders are the sessions that hold something of a budget.
func (s *Store) Holders(ctx context.Context, budget string) (sessions []string, err error) {
	sessions, err = all(ctx, s.db, column, `SELECT DISTINCT session FROM budget_holds WHERE budget = ?`, budget)
	if err != nil {
		return nil, fmt.Errorf("read budget %s: %w", budget, err)
	}
	return sessions, nil
}

// Forfeit charges everything that a session holds, at its highest price: its keeper died, and nobody knows what came of
// its requests.
func (s *Store) Forfeit(ctx context.Context, budget, session string) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		var lost Amount
		err := tx.QueryRowContext(ctx, `SELECT COALESCE(SUM(cost), 0.0), COALESCE(SUM(tokens), 0) FROM budget_holds
			WHERE budget = ? AND session = ?`, budget, session).Scan(&lost.Cost, &lost.Tokens)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `DELETE FROM budget_holds WHERE budget = ? AND session = ?`, budget,
			session); err != nil {
			return err
		}
		return spend(ctx, tx, budget, lost)
	})
}

func spend(ctx context.Context, tx *sql.Tx, budget string, spent Amount) error {
	_, err := tx.ExecContext(ctx, `UPDATE budgets SET spent_cost = spent_cost + ?, spent_tokens = spent_tokens + ?
		WHERE id = ?`, spent.Cost, spent.Tokens, budget)
	return err
}

func readBudget(ctx context.Context, tx *sql.Tx, id string) (b Budget, err error) {
	b.ID = id
	err = tx.QueryRowContext(ctx, `SELECT cost, tokens, spent_cost, spent_tokens FROM budgets WHERE id = ?`, id).Scan(
		&b.Limit.Cost, &b.Limit.Tokens, &b.Spent.Cost, &b.Spent.Tokens)
	if err != nil {
		return b, err
	}
	err = tx.QueryRowContext(ctx, `SELECT COUNT(*), COALESCE(SUM(cost), 0.0), COALESCE(SUM(tokens), 0)
		FROM budget_holds WHERE budget = ?`, id).Scan(&b.Holds, &b.Held.Cost, &b.Held.Tokens)
	return b, err
}
