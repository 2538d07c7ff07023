// Package store keeps what must outlive every process in SQLite: sessions, what each box has been sent, and what phases
// need.
package store

import (
	"context"
	"database/sql"
	"embed"
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"time"

	sqlite3 "modernc.org/sqlite/lib"
)

//go:embed migrations/*.sql
var migrations embed.FS

// Store is shared by every cco process on the same data directory.
type Store struct {
	db   *sql.DB
	path string
}

// patience is how long a process waits for others that have the database.
const patience = 20 * time.Second

// Open opens the database, making or migrating it as needed.
func Open(ctx context.Context, path string) (*Store, error) {
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	// SQLite makes files that others can read; the files of its write-ahead log get the permissions of this one.
	if err := private(path); err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	// synchronous=FULL: a session that was announced must be there after a power cut.
	dsn := fmt.Sprintf("file:%s?_pragma=busy_timeout(%d)", (&url.URL{Path: path}).EscapedPath(), patience.Milliseconds()) +
		"&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)&_pragma=foreign_keys(1)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open store: %w", err)
	}
	db.SetMaxOpenConns(1)
	s := &Store{db: db, path: path}
	if err := s.begin(ctx); err != nil {
		_ = db.Close()
		if is(err, sqlite3.SQLITE_IOERR, sqlite3.SQLITE_FULL) {
			err = fmt.Errorf("%w: is there room left on its file system?", err)
		}
		return nil, fmt.Errorf("open store %s: %w", path, err)
	}
	return s, nil
}

// private makes a file that only its owner can read, or restricts an existing one. It does not open an existing one:
// closing it would release the locks that this process may have on it.
func private(path string) error {
	f, err := os.OpenFile(path, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err == nil {
		return f.Close()
	}
	info, statErr := os.Stat(path)
	switch {
	case statErr != nil:
		return errors.Join(err, statErr)
	case info.Mode().Perm()&0o077 != 0:
		return os.Chmod(path, 0o600)
	}
	return nil
}

// Changed is when a session or a phase of this machine's was last changed, as far as one look at a file says: a process
// that was killed may not have said so. What they cost does not count.
func (s *Store) Changed() (at time.Time) {
	if info, err := os.Stat(s.path + ".changed"); err == nil {
		at = info.ModTime()
	}
	return at
}

// changed tells those who look. They read everything now and then in any case, so that it may fail.
func (s *Store) changed() {
	if private(s.path+".changed") == nil {
		now := time.Now()
		_ = os.Chtimes(s.path+".changed", now, now)
	}
}

// Close closes the database.
func (s *Store) Close() error { return s.db.Close() }

// begin makes the first connection and migrates. It waits for other processes itself: SQLite doesn't where two of them
// make a new database at the same moment, because only one can switch on its write-ahead log.
func (s *Store) begin(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		err := s.migrate(ctx)
		if !is(err, sqlite3.SQLITE_BUSY) {
			return err
		}
		select {
		case <-time.After(10 * time.Millisecond):
		case <-ctx.Done():
			return err
		}
	}
}

// migrate brings the schema to this build's version, and refuses a database from a newer one.
func (s *Store) migrate(ctx context.Context) error {
	files, err := fs.Glob(migrations, "migrations/*.sql")
	if err != nil {
		return err
	}
	have, err := version(ctx, s.db)
	known := first + len(files) - 1
	if err != nil || have == known {
		return err
	}
	return s.tx(ctx, func(tx *sql.Tx) error {
		// Another process may have migrated while we waited for the lock.
		have, err := version(ctx, tx)
		if err != nil {
			return err
		}
		if err := apply(ctx, tx, files, have); err != nil {
			return err
		}
		_, err = tx.ExecContext(ctx, fmt.Sprintf("PRAGMA user_version = %d", known))
		return err
	})
}

func version(ctx context.Context, q querier) (n int, err error) {
	err = q.QueryRowContext(ctx, "PRAGMA user_version").Scan(&n)
	return n, err
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
