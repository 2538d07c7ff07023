//go:build !linux

package socket

import (
	"errors"
	"os"
	"path/filepath"
)

// short names a socket by a link to its directory. The link is removed when the socket is bound or reached.
func short(path string) (name string, done func(), err error) {
	if len(path) <= longest {
		return path, func() {}, nil
	}
	dir, err := os.MkdirTemp("", "cco-")
	if err != nil {
		return "", nil, err
	}
	link := filepath.Join(dir, "d")
	if err := os.Symlink(filepath.Dir(path), link); err != nil {
		return "", nil, errors.Join(err, os.Remove(dir))
	}
	return filepath.Join(link, filepath.Base(path)), func() { _ = os.RemoveAll(dir) }, nil
}

// openToAll lets everybody connect who can pass the directories above.
func openToAll(path string) error { return os.Chmod(path, 0o666) } // its directory is closed
