//go:build !linux

package remote

import (
	"os"

	"golang.org/x/sys/unix"
)

// reopen opens a terminal again, so that its reads can be ended without it. It never becomes ours.
func reopen(tty *os.File) (*os.File, error) {
	return os.OpenFile(tty.Name(), os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
}
