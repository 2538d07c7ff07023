package store

import (
	"context"
	"fmt"
	"time"
)

// Copy is what the machine that a session of a phase is at home on told of it last.
type Copy struct {
	ID       string    `json:"id"`
	Home     string    `json:"worker"`
	Phase    string    `json:"-"`
	Agent    string    `json:"agent"`
	State    State     `json:"state"`
	Cost     float64   `json:"cost"`
	Estimate bool      `json:"estimate,omitempty"`
	Tokens   int64     `json:"tokens"`
	Told     time.Time `json:"told"`
	// Silence is how long nothing was heard of its machine, which alone knows whether the session still runs.
	Silence time.Duration `json:"-"`
	Silent  bool          `json:"silent,omitempty"` // for longer than machines are
}

// CopySessions tells the shared database of sessions of phases of this machine: which there are, and those that have
// changed.
func (s *Shared) CopySessions(ctx context.Context, home string, all []string, changed []Copy) error {
	var ids, phases, agents, states []string
	var costs []float64
	var estimates []bool
	var tokens []int64
	for _, c := range changed {
		ids, phases, agents = append(ids, c.ID), append(phases, c.Phase), append(agents, text(c.Agent))
		states, costs = append(states, string(c.State)), append(costs, c.Cost)
		estimates, tokens = append(estimates, c.Estimate), append(tokens, c.Tokens)
	}
	_, err := s.db.ExecContext(ctx, `WITH gone AS (
			DELETE FROM sessions WHERE home = $1 AND NOT session = ANY ($2::text[])
		)
		INSERT INTO sessions (home, session, phase, agent, state, cost, estimate, tokens, told_at)
		SELECT $1, u.*, clock_timestamp() FROM unnest($3::text[], $4::text[], $5::text[], $6::text[], $7::float8[],
			$8::boolean[], $9::bigint[]) u
		ON CONFLICT (home, session) DO UPDATE SET phase = excluded.phase, agent = excluded.agent, state = excluded.state,
			cost = excluded.cost, estimate = excluded.estimate, tokens = excluded.tokens, told_at = excluded.told_at`,
		home, append([]string{}, all...), ids, phases, agents, states, costs, estimates, tokens)
	if err != nil {
		return fmt.Errorf("tell others of sessions: %w", err)
	}
	return nil
}

// Copies gives what all machines told of the sessions of a phase, as far as it can be, those at home on one machine
// together.
func (s *Shared) Copies(ctx context.Context, phase string) (list []Copy, err error) {
	const most = 1000
	rows, err := s.db.QueryContext(ctx, `SELECT s.session, s.home, s.phase, s.agent, s.state, s.cost, s.estimate,
			s.tokens, least(greatest(s.told_at, 'epoch'), clock_timestamp()),
			COALESCE(extract(epoch FROM clock_timestamp() - greatest(w.beat_at, 'epoch'))::float8, 1e9)
		FROM sessions s LEFT JOIN workers w ON w.id = s.home
			AND w.beat_at < clock_timestamp() + interval '1 hour' -- a later one was never made
		WHERE s.phase = $1 AND length(s.session || s.home || s.agent || s.state) < 1000
			AND s.cost >= 0 AND s.cost < 1e9 AND s.tokens >= 0
		ORDER BY s.home, s.session LIMIT $2`, phase, most)
	err = each(rows, err, func() error {
		var c Copy
		var silence float64
		if err := rows.Scan(&c.ID, &c.Home, &c.Phase, &c.Agent, &c.State, &c.Cost, &c.Estimate, &c.Tokens, &c.Told,
			&silence); err != nil {
			return err
		}
		c.Silence = time.Duration(silence * float64(time.Second))
		list = append(list, c)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what machines told of sessions: %w", err)
	}
	return list, nil
}
