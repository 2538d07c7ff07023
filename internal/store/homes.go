package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"
)

// SavePhaseAnd writes a phase's record together with what must be there with it, or neither.
func (s *Shared) SavePhaseAnd(ctx context.Context, p Phase, and func(*sql.Tx) error) error {
	err := inTx(ctx, s.db, func(tx *sql.Tx) error {
		if err := s.savePhase(ctx, tx, p); err != nil {
			return err
		}
		return and(tx)
	})
	if err != nil {
		return fmt.Errorf("record phase %s: %w", p.ID, err)
	}
	return nil
}

// EndedAt lists phases that a worker still has although they have ended, with the epochs of their homes.
func (s *Shared) EndedAt(ctx context.Context, worker string) (map[string]int64, error) {
	ended := map[string]int64{}
	rows, err := s.db.QueryContext(ctx, `SELECT h.phase, h.epoch FROM homes h JOIN phases p ON p.id = h.phase
		WHERE h.worker = $1 AND NOT h.ended AND p.ended = 1`, worker)
	err = each(rows, err, func() error {
		var id string
		var epoch int64
		if err := rows.Scan(&id, &epoch); err != nil {
			return err
		}
		ended[id] = epoch
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("look for phases that have ended: %w", err)
	}
	return ended, nil
}

// Mail gives everything that was sent to the phases of a worker, in the order in which it was sent.
func (s *Shared) Mail(ctx context.Context, worker string) (map[string][]Sent, error) {
	mail := map[string][]Sent{}
	rows, err := s.db.QueryContext(ctx, `SELECT i.phase, i.id, i.at, i.event FROM inbox i JOIN homes h ON h.phase = i.phase
		WHERE h.worker = $1 AND NOT h.ended AND length(i.event) <= $2 ORDER BY i.at, i.id`, worker, maxEvent)
	err = each(rows, err, func() error {
		var phase, event string
		var v Sent
		var at int64
		if err := rows.Scan(&phase, &v.ID, &at, &event); err != nil {
			return err
		}
		v.At, v.Event = time.Unix(0, at).UTC(), []byte(event)
		mail[phase] = append(mail[phase], v)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read what was sent to phases: %w", err)
	}
	return mail, nil
}

// Names of a phase's bundles.
const (
	BundleStart = "start" // commits of the user's that were never pushed
	BundleWork  = "work"  // what came out of its workspace last
)

// Bundle is commits of a phase that the forge may lack, as git bundles them.
type Bundle struct {
	Phase, Name string
	Base, Head  string // the commits after Base, up to Head
	Epoch       int64
	Data        []byte
}

// PutBundle keeps a bundle in the place of the last one of its name.
func PutBundle(ctx context.Context, tx interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, b Bundle) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO bundles (phase, name, base, head, epoch, kept_at, data)
		VALUES ($1, $2, $3, $4, $5, clock_timestamp(), $6)
		ON CONFLICT (phase, name) DO UPDATE SET base = excluded.base, head = excluded.head,
			epoch = excluded.epoch, kept_at = excluded.kept_at, data = excluded.data`, b.Phase, b.Name, b.Base, b.Head,
		b.Epoch, b.Data)
	if err != nil {
		return fmt.Errorf("keep the commits of phase %s: %w", b.Phase, err)
	}
	return nil
}

// KeepBundle keeps a bundle, if the phase is still at home here.
func (s *Shared) KeepBundle(ctx context.Context, b Bundle) error {
	return s.fenced(ctx, b.Phase, func(tx *sql.Tx) error { return PutBundle(ctx, tx, b) })
}

// LargeError says that the kept commits of a phase are too large for this machine.
type LargeError struct {
	Phase string
	Size  int64
}

func (e *LargeError) Error() string {
	return fmt.Sprintf("the commits of phase %s are %d bytes, more than engine.bundle_max", e.Phase, e.Size)
}

// Bundle gives a phase's bundle of a name, no larger than most; ok says whether there is one.
func (s *Shared) Bundle(ctx context.Context, phase, name string, most int64) (b Bundle, ok bool, err error) {
	b.Phase, b.Name = phase, name
	var size int64
	err = s.db.QueryRowContext(ctx, `SELECT base, head, epoch, octet_length(data) FROM bundles
		WHERE phase = $1 AND name = $2`, phase, name).Scan(&b.Base, &b.Head, &b.Epoch, &size)
	if errors.Is(err, sql.ErrNoRows) {
		return b, false, nil
	}
	if err == nil && size > most {
		return b, false, &LargeError{Phase: phase, Size: size}
	}
	if err == nil {
		err = s.db.QueryRowContext(ctx, `SELECT data FROM bundles
			WHERE phase = $1 AND name = $2 AND octet_length(data) <= $3`, phase, name, most).Scan(&b.Data)
	}
	if err != nil {
		return b, false, fmt.Errorf("read the commits of phase %s: %w", phase, err)
	}
	return b, true, nil
}

// BundleHeads gives the last commits that are kept of some phases' work.
func (s *Shared) BundleHeads(ctx context.Context, phases []string) (map[string]string, error) {
	rows, err := s.db.QueryContext(ctx, `SELECT phase, head FROM bundles WHERE name = $1 AND phase = ANY ($2::text[])`,
		BundleWork, phases)
	if err != nil {
		return nil, fmt.Errorf("look for kept commits: %w", err)
	}
	defer func() { _ = rows.Close() }()
	heads := map[string]string{}
	for rows.Next() {
		var phase, head string
		if err := rows.Scan(&phase, &head); err != nil {
			return nil, err
		}
		heads[phase] = head
	}
	return heads, rows.Err()
}

// DropBundles forgets the bundles of a phase, if it is still at home here.
func (s *Shared) DropBundles(ctx context.Context, phase string) error {
	err := s.fenced(ctx, phase, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `DELETE FROM bundles WHERE phase = $1`, phase)
		return err
	})
	if err != nil {
		return fmt.Errorf("forget the commits of phase %s: %w", phase, err)
	}
	return nil
}

// fenced writes something for a phase, if it is still at home here.
func (s *Shared) fenced(ctx context.Context, phase string, write func(*sql.Tx) error) error {
	return inTx(ctx, s.db, func(tx *sql.Tx) error {
		if s.Fence != nil {
			if err := s.Fence(ctx, tx, phase); err != nil {
				return err
			}
		}
		return write(tx)
	})
}

// KeepHead records a head that is about to be pushed, if the phase is still at home here.
func (s *Shared) KeepHead(ctx context.Context, phase, head string, epoch int64) error {
	err := s.fenced(ctx, phase, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO heads (phase, head, epoch, pushed_at)
			VALUES ($1, $2, $3, clock_timestamp()) ON CONFLICT (phase, head) DO NOTHING`, phase, head, epoch)
		return err
	})
	if err != nil {
		return fmt.Errorf("record a head of phase %s: %w", phase, err)
	}
	return nil
}

// PushedHead says whether a head was pushed for a phase, or was about to be.
func (s *Shared) PushedHead(ctx context.Context, phase, head string) (ok bool, err error) {
	err = s.db.QueryRowContext(ctx, `SELECT EXISTS (SELECT 1 FROM heads WHERE phase = $1 AND head = $2)`, phase,
		head).Scan(&ok)
	if err != nil {
		return false, fmt.Errorf("look for a head of phase %s: %w", phase, err)
	}
	return ok, nil
}
