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
	return keep(ctx, s.db, phase, v)
}

func keep(ctx context.Context, q querier, phase string, v Sent) error {
	if len(v.Event) > maxEvent {
		return fmt.Errorf("what is sent to phase %s has %d bytes, more than %d", phase, len(v.Event), maxEvent)
	}
	_, err := q.ExecContext(ctx, `INSERT INTO inbox (phase, id, at, event) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`,
		phase, v.ID, nanos(&v.At), string(v.Event))
	if err != nil {
		return fmt.Errorf("keep what was sent to phase %s: %w", phase, err)
	}
	return nil
}

// Send keeps what is sent to a phase. If that has ended, revive says how it goes on: then it is recorded so, as Begin
// does.
func (s *Store) Send(ctx context.Context, phase string, v Sent, revive func(Phase) (Phase, error)) error {
	defer s.changed()
	return s.tx(ctx, func(tx *sql.Tx) error {
		p, err := readPhase(ctx, tx, phase)
		if err == nil && p.Ended {
			if p, err = revive(p); err == nil {
				err = begin(ctx, tx, p)
			}
		}
		if err != nil {
			return err
		}
		return keep(ctx, tx, phase, v)
	})
}

// Unread gives what was sent to a phase and is not among what it has seen, in the order in which it was sent. What it
// has seen is forgotten.
func (s *Store) Unread(ctx context.Context, phase string, seen []string) ([]Sent, error) {
	sent, err := inbox(ctx, s.db, phase)
	for _, v := range sent {
		if err == nil && slices.Contains(seen, v.ID) {
			_, err = s.db.ExecContext(ctx, `DELETE FROM inbox WHERE phase = ? AND id = ?`, phase, v.ID)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("read what was sent to phase %s: %w", phase, err)
	}
	return unread(sent, seen), nil
}

func unread(sent []Sent, seen []string) []Sent {
	return slices.DeleteFunc(sent, func(v Sent) bool { return slices.Contains(seen, v.ID) })
}

func inbox(ctx context.Context, q querier, phase string) ([]Sent, error) {
	return all(ctx, q, func(v *Sent) []any { return []any{&v.ID, nanos(&v.At), &v.Event} },
		`SELECT id, at, event FROM inbox WHERE phase = ? ORDER BY at, id`, phase)
}

// EndPhase writes a phase's last record and forgets what was sent to it. If something was sent that it has not seen,
// nothing is written and news is true, unless the phase ends in any case.
func (s *Store) EndPhase(ctx context.Context, p Phase, seen []string, inAnyCase bool) (news bool, err error) {
	err = s.tx(ctx, func(tx *sql.Tx) error {
		sent, err := inbox(ctx, tx, p.ID)
		if err != nil {
			return err
		}
		if news = len(unread(sent, seen)) > 0 && !inAnyCase; news {
			return nil
		}
		if err := savePhase(ctx, tx, p); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM inbox WHERE phase = ?`, p.ID)
		return err
	})
	if err != nil {
		return false, fmt.Errorf("end phase %s: %w", p.ID, err)
	}
	s.changed()
	return news, nil
}
