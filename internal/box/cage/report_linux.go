package cage

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// report is what an init tells us: the table of the box's System V memory when it starts, and its result in the end.
type report struct {
	table chan *os.File // one, or none where the kernel has no such memory
	over  chan struct{}
	data  []byte
	err   error
}

// hear takes a report until the init hangs up.
func hear(conn *net.UnixConn) *report {
	r := &report{table: make(chan *os.File, 1), over: make(chan struct{})}
	go func() {
		defer close(r.over)
		words, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
		for {
			n, m, _, _, err := conn.ReadMsgUnix(words, rights)
			r.data = append(r.data, words[:n]...)
			r.take(rights[:m])
			if err != nil {
				r.err = err
				return
			}
		}
	}()
	return r
}

// take keeps the one file that is expected.
func (r *report) take(rights []byte) {
	messages, err := unix.ParseSocketControlMessage(rights)
	if err != nil {
		return
	}
	for _, m := range messages {
		fds, err := unix.ParseUnixRights(&m)
		if err != nil {
			continue
		}
		for _, fd := range fds {
			unix.CloseOnExec(fd)
			f := os.NewFile(uintptr(fd), "sysvipc")
			select {
			case r.table <- f:
			default:
				_ = f.Close()
			}
		}
	}
}

// result waits for the last word. One that was killed has none.
func (r *report) result() ([]byte, error) {
	<-r.over
	if r.err != nil && !errors.Is(r.err, io.EOF) && !errors.Is(r.err, syscall.ECONNRESET) {
		return nil, fmt.Errorf("read result: %w", r.err)
	}
	return r.data, nil
}

// close drops a table that nobody wanted.
func (r *report) close() {
	select {
	case f := <-r.table:
		_ = f.Close()
	default:
	}
}

// sacrifice makes a box's processes the first to go when the whole machine runs out of memory, and not what else the user
// runs. What is born of them inherits it. A kernel that refuses is no reason not to go on.
func sacrifice(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
}
