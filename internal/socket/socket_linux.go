package socket

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// short names a socket by a descriptor of its directory.
func short(path string) (name string, done func(), err error) {
	if len(path) <= longest {
		return path, func() {}, nil
	}
	dir, err := unix.Open(filepath.Dir(path), unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return "", nil, &os.PathError{Op: "open", Path: filepath.Dir(path), Err: err}
	}
	return "/proc/self/fd/" + strconv.Itoa(dir) + "/" + filepath.Base(path), func() { _ = unix.Close(dir) }, nil
}

// openToAll lets everybody connect who can pass the directories above. An agent may have written to the last of them,
// so no link is followed.
func openToAll(path string) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer func() { _ = unix.Close(fd) }()
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		return err
	}
	if st.Mode&unix.S_IFMT != unix.S_IFSOCK {
		return &os.PathError{Op: "open to all", Path: path, Err: syscall.ENOTSOCK}
	}
	return os.Chmod(fmt.Sprintf("/proc/self/fd/%d", fd), 0o666) // its directory is closed
}
