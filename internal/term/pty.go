package term

import (
	"bytes"
	"fmt"
	"os"
	"runtime"

	"github.com/creack/pty"
	"golang.org/x/sys/unix"
)

// Pty is a program's terminal, held by the side that shows it. Typing does not wait for a program that never reads.
type Pty struct {
	master *os.File
	keys   *Queue
}

// OpenPty makes a terminal. The program gets the slave.
func OpenPty() (p *Pty, slave *os.File, err error) {
	master, slave, err := pty.Open()
	if err != nil {
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	if master, err = interruptible(master); err != nil {
		_ = slave.Close()
		return nil, nil, fmt.Errorf("open a terminal: %w", err)
	}
	return &Pty{master: master, keys: NewQueue()}, slave, nil
}

// interruptible lets Close end a write that is under way. macOS can't wait for terminals that way: there such a write
// lasts until the program's end is closed too.
func interruptible(blocking *os.File) (*os.File, error) {
	if runtime.GOOS != "linux" {
		return blocking, nil
	}
	defer func() { _ = blocking.Close() }()
	fd, err := unix.FcntlInt(blocking.Fd(), unix.F_DUPFD_CLOEXEC, 0)
	if err != nil {
		return nil, err
	}
	if err := unix.SetNonblock(fd, true); err != nil {
		_ = unix.Close(fd)
		return nil, err
	}
	return os.NewFile(uintptr(fd), blocking.Name()), nil // a descriptor is not negative
}

// Read returns the program's output.
func (p *Pty) Read(b []byte) (int, error) { return p.master.Read(b) }

// Type passes typed keys to the program, when it reads.
func (p *Pty) Type(keys []byte) {
	keys = bytes.Clone(keys)
	p.keys.Put(len(keys), func() { _, _ = p.master.Write(keys) })
}

// Resize changes the terminal's size.
func (p *Pty) Resize(cols, rows uint16) {
	raw, err := p.master.SyscallConn()
	if err != nil {
		return
	}
	_ = raw.Control(func(fd uintptr) {
		_ = unix.IoctlSetWinsize(int(fd), unix.TIOCSWINSZ,
			&unix.Winsize{Col: cols, Row: rows}) // a descriptor fits
	})
}

// Close ends reading and typing.
func (p *Pty) Close() error {
	p.keys.Close()
	return p.master.Close()
}
