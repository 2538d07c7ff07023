package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
)

// Shared is what phases need: their records, what was sent to them, their logs, what was said on forges, and what was
// spent. It is part of the local database, or in a PostgreSQL that several machines share; every statement is one that
// both understand.
type Shared struct {
	db *sql.DB
	// Fence, if set, is asked within each transaction that writes a phase's record; its error stops it.
	Fence func(ctx context.Context, tx *sql.Tx, phase string) error

	lockRow string // selects a phase so that nobody else changes or locks it until the end of the transaction
}

const findPhase = `SELECT id FROM phases WHERE id = $1`

// OpenShared uses a PostgreSQL, making or migrating its tables as needed. It is closed with what was opened.
func OpenShared(ctx context.Context, db *sql.DB) (*Shared, error) {
	if err := migratePostgres(ctx, db); err != nil {
		return nil, fmt.Errorf("open the shared database: %w", err)
	}
	return &Shared{db: db, lockRow: findPhase + ` FOR UPDATE`}, nil
}

// DB is the database itself, for what has tables of its own there.
func (s *Shared) DB() *sql.DB { return s.db }

// migrating is the number of the advisory lock that migrations hold.
const migrating = 0x63636f // "cco"

func migratePostgres(ctx context.Context, db *sql.DB) error {
	steps, err := fs.Glob(migrations, "migrations/postgres/*.sql")
	if err != nil {
		return err
	}
	// Most of the time there is nothing to do, and asking takes no lock.
	if have, err := schemaVersion(ctx, db); err == nil && have == len(steps) {
		return nil
	}
	return inTx(ctx, db, func(tx *sql.Tx) error {
		if _, err := tx.ExecContext(ctx, `SELECT pg_advisory_xact_lock($1)`, migrating); err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, `CREATE TABLE IF NOT EXISTS cco_schema (version BIGINT NOT NULL)`); err != nil {
			return err
		}
		have, err := schemaVersion(ctx, tx)
		if err != nil {
			return err
		}
		if err := apply(ctx, tx, steps, have); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM cco_schema`)
		if err == nil {
			_, err = tx.ExecContext(ctx, `INSERT INTO cco_schema VALUES ($1)`, len(steps))
		}
		return err
	})
}

type queryer interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

func schemaVersion(ctx context.Context, q queryer) (n int, err error) {
	err = q.QueryRowContext(ctx, `SELECT COALESCE(MAX(version), 0) FROM cco_schema`).Scan(&n)
	return n, err
}

// NewerError says that a newer cco has made a database.
type NewerError struct{ Schema, Known int }

func (e *NewerError) Error() string {
	return fmt.Sprintf("made by a newer cco (schema %d, this one knows %d): upgrade cco", e.Schema, e.Known)
}

// apply carries out the migrations that a database lacks, and refuses one that has more.
func apply(ctx context.Context, tx *sql.Tx, steps []string, have int) error {
	slices.Sort(steps)
	if have > len(steps) {
		return &NewerError{Schema: have, Known: len(steps)}
	}
	for _, file := range steps[have:] {
		text, err := migrations.ReadFile(file)
		if err != nil {
			return err
		}
		if _, err := tx.ExecContext(ctx, string(text)); err != nil {
			return fmt.Errorf("%s: %w", file, err)
		}
	}
	return nil
}

func inTx(ctx context.Context, db *sql.DB, do func(*sql.Tx) error) error {
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		return errors.Join(err, ignoreDone(tx.Rollback()))
	}
	return tx.Commit()
}

func ignoreDone(err error) error {
	if errors.Is(err, sql.ErrTxDone) {
		return nil
	}
	return err
}

// number is how a truth value is kept.
func number(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// text is how words of strangers are kept: PostgreSQL takes no others.
func text(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// each calls do for each row, and closes them.
func each(rows *sql.Rows, err error, do func() error) error {
	if err != nil {
		return err
	}
	for rows.Next() {
		if err := do(); err != nil {
			return errors.Join(err, rows.Close())
		}
	}
	return errors.Join(rows.Err(), rows.Close())
}
