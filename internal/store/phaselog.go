package store

import (
	"context"
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

func addLine(ctx context.Context, q querier, phase string, now time.Time, words string) error {
	err := insert(ctx, q, `phase_log`, `phase, at, text`, []any{phase, nanos(&now), words})
	if err != nil {
		return fmt.Errorf("add to the log of phase %s: %w", phase, err)
	}
	return nil
}

// ReadLog gives the lines of a phase's log after the first skip.
func (s *Store) ReadLog(ctx context.Context, phase string, skip int) ([]Line, error) {
	lines, err := all(ctx, s.db, func(l *Line) []any { return []any{nanos(&l.At), &l.Text} },
		`SELECT at, text FROM phase_log WHERE phase = ? ORDER BY n LIMIT -1 OFFSET ?`, phase, skip)
	if err != nil {
		return nil, fmt.Errorf("read the log of phase %s: %w", phase, err)
	}
	return lines, nil
}
