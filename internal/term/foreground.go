package term

import (
	"os"
	"os/signal"
	"syscall"

	"golang.org/x/sys/unix"
)

// Foreground lets a program that is about to start have the terminal to itself, as a shell does: it reads from it, and
// its keys interrupt it and not us. back takes the terminal again when the program has ended.
func Foreground(tty *os.File) (attr func(*syscall.SysProcAttr), back func()) {
	fd := int(tty.Fd())
	attr = func(a *syscall.SysProcAttr) { a.Foreground, a.Ctty = true, fd }
	return attr, func() {
		signal.Ignore(syscall.SIGTTOU) // for asking from the background
		defer signal.Reset(syscall.SIGTTOU)
		_ = unix.IoctlSetPointerInt(fd, unix.TIOCSPGRP, unix.Getpgrp())
	}
}
