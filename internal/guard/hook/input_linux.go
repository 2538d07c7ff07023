package hook

import (
	"errors"
	"io"
	"syscall"
	"time"
	"unsafe"
)

// pollfd is struct pollfd of poll(2).
type pollfd struct {
	fd      int32
	events  int16
	revents int16
}

const pollIn = 1

// Read waits with ppoll. A timer of Go's would first set up its poller, and a
// goroutine a thread, which every tool call would pay for.
func (t *timed) Read(p []byte) (int, error) {
	fd := int(t.file.Fd())
	for {
		left := time.Until(t.until)
		if left <= 0 {
			return 0, errTooLong
		}
		fds := pollfd{fd: int32(fd), events: pollIn}
		wait := syscall.NsecToTimespec(int64(left))
		_, _, errno := syscall.Syscall6(syscall.SYS_PPOLL, uintptr(unsafe.Pointer(&fds)), 1,
			uintptr(unsafe.Pointer(&wait)), 0, 0, 0)
		if errno != 0 && !errors.Is(errno, syscall.EINTR) {
			return 0, errno
		}
		if fds.revents == 0 {
			continue // interrupted, or out of time
		}
		n, err := syscall.Read(fd, p)
		switch {
		case errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN):
			continue
		case err != nil:
			return 0, err
		case n == 0:
			return 0, io.EOF
		}
		return n, nil
	}
}
