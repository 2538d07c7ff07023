//go:build !linux

package remote

import (
	"os"

	"golang.org/x/sys/unix"
)

// reopen opens a terminal again, so that we can end a read without closing it. It never becomes our controlling one.
// terminal.
func reopen(tty *os.File) (*os.File, error) {
	return os.OpenFile(tty.Name(), os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
}
