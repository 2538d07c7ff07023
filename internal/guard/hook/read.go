package hook

import (
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// ReadFile reads a small file. A FIFO, which an agent may have put there, is empty.
func ReadFile(name string) ([]byte, error) {
	fd, err := syscall.Open(name, syscall.O_RDONLY|syscall.O_CLOEXEC|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, &os.PathError{Op: "open", Path: name, Err: err}
	}
	defer func() { _ = syscall.Close(fd) }() // only read
	data, err := readAll(descriptor(fd))
	if err != nil {
		return nil, &os.PathError{Op: "read", Path: name, Err: err}
	}
	return data, nil
}

// Links resolves links on the real file system.
type Links struct{}

// Lookup implements guard.Resolver.
func (Links) Lookup(path string) (link string, there bool) {
	info, err := os.Lstat(path)
	if err == nil && info.Mode()&os.ModeSymlink != 0 {
		link, err = os.Readlink(path)
	}
	return link, !os.IsNotExist(err)
}

// Writable implements guard.Resolver.
func (Links) Writable(path string) bool { return unix.Access(path, unix.W_OK) == nil }
