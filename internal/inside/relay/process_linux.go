package relay

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// apart makes the helper a sibling of the program: a program that waits for all its children must not find an unknown
// one. In a session of its own the helper gets none of the signals that a terminal sends to the program's group.
func apart() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: unix.CLONE_PARENT, Setsid: true}
}

// await returns when a process has ended.
func await(pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	for {
		_, err := unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, -1) // a descriptor fits
		if err != unix.EINTR {
			return
		}
	}
}
