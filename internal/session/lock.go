package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"
)

// A session's locks. A keeper holds the first for its whole life, so a free one proves that it has ended.
const (
	keeperLock = "keeper.lock"
	pullLock   = "pull.lock"
)

// BusyError says that another process is at work on the same session.
type BusyError struct{ ID, What string }

func (e *BusyError) Error() string {
	return fmt.Sprintf("session %s: another %s is under way", e.ID, e.What)
}

// busy says that a lock is held by another.
func busy(err error) bool {
	_, held := errors.AsType[*BusyError](err)
	return held
}

// lock takes a lock that lasts until every copy of the file's descriptor is closed. A keeper inherits its lock from the
// push that starts it, so that there is no moment at which a session looks abandoned.
func (s *Service) lock(id, name string) (*os.File, error) {
	if err := os.MkdirAll(s.Dir(id), 0o700); err != nil {
		return nil, err
	}
	f, err := os.OpenFile(filepath.Join(s.Dir(id), name), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, fmt.Errorf("lock session %s: %w", id, err)
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = f.Close()
		if errors.Is(err, syscall.EWOULDBLOCK) {
			return nil, &BusyError{ID: id, What: map[string]string{keeperLock: "push or pull", pullLock: "pull"}[name]}
		}
		return nil, fmt.Errorf("lock session %s: %w", id, err)
	}
	return f, nil
}

// KeeperLock takes the lock of a session's keeper.
func (s *Service) KeeperLock(id string) (*os.File, error) { return s.lock(id, keeperLock) }

// Gone says that a session has no keeper any more.
func (s *Service) Gone(id string) bool {
	lock, err := s.KeeperLock(id)
	if err != nil {
		return false
	}
	return lock.Close() == nil
}

// FollowTime is how long a keeper waits for followers to read its last words.
const FollowTime = 10 * time.Second

// endingTime is how long a keeper may take to finish after it has recorded the end of its session.
const endingTime = FollowTime + 5*time.Second

// LockSoon is keeperLock for a session that may have ended just now.
func (s *Service) LockSoon(ctx context.Context, id string) (*os.File, error) {
	return s.lockWithin(ctx, id, keeperLock, endingTime)
}

// readTime is how long work that another process reads is waited for: a page shows it just when somebody takes it.
const readTime = 3 * time.Second

// LockPull keeps others from reading the work of a session.
func (s *Service) LockPull(ctx context.Context, id string) (*os.File, error) {
	return s.lockWithin(ctx, id, pullLock, readTime)
}

func (s *Service) lockWithin(ctx context.Context, id, name string, most time.Duration) (*os.File, error) {
	end, tick := time.After(most), time.Tick(10*time.Millisecond)
	for {
		lock, err := s.lock(id, name)
		if !busy(err) {
			return lock, err
		}
		select {
		case <-tick:
		case <-end:
			return nil, err
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}
