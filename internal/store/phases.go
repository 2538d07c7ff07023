package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
)

// EngineSocket is where the engine that runs phases listens, in the data directory.
const EngineSocket = "cco.sock"

// Phase is the record of a phase as people see it.
type Phase struct {
	ID       string          `json:"id"`
	Repo     string          `json:"repo"`
	Branch   string          `json:"branch"`
	Kind     string          `json:"phase"`
	Stage    string          `json:"stage"`
	Ended    bool            `json:"ended"`
	Title    string          `json:"title"`
	PRNumber int             `json:"pr_number,omitempty"`
	PRURL    string          `json:"pr_url,omitempty"`
	Cost     float64         `json:"cost"`
	Estimate bool            `json:"estimate,omitempty"` // Cost is one
	Created  time.Time       `json:"created"`
	Updated  time.Time       `json:"updated"`
	State    json.RawMessage `json:"-"` // all of it, for one phase; not in listings
	// News are lines for the phase's log. They are written together with the record: whoever has read that it ended finds
	// how in the log.
	News []string `json:"-"`
}

// Far says whether the phase is one of those that machines share: it knows its repository by the address.
func (p Phase) Far() bool { return strings.Contains(p.Repo, "://") }

// PhaseNotFoundError names a phase that there is no record of, and others that may be meant.
type PhaseNotFoundError struct {
	ID     string
	Others []Phase
}

func (e *PhaseNotFoundError) Error() string {
	if len(e.Others) == 0 {
		return fmt.Sprintf("no phase %s, see `cco cruise list`", e.ID)
	}
	var b strings.Builder
	fmt.Fprintf(&b, "no phase %s: name one of these", e.ID)
	for _, p := range e.Others {
		fmt.Fprintf(&b, "\n  %s  %s  %s  %s", p.ID, p.Stage, p.Branch, p.Title)
	}
	return b.String()
}

// SavePhase writes a phase's record, new or not. The time at which it was created stays.
func (s *Store) SavePhase(ctx context.Context, p Phase) error {
	if err := inTx(ctx, s.db, func(tx *sql.Tx) error { return s.savePhase(ctx, tx, p) }); err != nil {
		return fmt.Errorf("record phase %s: %w", p.ID, err)
	}
	s.changed()
	return nil
}

func (s *Store) savePhase(ctx context.Context, tx *sql.Tx, p Phase) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO phases
		(id, repo, branch, kind, stage, ended, title, pr_number, pr_url, cost, estimate, created_at, updated_at, state)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14)
		ON CONFLICT (id) DO UPDATE SET branch = excluded.branch, kind = excluded.kind,
			stage = excluded.stage, ended = excluded.ended,
		title = excluded.title, pr_number = excluded.pr_number, pr_url = excluded.pr_url, cost = excluded.cost,
		estimate = excluded.estimate,
		updated_at = excluded.updated_at, state = excluded.state`,
		p.ID, text(p.Repo), text(p.Branch), p.Kind, p.Stage, number(p.Ended), text(p.Title), p.PRNumber, text(p.PRURL),
		p.Cost, number(p.Estimate), p.Created.UnixMilli(), p.Updated.UnixMilli(), text(string(p.State)))
	for _, line := range p.News {
		if err == nil {
			err = addLine(ctx, tx, p.ID, p.Updated, line)
		}
	}
	return err
}

// MaxState bounds the state of a phase that is read: whoever wrote more of it did not do so for us.
const MaxState = 16 << 20

// phaseColumns are bounded: others may have written them.
const phaseColumns = `substr(id, 1, 64), substr(repo, 1, 4096), substr(branch, 1, 4096), substr(kind, 1, 64), ` +
	`substr(stage, 1, 64), ended, substr(title, 1, 4096), pr_number, substr(pr_url, 1, 4096), cost, estimate, ` +
	`created_at, updated_at`

// Phase gives one phase with all its state, or a *PhaseNotFoundError.
func (s *Store) Phase(ctx context.Context, id string) (Phase, error) {
	return readPhase(ctx, s.db, id)
}

func readPhase(ctx context.Context, q queryer, id string) (Phase, error) {
	var state string
	p, err := scanPhase(q.QueryRowContext(ctx, `SELECT `+phaseColumns+`,
		CASE WHEN length(state) <= $2 THEN state ELSE '' END FROM phases WHERE id = $1`, id, MaxState), &state)
	if errors.Is(err, sql.ErrNoRows) {
		return p, &PhaseNotFoundError{ID: id}
	}
	if err != nil {
		return p, fmt.Errorf("read phase %s: %w", id, err)
	}
	p.State = json.RawMessage(state)
	return p, nil
}

// PhaseOf gives the newest phase of a branch, the living before the ended.
func (s *Store) PhaseOf(ctx context.Context, repo, branch string) (Phase, error) {
	var id string
	err := s.db.QueryRowContext(ctx, `SELECT id FROM phases WHERE repo = $1 AND branch = $2 ORDER BY ended, created_at `+
		`DESC LIMIT 1`, repo, branch).Scan(&id)
	if errors.Is(err, sql.ErrNoRows) {
		return Phase{}, &PhaseNotFoundError{ID: "of branch " + branch}
	}
	if err != nil {
		return Phase{}, fmt.Errorf("find the phase of %s: %w", branch, err)
	}
	return s.Phase(ctx, id)
}

// Phases lists phases without their states, the living first, the newest of each before the others, at most limit.
func (s *Store) Phases(ctx context.Context, limit int) (list []Phase, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT `+phaseColumns+
		` FROM phases ORDER BY ended, created_at DESC LIMIT $1`, limit)
	if err != nil {
		return nil, fmt.Errorf("list phases: %w", err)
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		p, err := scanPhase(rows)
		if err != nil {
			return nil, fmt.Errorf("list phases: %w", err)
		}
		list = append(list, p)
	}
	return list, rows.Err()
}

// RemovePhase forgets a phase.
func (s *Store) RemovePhase(ctx context.Context, id string) error {
	err := inTx(ctx, s.db, func(tx *sql.Tx) error {
		for _, stmt := range []string{`DELETE FROM phases WHERE id = $1`, `DELETE FROM inbox WHERE phase = $1`,
			`DELETE FROM phase_log WHERE phase = $1`} {
			if _, err := tx.ExecContext(ctx, stmt, id); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("forget phase %s: %w", id, err)
	}
	s.changed()
	return nil
}

type scanner interface{ Scan(...any) error }

func scanPhase(row scanner, more ...any) (p Phase, err error) {
	var created, updated int64
	err = row.Scan(append([]any{&p.ID, &p.Repo, &p.Branch, &p.Kind, &p.Stage, &p.Ended, &p.Title, &p.PRNumber, &p.PRURL,
		&p.Cost, &p.Estimate, &created, &updated}, more...)...)
	p.Created, p.Updated = time.UnixMilli(bounded(created)), time.UnixMilli(bounded(updated))
	if math.IsNaN(p.Cost) || math.IsInf(p.Cost, 0) {
		p.Cost = 0
	}
	return p, err
}

// bounded keeps a time in milliseconds among those that can be written down, up to the year 9999.
func bounded(ms int64) int64 { return min(max(ms, 0), 253_370_764_800_000) }
