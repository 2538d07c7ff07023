package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Spend is what was used of a model.
type Spend struct {
	Input      int64   `json:"input"`
	Output     int64   `json:"output"`
	CacheRead  int64   `json:"cache_read"`
	CacheWrite int64   `json:"cache_write"`
	Cost       float64 `json:"cost"`               // dollars, 0 if unknown
	Estimate   bool    `json:"estimate,omitempty"` // Cost is one, at least in part
}

// Tokens is the sum of all kinds: all cost money, at different prices.
func (s Spend) Tokens() int64 { return s.Input + s.Output + s.CacheRead + s.CacheWrite }

// Add gives the sum of both.
func (s Spend) Add(o Spend) Spend {
	return Spend{s.Input + o.Input, s.Output + o.Output, s.CacheRead + o.CacheRead, s.CacheWrite + o.CacheWrite,
		s.Cost + o.Cost, s.Estimate || o.Estimate}
}

// Sub gives the difference of s and o. It is an estimate if s is.
func (s Spend) Sub(o Spend) Spend {
	return Spend{s.Input - o.Input, s.Output - o.Output, s.CacheRead - o.CacheRead, s.CacheWrite - o.CacheWrite,
		s.Cost - o.Cost, s.Estimate}
}

// Day names the day on which something is spent, in the user's own time.
func Day(t time.Time) string { return t.Local().Format(time.DateOnly) }

const sums = `COALESCE(SUM(input), 0), COALESCE(SUM(output), 0), COALESCE(SUM(cache_read), 0),
	COALESCE(SUM(cache_write), 0),
	COALESCE(SUM(cost), 0.0),
	COALESCE(MAX(estimate), 0)`

// Account is what something was spent on.
type Account struct {
	Day     string
	Agent   string
	Model   string // "" if nobody said which
	Repo    string // the host repository's top directory
	RepoKey string
	Phase   string // "" if it was none
}

// AddSpend adds to what a session has used of each model on the account's day, and gives what all sessions together
// have used on it.
func (s *Store) AddSpend(ctx context.Context, session string, a Account, models map[string]Spend) (today Spend,
	err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		for model, v := range models {
			if v == (Spend{}) {
				continue
			}
			if _, err := tx.ExecContext(ctx, `
				INSERT INTO spend (session, day, agent, model, repo, repo_key, phase,
				input, output, cache_read, cache_write, cost, estimate)
				VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)
				ON CONFLICT DO UPDATE SET input = input + excluded.input, output = output + excluded.output,
				cache_read = cache_read + excluded.cache_read, cache_write = cache_write + excluded.cache_write,
				cost = cost + excluded.cost,
				estimate = max(estimate, excluded.estimate)`,
				session, a.Day, a.Agent, model, a.Repo, a.RepoKey, a.Phase,
				v.Input, v.Output, v.CacheRead, v.CacheWrite, v.Cost, v.Estimate); err != nil {
				return err
			}
		}
		today, err = spentOn(ctx, tx, a.Day)
		return err
	})
	if err != nil {
		return today, fmt.Errorf("record what session %s has spent: %w", session, err)
	}
	return today, nil
}

// Spent is what was spent on an account.
type Spent struct {
	Account
	Spend
}

// Accounts gives what was spent on each account from a day on, in order.
func (s *Store) Accounts(ctx context.Context, from string) (list []Spent, err error) {
	list, err = all(ctx, s.db, func(v *Spent) []any {
		return append([]any{&v.Day, &v.Agent, &v.Model, &v.Repo, &v.RepoKey, &v.Phase}, v.Spend.fields()...)
	}, `SELECT day, agent, model, MAX(repo), repo_key, phase, `+sums+` FROM spend
		WHERE day >= ? GROUP BY day, agent, model, repo_key, phase ORDER BY day, repo_key, agent, model, phase`, from)
	if err != nil {
		return nil, fmt.Errorf("read what was spent: %w", err)
	}
	return list, nil
}

// SpentOn gives what all sessions together have used on a day.
func (s *Store) SpentOn(ctx context.Context, day string) (Spend, error) {
	v, err := spentOn(ctx, s.db, day)
	if err != nil {
		return v, fmt.Errorf("read what was spent: %w", err)
	}
	return v, nil
}

func spentOn(ctx context.Context, q querier, day string) (Spend, error) {
	return one(ctx, q, (*Spend).fields, `SELECT `+sums+` FROM spend WHERE day = ?`, day)
}

func (s *Spend) fields() []any {
	return []any{&s.Input, &s.Output, &s.CacheRead, &s.CacheWrite, &s.Cost, &s.Estimate}
}

// spent gives what each session has used in all, or only one of them.
func (s *Store) spent(ctx context.Context, id string) (map[string]Spend, error) {
	type row struct {
		session string
		Spend
	}
	rows, err := all(ctx, s.db, func(r *row) []any { return append([]any{&r.session}, r.Spend.fields()...) },
		`SELECT session, `+sums+` FROM spend WHERE home = '' AND (?1 = '' OR session = ?1) GROUP BY session`, id)
	if err != nil {
		return nil, fmt.Errorf("read what was spent: %w", err)
	}
	spent := map[string]Spend{}
	for _, r := range rows {
		spent[r.session] = r.Spend
	}
	return spent, nil
}
