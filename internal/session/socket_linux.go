package session

import (
	"fmt"
	"os"
	"path/filepath"
)

// shortPath names a socket by a descriptor of its directory: a unix address holds 107 bytes, and data directories can be deep.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) < 100 {
		return path, func() {}, nil
	}
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return "", nil, err
	}
	return fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)), func() { _ = dir.Close() }, nil
}
