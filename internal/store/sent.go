package store

import (
	"context"
	"database/sql"
	"fmt"
	"time"
)

// keptTips bounds how many commits are remembered for each repository of a box: the newest are enough.
const keptTips = 64

// Sent lists the commits of a repository that a box is known to have, newest first.
func (s *Store) Sent(ctx context.Context, box, repoKey string) (shas []string, err error) {
	shas, err = all(ctx, s.db, column, `SELECT sha FROM sent WHERE box = ? AND repo_key = ? ORDER BY sent_at DESC`,
		box, repoKey)
	if err != nil {
		return nil, fmt.Errorf("read what box %s has: %w", box, err)
	}
	return shas, nil
}

// MarkSent records that a box has a commit and all its history.
func (s *Store) MarkSent(ctx context.Context, box, repoKey, sha string, at time.Time) error {
	return s.tx(ctx, func(tx *sql.Tx) error {
		_, err := tx.ExecContext(ctx, `INSERT INTO sent (box, repo_key, sha, sent_at) VALUES (?, ?, ?, ?)
			ON CONFLICT DO UPDATE SET sent_at = excluded.sent_at`, box, repoKey, sha, millis(&at))
		if err != nil {
			return fmt.Errorf("record what box %s has: %w", box, err)
		}
		_, err = tx.ExecContext(ctx, `DELETE FROM sent WHERE box = ?1 AND repo_key = ?2 AND sha NOT IN
			(SELECT sha FROM sent WHERE box = ?1 AND repo_key = ?2 ORDER BY sent_at DESC LIMIT ?3)`, box, repoKey, keptTips)
		return err
	})
}

// ForgetSent forgets what a box has of one repository, or of all for "".
func (s *Store) ForgetSent(ctx context.Context, box, repoKey string) error {
	_, err := s.db.ExecContext(ctx, `DELETE FROM sent WHERE box = ?1 AND (?2 = '' OR repo_key = ?2)`, box, repoKey)
	if err != nil {
		return fmt.Errorf("forget what box %s has: %w", box, err)
	}
	return nil
}
