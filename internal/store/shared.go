package store

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"strings"
)

type queryer interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// SchemaError says that a database has a schema which this cco does not know.
type SchemaError struct{ Schema, Known int }

func (e *SchemaError) Error() string {
	if e.Schema < e.Known {
		return fmt.Sprintf("made before the first release (schema %d, that has %d): move it away", e.Schema, e.Known)
	}
	return fmt.Sprintf("made by a newer cco (schema %d, this one knows %d): upgrade cco", e.Schema, e.Known)
}

// first is the schema of the first release, which one file makes. The files of later ones each bring it one further.
const first = 10

// apply carries out the migrations that a database lacks, and refuses one that they don't fit.
func apply(ctx context.Context, tx *sql.Tx, files []string, have int) error {
	if have > 0 && have < first {
		return &SchemaError{Schema: have, Known: first}
	}
	if known := first + len(files) - 1; have > known {
		return &SchemaError{Schema: have, Known: known}
	}
	slices.Sort(files)
	for _, file := range files[max(0, have-first+1):] {
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

// text is how words of strangers are kept: as valid text.
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
