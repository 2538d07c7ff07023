//go:build !linux

package remote

import (
	"context"
	"net"
	"os"
)

// DialSocket connects to a unix socket.
func DialSocket(ctx context.Context, path string) (*net.UnixConn, error) { return dial(ctx, path) }

// reopen opens a terminal again, so that its reads can be ended without it.
func reopen(tty *os.File) (*os.File, error) {
	return os.OpenFile(tty.Name(), os.O_RDWR|oNoCTTY|oNonblock, 0)
}
