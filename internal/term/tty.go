package term

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// TTY is a terminal from which a command reads keys as they are pressed, without an echo.
type TTY struct {
	in                     *os.File
	old                    unix.Termios
	stopReader, stopWriter *os.File
	once                   sync.Once

	// Answers to a query for device attributes, ESC [ ? numbers c: how many were read, and how much of the next.
	answers, begun int
}

// ErrStopped is the error of a stopped Read.
var ErrStopped = errors.New("stopped")

// TakeKeys takes over a terminal's keys: even those that send signals or hold the output are only keys then. If the
// whole terminal goes to a program, output is not changed on its way either.
func TakeKeys(in *os.File, whole bool) (*TTY, error) {
	now, err := unix.IoctlGetTermios(int(in.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	t := &TTY{in: in, old: *now}
	now.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
	now.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
	if whole {
		now.Oflag &^= unix.OPOST
		now.Cflag = now.Cflag&^(unix.CSIZE|unix.PARENB) | unix.CS8
	}
	now.Cc[unix.VMIN], now.Cc[unix.VTIME] = 1, 0
	if t.stopReader, t.stopWriter, err = os.Pipe(); err != nil {
		return nil, err
	}
	if err := unix.IoctlSetTermios(int(in.Fd()), setTermios, now); err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return t, nil
}

// hush has a terminal no longer show what is typed, until it is given back.
func hush(in *os.File) (shown func(), err error) {
	now, err := unix.IoctlGetTermios(int(in.Fd()), getTermios)
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	old := *now
	now.Lflag = now.Lflag&^unix.ECHO | unix.ICANON | unix.ISIG
	now.Iflag |= unix.ICRNL
	if err := unix.IoctlSetTermios(int(in.Fd()), setTermios, now); err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	return func() { _ = unix.IoctlSetTermios(int(in.Fd()), setTermios, &old) }, nil
}

// Read waits for keys for a while, or for ever if wait is 0. It returns 0 bytes when the time is over.
func (t *TTY) Read(p []byte, wait time.Duration) (int, error) {
	fd, err := await(wait, int(t.stopReader.Fd()), int(t.in.Fd()))
	switch {
	case err != nil || fd < 0:
		return 0, err
	case fd == int(t.stopReader.Fd()):
		return 0, ErrStopped
	}
	return t.read(p)
}

func (t *TTY) read(p []byte) (int, error) {
	n, err := t.in.Read(p)
	const begin = "\x1b[?"
	for _, b := range p[:max(0, n)] {
		switch {
		case t.begun < len(begin) && b == begin[t.begun]:
			t.begun++
		case t.begun == len(begin) && (b >= '0' && b <= '9' || b == ';'):
		case b == begin[0]:
			t.begun = 1
		default:
			if t.begun == len(begin) && b == 'c' {
				t.answers++
			}
			t.begun = 0
		}
	}
	return n, err
}

// Stop ends the Read that is under way, and every later one.
func (t *TTY) Stop() { t.once.Do(func() { _ = t.stopWriter.Close() }) }

// Drop reads and discards input until none has come for a while. If the terminal owes answers to queries for device
// attributes, counted since it was taken over, Drop ends with the last of them. It never takes longer than most.
func (t *TTY) Drop(quiet, most time.Duration, answers int) {
	buf := make([]byte, 4096)
	for deadline := time.Now().Add(most); answers == 0 || t.answers < answers; {
		left := min(quiet, time.Until(deadline))
		if left <= 0 {
			return
		}
		fd, err := await(left, int(t.in.Fd()))
		if err != nil || fd < 0 {
			return
		}
		if _, err := t.read(buf); err != nil {
			return
		}
	}
}

// await returns the first descriptor that can be read, -1 if none can in time; 0 waits for ever. It uses select and not
// poll, because macOS can't poll terminals.
func await(wait time.Duration, fds ...int) (int, error) {
	for deadline := time.Now().Add(wait); ; {
		var until *unix.Timeval
		if wait > 0 {
			left := unix.NsecToTimeval(max(0, time.Until(deadline).Nanoseconds()))
			until = &left
		}
		var set unix.FdSet
		if slices.Max(fds) >= unix.FD_SETSIZE {
			return -1, errors.New("too many open files")
		}
		for _, fd := range fds {
			set.Set(fd)
		}
		n, err := unix.Select(slices.Max(fds)+1, &set, nil, nil, until)
		if errors.Is(err, unix.EINTR) {
			continue
		}
		if err != nil || n == 0 {
			return -1, err
		}
		for _, fd := range fds {
			if set.IsSet(fd) {
				return fd, nil
			}
		}
	}
}

// GiveBack restores the terminal. It discards keys that nobody has read.
func (t *TTY) GiveBack() {
	_ = unix.IoctlSetTermios(int(t.in.Fd()), setTermiosFlush, &t.old)
	t.Stop()
	_ = t.stopReader.Close()
}
