package cage

import (
	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box/native/jail"
)

// CopyTree copies a tree into a directory that belongs to the user.
func (u User) CopyTree(from, to string) error {
	return jail.CopyTree(from, to, func(dir int, name string) error {
		if !u.foreign() {
			return nil
		}
		return unix.Fchownat(dir, name, u.UID, u.GID, unix.AT_SYMLINK_NOFOLLOW)
	})
}
