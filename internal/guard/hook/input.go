package hook

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// Input reads f for at most limit, counted from now, and then fails. Deciding itself is bounded by steps, so that
// waiting for input is all that needs a clock.
func Input(f *os.File, limit time.Duration) io.Reader {
	return &timed{file: f, until: time.Now().Add(limit)}
}

// timed is a file that may be read until a moment.
type timed struct {
	file  *os.File
	until time.Time
}

// Read waits with poll. A timer of Go's would first set up its poller, and a
// goroutine a thread, which every tool call would pay for.
func (t *timed) Read(p []byte) (n int, err error) {
	fd := descriptor(t.file.Fd())
	for left := time.Until(t.until); left > 0; left = time.Until(t.until) {
		n, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(left.Milliseconds())+1)
		if n > 0 {
			n, err = fd.Read(p)
		}
		again := errors.Is(err, syscall.EINTR) || errors.Is(err, syscall.EAGAIN)
		if !again && (n > 0 || err != nil) {
			return n, err
		}
	}
	return 0, errors.New("it took too long")
}

// descriptor is an open file. Package os would first set up polling, which costs more than a small file.
type descriptor int

func (d descriptor) Read(p []byte) (int, error) {
	n, err := syscall.Read(int(d), p)
	switch {
	case errors.Is(err, syscall.EINTR):
		return d.Read(p)
	case err != nil:
		return 0, err
	case n == 0:
		return 0, io.EOF
	}
	return n, nil
}

// readAll reads what is no larger than a call may be.
func readAll(r io.Reader) ([]byte, error) {
	var b bytes.Buffer
	b.Grow(4 << 10) // every page that is touched costs; policies are smaller than this one
	_, err := b.ReadFrom(io.LimitReader(r, MaxInput+1))
	if err == nil && b.Len() > MaxInput {
		err = errors.New("it is larger than 1 MiB")
	}
	return b.Bytes(), err
}
