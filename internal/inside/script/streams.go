package script

import (
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// These limit the end of the output that a failure shows.
const (
	tailBytes = 8 << 10
	tailLines = 40
)

// drainTime is how long the end of the output is read where a program in the background still holds a pipe.
const drainTime = time.Second

// streams pass the fences' output on and keep its end. They are pipes for the whole run, not for one program: a fence's
// background process neither holds up the next fence nor dies of a closed pipe.
type streams struct {
	pipes   []*os.File // both ends
	reading sync.WaitGroup

	mu   sync.Mutex
	last proc.Tail
}

// open gives the end of a pipe to write to.
func (s *streams) open(to io.Writer) (io.Writer, error) {
	r, w, err := os.Pipe()
	if err != nil {
		return nil, err
	}
	s.pipes = append(s.pipes, w, r)
	s.reading.Go(func() { _, _ = io.Copy(stream{s, to}, r) })
	return w, nil
}

// close passes on what was printed so far.
func (s *streams) close() {
	for _, end := range s.pipes {
		_ = end.SetReadDeadline(time.Now().Add(drainTime)) // of those to read from
	}
	for i := 0; i < len(s.pipes); i += 2 {
		_ = s.pipes[i].Close()
	}
	s.reading.Wait()
	for i := 1; i < len(s.pipes); i += 2 {
		_ = s.pipes[i].Close()
	}
}

func (s *streams) tail() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	lines := strings.SplitAfter(s.last.String(), "\n")
	return strings.Join(lines[max(0, len(lines)-1-tailLines):], "")
}

// stream is one of them.
type stream struct {
	*streams
	to io.Writer
}

// Write goes on when nobody reads any more: the work counts, not the output.
func (s stream) Write(p []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	_, _ = s.last.Write(p)
	_, _ = s.to.Write(p)
	return len(p), nil
}
