package relay

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// apart makes the helper a sibling of the program: one that waits for all of its children must not find one that it
// doesn't know. In a session of its own it gets none of the signals that a terminal sends to the program's group.
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
