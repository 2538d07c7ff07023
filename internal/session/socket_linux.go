package session

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"

	"golang.org/x/sys/unix"
)

// openToAll lets a box's own user connect to a socket in a directory that is closed to everyone else. An agent may have
// written to that directory, so no link is followed.
func openToAll(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	f := os.NewFile(uintptr(fd), path)
	defer func() { _ = f.Close() }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return &os.PathError{Op: "open to all", Path: path, Err: syscall.ENOTSOCK}
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o666) //nolint:gosec // its directory is closed
}

// shortPath names a socket by a descriptor of its directory: a unix address holds 107 bytes, and data directories can
// be deep.
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
