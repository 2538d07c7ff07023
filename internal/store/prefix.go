package store

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

// AmbiguousError says that several sessions or phases have an id that begins as was given.
type AmbiguousError struct {
	Begun string
	IDs   []string // the newest first
}

func (e *AmbiguousError) Error() string {
	return fmt.Sprintf("%q is the beginning of several ids: %s", e.Begun, strings.Join(e.IDs, ", "))
}

// SessionID gives the id of the one session whose id begins as was given.
func (s *Store) SessionID(ctx context.Context, begun string) (string, error) {
	id, err := whole(ctx, s.db, `SELECT id FROM sessions`+begins, begun)
	if err == nil && id == "" {
		err = &NotFoundError{ID: begun}
	}
	return id, err
}

// PhaseID gives the id of the one phase whose id begins as was given.
func (s *Store) PhaseID(ctx context.Context, begun string) (string, error) {
	id, err := whole(ctx, s.db, `SELECT id FROM phases`+begins, begun)
	if err == nil && id == "" {
		err = &PhaseNotFoundError{ID: begun}
	}
	return id, err
}

const begins = ` WHERE substr(id, 1, length(CAST($1 AS TEXT))) = $1 ORDER BY id = $1 DESC, created_at DESC LIMIT 6`

// whole gives the one id that a query finds, "" if there is none.
func whole(ctx context.Context, db *sql.DB, query, begun string) (string, error) {
	ids, err := all(ctx, db, column, query, begun)
	switch {
	case err != nil:
		return "", fmt.Errorf("find %q: %w", begun, err)
	case len(ids) == 0:
		return "", nil
	case len(ids) > 1 && ids[0] != begun:
		return "", &AmbiguousError{Begun: begun, IDs: ids}
	}
	return ids[0], nil
}
