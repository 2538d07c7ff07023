package cage

import (
	"errors"
	"io"
	"os"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// Streams are what a program reads and writes: the terminal made for it, or pipes of our own. The program never gets a
// descriptor of the host, such as a log file or the user's terminal: it could reopen it, seek in it or type into it.
type Streams struct {
	user         User
	In, Out, Err *os.File // the program's ends
	mine         []*os.File
	theirs       []*os.File
	copies       sync.WaitGroup
	start        []func()
	last         *proc.Tail
}

// Connect makes the streams of a run.
func (u User) Connect(e box.Exec) (*Streams, error) {
	s := &Streams{user: u}
	if e.TTY != nil {
		s.In, s.Out, s.Err = e.TTY, e.TTY, e.TTY
		return s, nil
	}
	if e.Stderr == nil {
		s.last = &proc.Tail{Max: 4096}
		e.Stderr = s.last
	}
	err := errors.Join(s.feed(e.Stdin), s.drain(&s.Out, e.Stdout), s.drain(&s.Err, e.Stderr))
	if err != nil {
		s.Close()
		return nil, err
	}
	return s, nil
}

func (s *Streams) feed(from io.Reader) error {
	if from == nil {
		null, err := os.Open(os.DevNull)
		s.In, s.theirs = null, append(s.theirs, null)
		return err
	}
	r, w, err := s.pipe()
	if err != nil {
		return err
	}
	s.In, s.theirs = r, append(s.theirs, r)
	s.start = append(s.start, func() {
		// Nobody waits for this one: a reader that never ends must not hold up a finished run.
		go func() {
			_, _ = io.Copy(w, from)
			_ = w.Close()
		}()
	})
	s.mine = append(s.mine, w)
	return nil
}

func (s *Streams) drain(end **os.File, to io.Writer) error {
	if to == nil {
		null, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
		*end, s.theirs = null, append(s.theirs, null)
		return err
	}
	r, w, err := s.pipe()
	if err != nil {
		return err
	}
	*end, s.theirs = w, append(s.theirs, w)
	s.mine = append(s.mine, r)
	s.start = append(s.start, func() {
		s.copies.Go(func() {
			_, err := io.Copy(to, r)
			if err != nil {
				// The receiver of our output is gone, so the pipe goes too, as it would without us in between.
				_ = r.Close()
			}
		})
	})
	return nil
}

// pipe makes a pipe that belongs to the box's user, who may reopen its ends as /dev/stdin and the like.
func (s *Streams) pipe() (r, w *os.File, err error) {
	if r, w, err = os.Pipe(); err != nil || !s.user.foreign() {
		return r, w, err
	}
	if err = r.Chown(s.user.UID, s.user.GID); err != nil {
		_ = r.Close()
		_ = w.Close()
	}
	return r, w, err
}

// Release closes the program's ends once the program has them, and starts to copy.
func (s *Streams) Release() {
	for _, f := range s.theirs {
		_ = f.Close()
	}
	s.theirs = nil
	for _, start := range s.start {
		start()
	}
}

// Finish waits until everything that was written has been passed on.
func (s *Streams) Finish() {
	s.copies.Wait()
	s.Close()
}

// Close closes everything that is still open.
func (s *Streams) Close() {
	for _, f := range append(s.theirs, s.mine...) {
		_ = f.Close()
	}
	s.theirs, s.mine = nil, nil
}

// Tail is the end of the program's standard error, if nobody else received it.
func (s *Streams) Tail() string {
	if s.last == nil {
		return ""
	}
	return s.last.String()
}

// Abandon limits how long Finish waits, for a program whose leftovers nobody could end.
func (s *Streams) Abandon(after time.Duration) {
	for _, f := range s.mine {
		_ = f.SetReadDeadline(time.Now().Add(after))
	}
}
