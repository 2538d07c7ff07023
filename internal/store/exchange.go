package store

import (
	"context"
	"database/sql"
	"fmt"
	"math"
	"slices"
)

// entry is what a session spent of a model on a day, and where.
type entry struct {
	home, session string
	Spent
}

// sane says whether what another machine says that it spent can be: anything else would hide what was spent, or stand
// for what this machine has.
func (e entry) sane() bool {
	return e.home != "" && e.Cost >= 0 && !math.IsInf(e.Cost, 0) && min(e.Input, e.Output, e.CacheRead, e.CacheWrite) >= 0
}

// Bounds of what is believed to have been spent by others.
const (
	maxEntries = 100_000
	maxName    = 1000 // characters
)

// entries gives what was spent from a day on, by one home or by all others.
func (s *Shared) entries(ctx context.Context, from, home string, others bool) (all []entry, err error) {
	which := `home = $2`
	if others {
		// Who can write there must neither change what is known of this machine's own, whose home is '' here, nor fill it.
		which = `home NOT IN ($2, '') AND length(home || session || agent || model || repo_key || phase) < 1000
			AND length(repo) < 5000 AND length(day) = 10 AND cost >= 0 AND cost < 1e9
			AND input >= 0 AND output >= 0 AND cache_read >= 0 AND cache_write >= 0`
	}
	rows, err := s.db.QueryContext(ctx, `SELECT substr(home, 1, $3), substr(session, 1, $3), substr(day, 1, $3),
		substr(agent, 1, $3), substr(model, 1, $3), substr(repo, 1, $3), substr(repo_key, 1, $3), substr(phase, 1, $3),
		input, output, cache_read, cache_write, cost, estimate FROM spend WHERE day >= $1 AND `+which+`
		ORDER BY day DESC, cost DESC LIMIT $4`, from, home, maxName, maxEntries)
	err = each(rows, err, func() error {
		var e entry
		if err := rows.Scan(&e.home, &e.session, &e.Day, &e.Agent, &e.Model, &e.Repo, &e.RepoKey, &e.Phase,
			&e.Input, &e.Output, &e.CacheRead, &e.CacheWrite, &e.Cost, &e.Estimate); err != nil {
			return err
		}
		all = append(all, e)
		return nil
	})
	return all, err
}

// put writes what was spent in the place of what was known of it.
func (s *Shared) put(ctx context.Context, all []entry) error {
	if len(all) == 0 {
		return nil
	}
	return inTx(ctx, s.db, func(tx *sql.Tx) error {
		for _, e := range all {
			if _, err := tx.ExecContext(ctx, `INSERT INTO spend (home, session, day, agent, model, repo, repo_key, phase,
				input, output, cache_read, cache_write, cost, estimate)
				VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
				ON CONFLICT (home, session, day, agent, model) DO UPDATE SET input = excluded.input, output = excluded.output,
				cache_read = excluded.cache_read, cache_write = excluded.cache_write, cost = excluded.cost,
				estimate = excluded.estimate`,
				e.home, e.session, e.Day, text(e.Agent), text(e.Model), text(e.Repo), e.RepoKey, e.Phase,
				e.Input, e.Output, e.CacheRead, e.CacheWrite, e.Cost, number(e.Estimate)); err != nil {
				return err
			}
		}
		return nil
	})
}

// ExchangeSpend tells the shared database what this machine has spent from a day on, and notes here what the others
// have: limits of a day, which keepers look at here alone, then hold over all of them.
func (s *Store) ExchangeSpend(ctx context.Context, home, from string) error {
	if !s.IsShared() {
		return nil
	}
	ours, err := s.local.entries(ctx, from, "", false)
	for i := range ours {
		ours[i].home = home
	}
	if err == nil {
		err = s.put(ctx, ours)
	}
	var theirs []entry
	if err == nil {
		theirs, err = s.entries(ctx, from, home, true)
	}
	if err == nil {
		theirs = slices.DeleteFunc(theirs, func(e entry) bool { return !e.sane() })
		err = s.local.put(ctx, theirs)
	}
	if err != nil {
		return fmt.Errorf("exchange what was spent: %w", err)
	}
	return nil
}
