package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Grave is the record of a session's directory in the graveyard.
type Grave struct {
	Session string
	N       int // 1, and more for further graves of the same session
	State   GraveState
	Box     string
	BoxMade time.Time // boxes of the same name come one after the other
	RepoKey string
	Arrived bool   // all of it was elsewhere when it was removed
	Held    string // what was not, for a person
	Bytes   int64
	Buried  time.Time
}

// GraveState is how far a removal or a return has come.
type GraveState string

// The states of a grave.
const (
	Removing GraveState = "removing" // on its way to the graveyard: whatever is in the box has to follow
	Buried   GraveState = "buried"
	Raised   GraveState = "raised" // the session is in a box again: whatever is in the grave has to follow
)

// Name is the name of its directory.
func (g Grave) Name() string {
	if g.N == 1 {
		return g.Session
	}
	return fmt.Sprintf("%s.%d", g.Session, g.N)
}

const graveColumns = `session, n, state, box, box_made_at, repo_key, arrived, held, bytes, buried_at`

func (g *Grave) fields() []any {
	return []any{&g.Session, &g.N, &g.State, &g.Box, millis(&g.BoxMade), &g.RepoKey, &g.Arrived, &g.Held, &g.Bytes,
		millis(&g.Buried)}
}

// AddGraves records removals that begin now, all or none. Who adds them has chosen free numbers.
func (s *Store) AddGraves(ctx context.Context, list ...Grave) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		for _, g := range list {
			if err := insert(ctx, tx, `graves`, graveColumns, g.fields()); err != nil {
				return fmt.Errorf("record the removal of session %s: %w", g.Session, err)
			}
		}
		return nil
	})
}

// SetGraves records how far removals have come, and from which boxes, all or none.
func (s *Store) SetGraves(ctx context.Context, state GraveState, list ...Grave) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		for _, g := range list {
			if _, err := tx.ExecContext(ctx, `UPDATE graves SET state = ?, box = ?, box_made_at = ? WHERE session = ?
				AND n = ?`, state, g.Box, millis(&g.BoxMade), g.Session, g.N); err != nil {
				return fmt.Errorf("record that session %s is %s: %w", g.Session, state, err)
			}
		}
		return nil
	})
}

// RemoveGraves forgets graves whose directories are gone.
func (s *Store) RemoveGraves(ctx context.Context, list ...Grave) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		for _, g := range list {
			if _, err := tx.ExecContext(ctx, `DELETE FROM graves WHERE session = ? AND n = ?`, g.Session, g.N); err != nil {
				return fmt.Errorf("forget the grave of session %s: %w", g.Session, err)
			}
		}
		return nil
	})
}

// Graves lists all graves, or those that are not in a state.
func (s *Store) Graves(ctx context.Context, but GraveState) (list []Grave, err error) {
	list, err = all(ctx, s.db, (*Grave).fields, `SELECT `+graveColumns+` FROM graves WHERE state <> ?
		ORDER BY session, n`, but)
	if err != nil {
		return nil, fmt.Errorf("read the graveyard: %w", err)
	}
	return list, nil
}
