//go:build linux

package native

import (
	"errors"
	"io/fs"
	"os"
	"path"

	"github.com/cco-dev/cco/internal/box/native/jail"
)

// copyTree copies into a directory that belongs to the box's user.
func (id identity) copyTree(from, to string) error {
	return jail.CopyTree(from, to, func(root *os.Root, name string) error {
		if os.Getuid() != 0 {
			return nil
		}
		return root.Lchown(name, id.uid, id.gid)
	})
}

// removeAll removes a tree that programs in a box wrote, also where they took their own rights away.
func removeAll(dir string) error {
	if os.RemoveAll(dir) == nil {
		return nil
	}
	root, err := os.OpenRoot(dir)
	if err == nil {
		unlock(root, ".")
		_ = root.Close()
	} else if errors.Is(err, fs.ErrPermission) {
		_ = os.Chmod(dir, 0o700)
		if root, err := os.OpenRoot(dir); err == nil {
			unlock(root, ".")
			_ = root.Close()
		}
	}
	return os.RemoveAll(dir)
}

// unlock makes every directory below dir one that can be emptied, as far as that is possible.
func unlock(root *os.Root, dir string) {
	_ = root.Chmod(dir, 0o700)
	f, err := root.Open(dir)
	if err != nil {
		return
	}
	entries, _ := f.ReadDir(-1)
	_ = f.Close()
	for _, e := range entries {
		if e.IsDir() {
			unlock(root, path.Join(dir, e.Name()))
		}
	}
}
