package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// Journal is the record of what we said on forges.
type Journal struct{ db *sql.DB }

// Journal gives the record of what we said on forges.
func (s *Store) Journal() *Journal { return &Journal{s.db} }

const writeColumns = `repo, key, number, kind, marker, id, url, created_at`

func writeFields(r *forge.Record) []any {
	return []any{&r.Repo, &r.Key, &r.Number, &r.Kind, &r.Marker, &r.ID, &r.URL, millis(&r.Created)}
}

// Begin keeps a record unless its key is known, and gives the kept one.
func (j *Journal) Begin(ctx context.Context, r forge.Record) (kept forge.Record, fresh bool, err error) {
	//nolint:gosec // the names of columns are ours
	done, err := j.db.ExecContext(ctx, `INSERT INTO forge_writes (`+writeColumns+`) VALUES (`+marks(writeColumns)+`)
		ON CONFLICT (repo, key) DO NOTHING`, writeFields(&r)...)
	var n int64
	if err == nil {
		n, err = done.RowsAffected()
	}
	if err != nil {
		return forge.Record{}, false, fmt.Errorf("begin %s: %w", r.Key, err)
	}
	if n == 1 {
		return r, true, nil
	}
	kept, err = one(ctx, j.db, writeFields, `SELECT `+writeColumns+` FROM forge_writes WHERE repo = ? AND key = ?`,
		r.Repo, r.Key)
	if err != nil {
		return forge.Record{}, false, fmt.Errorf("begin %s: %w", r.Key, err)
	}
	return kept, false, nil
}

// Try records another attempt, now.
func (j *Journal) Try(ctx context.Context, repo, key string, now time.Time) error {
	return j.update(ctx, "try "+key, `UPDATE forge_writes SET created_at = ? WHERE repo = ? AND key = ?`,
		millis(&now), repo, key)
}

// Finish records where the post is, if that is not known.
func (j *Journal) Finish(ctx context.Context, repo, key, id, url string) error {
	return j.update(ctx, "finish "+key, `UPDATE forge_writes SET url = CASE WHEN id = '' THEN ? ELSE url END,
		id = CASE WHEN id = '' THEN ? ELSE id END WHERE repo = ? AND key = ?`, url, id, repo, key)
}

// update changes a record that there must be.
func (j *Journal) update(ctx context.Context, what, query string, args ...any) error {
	res, err := j.db.ExecContext(ctx, query, args...)
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("%s: no such record", what)
	}
	return nil
}

// ByID finds a record by the id of its post.
func (j *Journal) ByID(ctx context.Context, repo, id string) (forge.Record, bool, error) {
	return j.find(ctx, `repo = ? AND id = ? AND id <> ''`, repo, id)
}

// ByMarker finds a record by its marker.
func (j *Journal) ByMarker(ctx context.Context, repo, marker string) (forge.Record, bool, error) {
	return j.find(ctx, `repo = ? AND marker = ?`, repo, marker)
}

func (j *Journal) find(ctx context.Context, where, repo, what string) (r forge.Record, ok bool, err error) {
	r, err = one(ctx, j.db, writeFields, `SELECT `+writeColumns+` FROM forge_writes WHERE `+where, repo, what)
	if errors.Is(err, sql.ErrNoRows) {
		return r, false, nil
	}
	if err != nil {
		return r, false, fmt.Errorf("read what was said: %w", err)
	}
	return r, true, nil
}
