//go:build !linux

package session

import "fmt"

// shortPath refuses what the system can't address.
func shortPath(path string) (short string, done func(), err error) {
	if len(path) >= 104 {
		return "", nil, fmt.Errorf("%s is too long for a socket: set XDG_DATA_HOME to a shorter directory", path)
	}
	return path, func() {}, nil
}
