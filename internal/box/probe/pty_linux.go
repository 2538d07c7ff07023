package probe

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// openPty makes a pseudo-terminal as the C library does, by the names that every program knows.
func openPty() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("open /dev/ptmx: %w", err)
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	if err := unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err != nil {
		return nil, nil, errors.Join(fmt.Errorf("unlock a pseudo-terminal: %w", err), master.Close())
	}
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err != nil {
		return nil, nil, errors.Join(fmt.Errorf("ask for its number: %w", err), master.Close())
	}
	slave, err = os.OpenFile("/dev/pts/"+strconv.Itoa(n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return nil, nil, errors.Join(err, master.Close())
	}
	return master, slave, nil
}

// usePty runs a program on a pseudo-terminal of its own, types to it and reports what it shows.
func usePty(out io.Writer) int {
	if err := converse(out); err != nil {
		fmt.Fprintln(os.Stderr, "cco-box:", err)
		return 1
	}
	return 0
}

func converse(out io.Writer) error {
	master, slave, err := openPty()
	if err != nil {
		return err
	}
	defer func() { _ = master.Close() }()
	// The script opens its terminal once more by /dev/tty, and writes there.
	const script = `stty -echo; test -t 0 && echo a terminal > /dev/tty; read -r line; echo "$line and back"`
	pid, err := syscall.ForkExec("/bin/sh", []string{"sh", "-c", script}, &syscall.ProcAttr{
		Env: []string{"PATH=/usr/bin:/bin"}, Files: []uintptr{slave.Fd(), slave.Fd(), slave.Fd()},
		Sys: &syscall.SysProcAttr{Setsid: true, Setctty: true},
	})
	if err := errors.Join(err, slave.Close()); err != nil {
		return err
	}
	shown := bufio.NewReader(master)
	for _, answer := range []string{"words\n", ""} {
		line, err := shown.ReadString('\n')
		if err != nil {
			return fmt.Errorf("read from the terminal: %w", err)
		}
		if _, err := fmt.Fprintln(out, strings.TrimSpace(line)); err != nil {
			return err
		}
		if _, err := io.WriteString(master, answer); err != nil {
			return fmt.Errorf("type: %w", err)
		}
	}
	var status unix.WaitStatus
	_, err = unix.Wait4(pid, &status, 0, nil)
	return err
}

// terminal makes a terminal, uses it and types into it. If none can be made, a failure to type shows nothing.
func terminal(*Bait) string {
	if err := converse(io.Discard); err != nil {
		return "no pseudo-terminal works: " + err.Error()
	}
	master, slave, err := openPty()
	if err != nil {
		return "no pseudo-terminal can be made: " + err.Error()
	}
	defer func() { _ = master.Close() }()
	defer func() { _ = slave.Close() }()
	for _, high := range []uintptr{0, 1 << 32} { // the kernel ignores the upper half, and so must a filter
		c := byte('x')
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, slave.Fd(), unix.TIOCSTI|high,
			uintptr(unsafe.Pointer(&c))); errno == 0 {
			return "typed into a terminal"
		}
	}
	return ""
}
