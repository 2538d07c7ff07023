package hook

import (
	"errors"
	"os"
	"slices"
	"strings"
	"syscall"
)

// readFile reads a small file. Package os would first set up polling, which
// costs more than the file.
func readFile(name string) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // only read
	// Every page that is touched costs; policies are smaller than this one.
	data := make([]byte, 0, 4<<10)
	for {
		if len(data) == cap(data) {
			data = slices.Grow(data, len(data))
		}
		n, err := syscall.Read(fd, data[len(data):cap(data)])
		switch {
		case errors.Is(err, syscall.EINTR):
			continue
		case err != nil:
			return nil, &os.PathError{Op: "read", Path: name, Err: err}
		case n == 0:
			return data, nil
		}
		if data = data[:len(data)+n]; len(data) > MaxInput {
			return nil, &os.PathError{Op: "read", Path: name, Err: syscall.EFBIG}
		}
	}
}

// branch reads the branch that HEAD of a git directory is on; "" if none.
func branch(gitDir string) string {
	head, err := readFile(gitDir + "/HEAD")
	if err != nil {
		return ""
	}
	name, ok := strings.CutPrefix(strings.TrimSpace(string(head)), "ref: refs/heads/")
	if !ok {
		return ""
	}
	return name
}
