//go:build !linux

package relay

import (
	"errors"
	"os"
	"syscall"
	"time"
)

// apart puts the helper into a session of its own, where a terminal's signals don't reach it. It is the program's
// child, because this system offers nothing better.
func apart() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }

// await returns when a process that is our parent has ended.
func await(pid int) {
	for os.Getppid() == pid && !errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) {
		time.Sleep(200 * time.Millisecond)
	}
}
