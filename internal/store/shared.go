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
