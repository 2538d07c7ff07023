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

// Begin keeps a record unless its key is known, and gives the kept one.
func (j *Journal) Begin(ctx context.Context, r forge.Record) (kept forge.Record, fresh bool, err error) {
	done, err := j.db.ExecContext(ctx, `INSERT INTO forge_writes (`+writeColumns+`)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8) ON CONFLICT (repo, key) DO NOTHING`,
		r.Repo, r.Key, r.Number, string(r.Kind), r.Marker, r.ID, r.URL, stamp(r.Created))
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
	kept, ok, err := scanWrite(j.db.QueryRowContext(ctx, `SELECT `+writeColumns+
		` FROM forge_writes WHERE repo = $1 AND key = $2`, r.Repo, r.Key))
	if err == nil && !ok {
		err = errors.New("its record is gone")
	}
	if err != nil {
		return forge.Record{}, false, fmt.Errorf("begin %s: %w", r.Key, err)
	}
	return kept, false, nil
}

// Try records another attempt, now.
func (j *Journal) Try(ctx context.Context, repo, key string, now time.Time) error {
	res, err := j.db.ExecContext(ctx, `UPDATE forge_writes SET created_at = $1 WHERE repo = $2 AND key = $3`,
		stamp(now), repo, key)
	if err != nil {
		return fmt.Errorf("try %s: %w", key, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("try %s: no such record", key)
	}
	return nil
}

// Finish records where the post is, if that is not known.
func (j *Journal) Finish(ctx context.Context, repo, key, id, url string) error {
	res, err := j.db.ExecContext(ctx, `UPDATE forge_writes SET url = CASE WHEN id = '' THEN $2 ELSE url END,
		id = CASE WHEN id = '' THEN $1 ELSE id END WHERE repo = $3 AND key = $4`, id, url, repo, key)
	if err != nil {
		return fmt.Errorf("finish %s: %w", key, err)
	}
	if n, err := res.RowsAffected(); err != nil || n != 1 {
		return fmt.Errorf("finish %s: no such record", key)
	}
	return nil
}

// ByID finds a record by the id of its post.
func (j *Journal) ByID(ctx context.Context, repo, id string) (forge.Record, bool, error) {
	return scanWrite(j.db.QueryRowContext(ctx, `SELECT `+writeColumns+
		` FROM forge_writes WHERE repo = $1 AND id = $2 AND id <> ''`, repo, id))
}

// ByMarker finds a record by its marker.
func (j *Journal) ByMarker(ctx context.Context, repo, marker string) (forge.Record, bool, error) {
	return scanWrite(j.db.QueryRowContext(ctx, `SELECT `+writeColumns+
		` FROM forge_writes WHERE repo = $1 AND marker = $2`, repo, marker))
}

func scanWrite(row *sql.Row) (r forge.Record, ok bool, err error) {
	var at int64
	var kind string
	err = row.Scan(&r.Repo, &r.Key, &r.Number, &kind, &r.Marker, &r.ID, &r.URL, &at)
	if errors.Is(err, sql.ErrNoRows) {
		return forge.Record{}, false, nil
	}
	if err != nil {
		return forge.Record{}, false, fmt.Errorf("read what was said: %w", err)
	}
	r.Kind, r.Created = forge.CommentKind(kind), unstamp(at)
	return r, true, nil
}
