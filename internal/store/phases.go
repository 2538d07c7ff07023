package store

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
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
	defer s.changed()
	return s.tx(ctx, func(tx *sql.Tx) error { return savePhase(ctx, tx, p) })
}

func savePhase(ctx context.Context, tx *sql.Tx, p Phase) error {
	//nolint:gosec // the names of columns are ours
	_, err := tx.ExecContext(ctx, `INSERT INTO phases (`+phaseColumns+`) VALUES (`+marks(phaseColumns)+`)
		ON CONFLICT (id) DO UPDATE SET branch = excluded.branch, kind = excluded.kind, stage = excluded.stage,
		ended = excluded.ended, title = excluded.title, pr_number = excluded.pr_number, pr_url = excluded.pr_url,
		cost = excluded.cost, estimate = excluded.estimate, updated_at = excluded.updated_at, state = excluded.state`,
		p.fields()...)
	for _, line := range p.News {
		if err == nil {
			err = addLine(ctx, tx, p.ID, p.Updated, line)
		}
	}
	if err != nil {
		return fmt.Errorf("record phase %s: %w", p.ID, err)
	}
	return nil
}

// TakenError says that another phase has a pull request.
type TakenError struct{ ID, URL string }

func (e *TakenError) Error() string {
	return fmt.Sprintf("phase %s is at work on %s: `cco cruise resume %[1]s`", e.ID, e.URL)
}

// WrongState marks an error about a state.
func (e *TakenError) WrongState() {}

// BeginPhase records a phase that begins or goes on. A *TakenError says that another living phase has the same pull
// request: two would answer the same comments.
func (s *Store) BeginPhase(ctx context.Context, p Phase) error {
	defer s.changed()
	return s.tx(ctx, func(tx *sql.Tx) error { return begin(ctx, tx, p) })
}

func begin(ctx context.Context, tx *sql.Tx, p Phase) error {
	other, err := one(ctx, tx, column, `SELECT id FROM phases WHERE pr_url = ? AND pr_url <> '' AND NOT ended AND id <> ?`,
		p.PRURL, p.ID)
	switch {
	case err == nil:
		return &TakenError{ID: other, URL: p.PRURL}
	case !errors.Is(err, sql.ErrNoRows):
		return fmt.Errorf("record phase %s: %w", p.ID, err)
	}
	return savePhase(ctx, tx, p)
}

const (
	listColumns = `id, repo, branch, kind, stage, ended, title, pr_number, pr_url, cost, estimate, created_at, updated_at`

	phaseColumns = listColumns + `, state`
)

func (p *Phase) listed() []any {
	return []any{&p.ID, &p.Repo, &p.Branch, &p.Kind, &p.Stage, &p.Ended, &p.Title, &p.PRNumber, &p.PRURL, &p.Cost,
		&p.Estimate, millis(&p.Created), millis(&p.Updated)}
}

func (p *Phase) fields() []any { return append(p.listed(), (*text)(&p.State)) }

// Phase gives one phase with all its state, or a *PhaseNotFoundError.
func (s *Store) Phase(ctx context.Context, id string) (Phase, error) { return readPhase(ctx, s.db, id) }

func readPhase(ctx context.Context, q querier, id string) (Phase, error) {
	p, err := one(ctx, q, (*Phase).fields, `SELECT `+phaseColumns+` FROM phases WHERE id = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return p, &PhaseNotFoundError{ID: id}
	}
	if err != nil {
		return p, fmt.Errorf("read phase %s: %w", id, err)
	}
	return p, nil
}

// PhaseOf gives the newest phase of a branch, the living before the ended.
func (s *Store) PhaseOf(ctx context.Context, repo, branch string) (Phase, error) {
	p, err := one(ctx, s.db, (*Phase).fields, `SELECT `+phaseColumns+` FROM phases WHERE repo = ? AND branch = ?
		ORDER BY ended, created_at DESC LIMIT 1`, repo, branch)
	if errors.Is(err, sql.ErrNoRows) {
		return p, &PhaseNotFoundError{ID: "of branch " + branch}
	}
	if err != nil {
		return p, fmt.Errorf("find the phase of %s: %w", branch, err)
	}
	return p, nil
}

// Phases lists phases without their states, the living first, the newest of each before the others, at most limit.
func (s *Store) Phases(ctx context.Context, limit int) ([]Phase, error) {
	list, err := all(ctx, s.db, (*Phase).listed, `SELECT `+listColumns+`
		FROM phases ORDER BY ended, created_at DESC LIMIT ?`, limit)
	if err != nil {
		return nil, fmt.Errorf("list phases: %w", err)
	}
	return list, nil
}

// Living lists the phases that have not ended, without their states, the newest first.
func (s *Store) Living(ctx context.Context) ([]Phase, error) {
	list, err := all(ctx, s.db, (*Phase).listed, `SELECT `+listColumns+`
		FROM phases WHERE NOT ended ORDER BY created_at DESC`)
	if err != nil {
		return nil, fmt.Errorf("list phases: %w", err)
	}
	return list, nil
}
