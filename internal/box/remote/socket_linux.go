package remote

import (
	"context"
	"fmt"
	"net"
	"os"
	"path/filepath"
)

// DialSocket connects to a unix socket however deep it is: an address holds 107 bytes, so its directory is named by a
// descriptor.
func DialSocket(ctx context.Context, path string) (*net.UnixConn, error) {
	dir, err := os.Open(filepath.Dir(path))
	if err != nil {
		return nil, err
	}
	defer func() { _ = dir.Close() }()
	return dial(ctx, fmt.Sprintf("/proc/self/fd/%d/%s", dir.Fd(), filepath.Base(path)))
}

// reopen opens a terminal again, so that its reads can be ended without it.
func reopen(tty *os.File) (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", tty.Fd()), os.O_RDWR|oNoCTTY|oNonblock, 0)
}
