package script

import (
	"errors"
	"io"
	"os"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// These limit the end of the output that a failure shows.
const (
	tailBytes = 8 << 10
	tailLines = 40
)

// maxPipe is the most that a pipe holds by default on any system.
const maxPipe = 1 << 20

// streams pass the fences' output on and keep its end. They are pipes for the whole run, not for one program: a fence's
// background process neither holds up the next fence nor dies of a closed pipe.
type streams struct {
	out, err *stream
	mu       sync.Mutex
	last     proc.Tail
}

type stream struct {
	r, w *os.File
	to   io.Writer
	done chan struct{}
}

func openStreams(out, err io.Writer) (*streams, error) {
	s := &streams{last: proc.Tail{Max: tailBytes}}
	var e error
	if s.out, e = s.open(out); e != nil {
		return nil, e
	}
	if s.err, e = s.open(err); e != nil {
		s.close()
		return nil, e
	}
	return s, nil
}

func (s *streams) open(to io.Writer) (*stream, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	if to == nil {
		to = io.Discard
	}
	st := &stream{r: r, w: w, to: to, done: make(chan struct{})}
	go func() {
		defer close(st.done)
		buf := make([]byte, 32<<10)
		for {
			n, err := r.Read(buf)
			s.pass(st, buf[:n])
			if err != nil {
				return
			}
		}
	}()
	return st, nil
}

// pass continues when nobody reads any more: the work counts, not the output.
func (s *streams) pass(st *stream, p []byte) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.last.Write(p)
	_, _ = st.to.Write(p)
}

// close passes on everything that was printed so far. It does not wait for programs in the background.
func (s *streams) close() {
	for _, st := range []*stream{s.out, s.err} {
		if st == nil {
			continue
		}
		_ = st.w.Close()
		_ = st.r.SetReadDeadline(time.Now())
		<-st.done
		_ = st.r.SetReadDeadline(time.Time{})
		s.drain(st)
		_ = st.r.Close()
	}
}

// drain reads what is in the pipe. It does not wait for more, nor follow a program that never stops printing.
func (s *streams) drain(st *stream) {
	conn, err := st.r.SyscallConn()
	if err != nil {
		return
	}
	buf := make([]byte, 32<<10)
	for n, left := 1, maxPipe; n > 0 && left > 0; left -= n {
		err := conn.Read(func(fd uintptr) bool {
			for {
				var err error
				if n, err = syscall.Read(int(fd), buf); !errors.Is(err, syscall.EINTR) {
					return true
				}
			}
		})
		if err != nil {
			return
		}
		if n > 0 {
			s.pass(st, buf[:n])
		}
	}
}

func (s *streams) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.SplitAfter(s.last.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-1-tailLines):], "")
}
