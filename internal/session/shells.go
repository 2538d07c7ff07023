package session

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/cco-dev/cco/internal/box"
)

// shellFile is locked while a person has a shell open in a session. It gets some content when a command ends that.
func (s *Service) shellFile(id string) string { return filepath.Join(s.Dir(id), "shell.lock") }

// HoldShell marks that a person has a shell open in a session, until its result is called, which says whether another
// command has ended it.
func (s *Service) HoldShell(id string) (release func() (ended bool), err error) {
	f, err := os.OpenFile(s.shellFile(id), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
		_ = f.Truncate(0) // what is said there is about earlier ones
	}
	if err := syscall.Flock(int(f.Fd()), syscall.LOCK_SH); err != nil {
		return nil, errors.Join(err, f.Close())
	}
	return func() bool {
		info, err := f.Stat()
		_ = f.Close()
		return err == nil && info.Size() > 0
	}, nil
}

// halt ends what still runs for a session. A person who has a shell there is told, and so is the one who ends it.
func (s *Service) halt(ctx context.Context, b *box.Box, d box.Driver, id string) error {
	if f, err := os.OpenFile(s.shellFile(id), os.O_RDWR, 0); err == nil {
		if errors.Is(syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK) {
			s.Warn("a shell is open in session %s, and is ended", id)
			_, _ = f.WriteString("ended\n")
		}
		_ = f.Close()
	}
	return d.Halt(ctx, b, id)
}
