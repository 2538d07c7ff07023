package cage

import (
	"os"

	"github.com/cco-dev/cco/internal/box/native/jail"
)

// CopyTree copies into a directory that belongs to the user.
func (u User) CopyTree(from, to string) error {
	return jail.CopyTree(from, to, func(root *os.Root, name string) error {
		if !u.foreign() {
			return nil
		}
		return root.Lchown(name, u.UID, u.GID)
	})
}
