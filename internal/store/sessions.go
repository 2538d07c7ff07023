package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// Session is the record of one hand-off.
type Session struct {
	ID       string    `json:"id"`
	Box      string    `json:"box"`
	Backend  string    `json:"backend"`
	Agent    string    `json:"agent"`
	Model    string    `json:"model,omitempty"`
	Repo     string    `json:"repo"` // the host repository's top directory
	RepoKey  string    `json:"-"`
	Branch   string    `json:"branch"`
	Base     string    `json:"base"`   // the commit that both sides have
	Origin   string    `json:"origin"` // the base of its first run
	Plan     string    `json:"plan"`   // as the agent sees it
	Title    string    `json:"title,omitempty"`
	State    State     `json:"state"`
	Reason   string    `json:"reason,omitempty"` // for a person
	Cause    Cause     `json:"-"`                // of the state, if a decision depends on it
	Tip      string    `json:"tip,omitempty"`    // what was last brought to the host
	Wip      string    `json:"wip,omitempty"`
	ExitCode int       `json:"exit_code"`
	Created  time.Time `json:"created"`
	Started  time.Time `json:"started,omitzero"`
	Finished time.Time `json:"finished,omitzero"`
	Pulled   time.Time `json:"pulled,omitzero"`

	CLISession string    `json:"cli_session,omitempty"` // what the agent's CLI calls its conversation, to go on with it
	CLITotal   string    `json:"-"`                     // what that CLI had counted at the end of its last run
	Question   string    `json:"question,omitempty"`    // the agent's question to a person
	Asked      time.Time `json:"asked,omitzero"`        // when it asked, or came to its prompt
	Spent      Spend     `json:"spent"`                 // by all of its runs; kept by AddSpend
}

// State is the state of a session.
type State string

// The states of a session.
const (
	Created State = "created" // recorded, its keeper not yet at work
	Running State = "running"
	Idle    State = "idle"    // running, and its agent sits at its prompt
	Waiting State = "waiting" // for a person
	Paused  State = "paused"  // by a limit
	Done    State = "done"
	Failed  State = "failed"
	Killed  State = "killed"
	Pulled  State = "pulled"
)

// States are all states, in the order in which a session can have them.
func States() []State {
	return []State{Created, Running, Idle, Waiting, Paused, Done, Failed, Killed, Pulled}
}

// Cause is why a session is in its state, for decisions. Those of limits are the names of their settings.
type Cause string

// The causes.
const (
	Interrupted    Cause = "interrupted" // its keeper was killed, which says nothing about its agent
	LimitRunCost   Cause = "limits.run_cost"
	LimitRunTokens Cause = "limits.run_tokens"
	LimitDayCost   Cause = "limits.day_cost"
	LimitDayTokens Cause = "limits.day_tokens"
	LimitBudget    Cause = "budget" // that it shares with other sessions
)

// Live says whether a session has a keeper. One that waits may or may not: its agent may still be there, or may have
// ended and is started again when the answer has come.
func (v Session) Live() bool {
	return v.State == Created || v.State == Running || v.State == Idle || v.State == Waiting && v.Finished.IsZero()
}

// Ran is how long the session's last run took, or has taken until now.
func (v Session) Ran(now time.Time) time.Duration {
	switch {
	case v.Started.IsZero():
		return 0
	case v.Live():
		return max(0, now.Sub(v.Started))
	}
	return max(0, v.Finished.Sub(v.Started))
}

// NotFoundError names a session that was never recorded.
type NotFoundError struct{ ID string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no session %q, see `cco box sessions`", e.ID)
}

const columns = `id, box, backend, agent, model, repo, repo_key, branch, base, origin, plan, title, state, reason, tip,
	wip, exit_code, created_at, started_at, finished_at, pulled_at, cli_session, cli_total, question, asked_at, cause`

func (v *Session) fields() []any {
	return []any{&v.ID, &v.Box, &v.Backend, &v.Agent, &v.Model, &v.Repo, &v.RepoKey, &v.Branch, &v.Base, &v.Origin,
		&v.Plan, &v.Title, &v.State, &v.Reason, &v.Tip, &v.Wip, &v.ExitCode, millis(&v.Created), millis(&v.Started),
		millis(&v.Finished), millis(&v.Pulled), &v.CLISession, &v.CLITotal, &v.Question, millis(&v.Asked), &v.Cause}
}

// AddSession records a new session. An id that is taken is an error.
func (s *Store) AddSession(ctx context.Context, v Session) error {
	if err := insert(ctx, s.db, `sessions`, columns, v.fields()); err != nil {
		return fmt.Errorf("record session %s: %w", v.ID, err)
	}
	s.changed()
	return nil
}

// Session reads one session.
func (s *Store) Session(ctx context.Context, id string) (Session, error) {
	v, err := readSession(ctx, s.db, id)
	if err != nil {
		return v, err
	}
	return s.withSpend(ctx, v)
}

func readSession(ctx context.Context, q querier, id string) (Session, error) {
	v, err := one(ctx, q, (*Session).fields, `SELECT `+columns+` FROM sessions WHERE id = ?`, id)
	if errors.Is(err, sql.ErrNoRows) {
		return v, &NotFoundError{ID: id}
	}
	if err != nil {
		return v, fmt.Errorf("read session %s: %w", id, err)
	}
	return v, nil
}

func (s *Store) withSpend(ctx context.Context, v Session) (Session, error) {
	spent, err := s.spent(ctx, v.ID)
	v.Spent = spent[v.ID]
	return v, err
}

// Sessions lists the sessions of a box, or all for "", newest first.
func (s *Store) Sessions(ctx context.Context, box string) ([]Session, error) {
	spent, err := s.spent(ctx, "")
	if err != nil {
		return nil, err
	}
	list, err := all(ctx, s.db, (*Session).fields, `SELECT `+columns+` FROM sessions WHERE ?1 = '' OR box = ?1
		ORDER BY created_at DESC, id`, box)
	if err != nil {
		return nil, fmt.Errorf("list sessions: %w", err)
	}
	for i := range list {
		list[i].Spent = spent[list[i].ID]
	}
	return list, nil
}

// UpdateSession changes a session in one transaction. If change gives an error, nothing is written. It gives the
// session as it would be read, because its times are compared with later reads.
func (s *Store) UpdateSession(ctx context.Context, id string, change func(*Session) error) (v Session, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		if v, err = readSession(ctx, tx, id); err != nil {
			return err
		}
		if err := change(&v); err != nil {
			return err
		}
		//nolint:gosec // the names of columns are ours
		_, err := tx.ExecContext(ctx, `UPDATE sessions SET (`+columns+`) = (`+marks(columns)+`) WHERE id = ?`,
			append(v.fields(), id)...)
		if err == nil {
			v, err = readSession(ctx, tx, id)
		}
		return err
	})
	if err != nil {
		return v, err
	}
	s.changed()
	return s.withSpend(ctx, v)
}

// RemoveSessions forgets sessions, after their last traces on disk are gone.
func (s *Store) RemoveSessions(ctx context.Context, ids ...string) error {
	defer s.changed()
	return s.tx(ctx, func(tx *sql.Tx) error {
		for _, id := range ids {
			if _, err := tx.ExecContext(ctx, `DELETE FROM sessions WHERE id = ?`, id); err != nil {
				return fmt.Errorf("forget session %s: %w", id, err)
			}
		}
		return nil
	})
}
