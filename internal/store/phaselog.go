package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// Line is one line of a phase's log.
type Line struct {
	At   time.Time `json:"at"`
	Text string    `json:"text"`
}

// Log adds a line to a phase's log.
func (s *Store) Log(ctx context.Context, phase string, now time.Time, words string) error {
	return addLine(ctx, s.db, phase, now, words)
}

func addLine(ctx context.Context, tx interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, phase string, now time.Time, words string) error {
	_, err := tx.ExecContext(ctx, `INSERT INTO phase_log (phase, at, text) VALUES ($1, $2, $3)`, phase, now.UnixNano(),
		text(words))
	if err != nil {
		return fmt.Errorf("add to the log of phase %s: %w", phase, err)
	}
	return nil
}

// ReadLog gives the lines of a phase's log after the first skip.
func (s *Store) ReadLog(ctx context.Context, phase string, skip int) (lines []Line, err error) {
	rows, err := s.db.QueryContext(ctx, `SELECT at, text FROM phase_log WHERE phase = $1 ORDER BY n LIMIT $2 OFFSET $3`,
		phase, 1<<30, skip)
	err = each(rows, err, func() error {
		var l Line
		var at int64
		if err := rows.Scan(&at, &l.Text); err != nil {
			return err
		}
		l.At = time.Unix(0, at).UTC()
		lines = append(lines, l)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the log of phase %s: %w", phase, err)
	}
	return lines, nil
}
