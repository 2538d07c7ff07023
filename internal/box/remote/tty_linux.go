package remote

import (
	"fmt"
	"os"

	"golang.org/x/sys/unix"
)

// reopen opens a terminal again, so that we can end a read without closing it. It never becomes our controlling one.
// terminal.
func reopen(tty *os.File) (*os.File, error) {
	return os.OpenFile(fmt.Sprintf("/proc/self/fd/%d", tty.Fd()), os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
}
