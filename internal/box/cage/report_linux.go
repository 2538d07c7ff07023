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

// report is what an init tells us: views of the box's namespaces when it starts, and its result in the end.
type report struct {
	views chan *os.File // the table of System V memory and a socket for questions about sockets, where the kernel has them
	over  chan struct{}
	data  []byte
	err   error
}

// hear takes a report until the init hangs up.
func hear(conn *net.UnixConn) *report {
	r := &report{views: make(chan *os.File, 2), over: make(chan struct{})}
	go func() {
		defer close(r.over)
		words, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
		for {
			n, m, _, _, err := conn.ReadMsgUnix(words, rights)
			// An error, such as a connection that was reset, can come with counts below zero.
			r.data = append(r.data, words[:max(0, n)]...)
			r.take(rights[:max(0, m)])
			if err != nil {
				r.err = err
				return
			}
		}
	}()
	return r
}

// take keeps the two files that are expected.
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
			f := os.NewFile(uintptr(fd), "view")
			select {
			case r.views <- f:
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

// close drops views that nobody wanted.
func (r *report) close() {
	for {
		select {
		case f := <-r.views:
			_ = f.Close()
		default:
			return
		}
	}
}

// sacrifice makes a box's processes the first to go when the whole machine runs out of memory, and not what else the
// user runs. What is born of them inherits it, and can't go below it if we have CAP_SYS_RESOURCE; otherwise it can. A
// kernel that refuses is no reason not to go on.
func sacrifice(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
}
