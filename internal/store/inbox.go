package store

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"time"
)

// Sent is an event that was sent to a phase.
type Sent struct {
	ID    string
	At    time.Time
	Event []byte
}

// maxEvent bounds what is sent to a phase.
const maxEvent = 1 << 20

// Keep keeps what is sent to a phase until it has read it. Once it is kept, the phase can't end without having read it.
func (s *Store) Keep(ctx context.Context, phase string, v Sent) error {
	if len(v.Event) > maxEvent {
		return fmt.Errorf("what is sent to phase %s has %d bytes, more than %d", phase, len(v.Event), maxEvent)
	}
	_, err := s.db.ExecContext(ctx, `INSERT INTO inbox (phase, id, at, event) VALUES ($1, $2, $3, $4)
		ON CONFLICT (phase, id) DO NOTHING`, phase, v.ID, v.At.UnixNano(), text(string(v.Event)))
	if err != nil {
		return fmt.Errorf("keep what was sent to phase %s: %w", phase, err)
	}
	return nil
}

// Unkeep forgets one thing that was sent to a phase.
func (s *Store) Unkeep(ctx context.Context, phase, id string) error {
	if _, err := s.db.ExecContext(ctx, `DELETE FROM inbox WHERE phase = $1 AND id = $2`, phase, id); err != nil {
		return fmt.Errorf("forget what was sent to phase %s: %w", phase, err)
	}
	return nil
}

// Unread gives what was sent to a phase and is not among what it has seen, in the order in which it was sent. What it
// has seen is forgotten.
func (s *Store) Unread(ctx context.Context, phase string, seen []string) (unread []Sent, err error) {
	all, err := inbox(ctx, s.db, phase)
	if err != nil {
		return nil, err
	}
	for _, v := range all {
		if !slices.Contains(seen, v.ID) {
			unread = append(unread, v)
		} else if err := s.Unkeep(ctx, phase, v.ID); err != nil {
			return nil, err
		}
	}
	return unread, nil
}

func inbox(ctx context.Context, q interface {
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
}, phase string) (all []Sent, err error) {
	rows, err := q.QueryContext(ctx, `SELECT id, at, event FROM inbox WHERE phase = $1 ORDER BY at, id`, phase)
	err = each(rows, err, func() error {
		var v Sent
		var at int64
		var event string
		if err := rows.Scan(&v.ID, &at, &event); err != nil {
			return err
		}
		v.At, v.Event = time.Unix(0, at).UTC(), []byte(event)
		all = append(all, v)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what was sent to phase %s: %w", phase, err)
	}
	return all, nil
}

// EndPhase writes a phase's last record and forgets what was sent to it. If something was sent that it has not seen,
// nothing is written and unread is true, unless the phase ends in any case.
func (s *Store) EndPhase(ctx context.Context, p Phase, seen []string, inAnyCase bool) (unread bool, err error) {
	err = inTx(ctx, s.db, func(tx *sql.Tx) error {
		sent, err := inbox(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		news := slices.ContainsFunc(sent, func(v Sent) bool { return !slices.Contains(seen, v.ID) })
		if unread = news && !inAnyCase; unread {
			return nil
		}
		if err := s.savePhase(ctx, tx, p); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM inbox WHERE phase = $1`, p.ID)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("end phase %s: %w", p.ID, err)
	}
	s.changed()
	return unread, nil
}
