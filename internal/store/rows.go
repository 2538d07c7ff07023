package store

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strings"
	"time"
)

// querier is a database, or a transaction of it.
type querier interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
	QueryContext(context.Context, string, ...any) (*sql.Rows, error)
	QueryRowContext(context.Context, string, ...any) *sql.Row
}

// all gives what a query finds. Fields are where the columns of a row go.
func all[T any](ctx context.Context, q querier, fields func(*T) []any, query string,
	args ...any) (list []T, err error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, rows.Close()) }()
	for rows.Next() {
		var v T
		if err := rows.Scan(fields(&v)...); err != nil {
			return nil, err
		}
		list = append(list, v)
	}
	return list, rows.Err()
}

// one gives the only row that a query finds, or sql.ErrNoRows.
func one[T any](ctx context.Context, q querier, fields func(*T) []any, query string, args ...any) (v T, err error) {
	err = q.QueryRowContext(ctx, query, args...).Scan(fields(&v)...)
	return v, err
}

// column is the only one of a query.
func column(s *string) []any { return []any{s} }

// insert adds a row to a table, whose columns are those named, in the order of the values.
func insert(ctx context.Context, q querier, table, columns string, values []any) error {
	_, err := q.ExecContext(ctx, `INSERT INTO `+table+` (`+columns+`) VALUES (`+marks(columns)+`)`, values...)
	return err
}

// marks are the places of the values of columns.
func marks(columns string) string { return "?" + strings.Repeat(", ?", strings.Count(columns, ",")) }

// clock is a time as it is kept: in milliseconds, or in other units; 0 is "not yet".
type clock struct {
	at   *time.Time
	unit time.Duration
}

// Value is of driver.Valuer.
func (c clock) Value() (driver.Value, error) {
	if c.at.IsZero() {
		return int64(0), nil
	}
	return c.at.UnixNano() / int64(c.unit), nil
}

// Scan is of sql.Scanner.
func (c clock) Scan(kept any) error {
	*c.at = time.Time{}
	if n, ok := kept.(int64); ok && n != 0 {
		*c.at = time.Unix(0, n*int64(c.unit)).UTC()
	}
	return nil
}

func millis(t *time.Time) clock { return clock{t, time.Millisecond} }
func nanos(t *time.Time) clock  { return clock{t, time.Nanosecond} }

// text is kept as text, whatever Go calls it.
type text []byte

// Value is of driver.Valuer.
func (t *text) Value() (driver.Value, error) { return string(*t), nil }

// Scan is of sql.Scanner.
func (t *text) Scan(kept any) error {
	words, _ := kept.(string) // its column is of texts
	*t = []byte(words)
	return nil
}

// tx does something in one transaction.
func (s *Store) tx(ctx context.Context, do func(*sql.Tx) error) error {
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	if err := do(tx); err != nil {
		_ = tx.Rollback() // whatever comes of it, nothing was written
		return err
	}
	return tx.Commit()
}
