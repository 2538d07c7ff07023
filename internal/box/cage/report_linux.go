package cage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box/native/jail"
)

// report is what an init sends us: views of the box's namespaces when it starts, and its result at the end.
type report struct {
	views chan *os.File // the table of System V memory and a socket for questions about sockets, where the kernel has them
	over  chan struct{}
	data  []byte
	err   error
}

// readReport reads a report until the init hangs up. Meanwhile the init gets signals, which it passes on to the
// program.
func readReport(conn *net.UnixConn, signals <-chan syscall.Signal) *report {
	r := &report{views: make(chan *os.File, 2), over: make(chan struct{})}
	go r.relay(conn, signals)
	go func() {
		defer close(r.over)
		words, rights := make([]byte, 4096), make([]byte, unix.CmsgSpace(4))
		for {
			n, m, _, _, err := conn.ReadMsgUnix(words, rights)
			// An error, such as a reset connection, can come with negative counts.
			r.data = append(r.data, words[:max(0, n)]...)
			r.keepViews(rights[:max(0, m)])
			if err != nil {
				r.err = err
				return
			}
		}
	}()
	return r
}

// keepViews keeps the two expected files.
func (r *report) keepViews(rights []byte) {
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

func (r *report) relay(control io.Writer, signals <-chan syscall.Signal) {
	for {
		select {
		case s, ok := <-signals:
			if !ok {
				return
			}
			_, _ = control.Write([]byte{byte(s)})
		case <-r.over:
			return
		}
	}
}

// result waits for the init's last message, and with toEnd for the init's end. When the message is there, everything
// else has ended. An init that was killed has sent none: by Stop, because memory ran out, or because the context ended.
func (r *report) result(end func() error, toEnd bool) (res jail.Result, err error) {
	<-r.over
	if r.err != nil && !errors.Is(r.err, io.EOF) && !errors.Is(r.err, syscall.ECONNRESET) {
		err = fmt.Errorf("read result: %w", r.err)
	} else if len(bytes.TrimSpace(r.data)) == 0 {
		return res, &lost{end()}
	} else if err = json.Unmarshal(r.data, &res); err != nil {
		err = fmt.Errorf("read result: %w", err)
	}
	if toEnd || err != nil {
		_ = end()
	}
	return res, err
}

// close closes views that nobody used.
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

// sacrifice makes the kernel kill a box's processes before the user's others when the whole machine runs out of memory.
// Their children inherit this, and can lower it only if we lack CAP_SYS_RESOURCE. If the kernel refuses, the run goes
// on without it.
func sacrifice(pid int) {
	_ = os.WriteFile("/proc/"+strconv.Itoa(pid)+"/oom_score_adj", []byte("500"), 0)
}
