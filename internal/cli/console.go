package cli

import (
	"bytes"
	"context"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/vt"
)

// How long to wait, after leaving, for what the terminal still sends, so that no shell takes it for commands: with
// answers outstanding, with none outstanding, and in all.
const (
	late    = 2 * time.Second
	quiet   = 200 * time.Millisecond
	longest = 5 * time.Second
)

// console is the user's terminal while a program of a box is on it.
type console struct {
	tty  *term.TTY
	out  io.Writer
	read chan struct{} // closed when no more keys are read
	stop func()        // stops following its size

	mu     sync.Mutex
	filter *vt.Filter
}

// console takes over the user's terminal, and calls resize with its size now and at each change.
func (a *commands) console(cfg config.Terminal, resize func(cols, rows int)) (*console, error) {
	in, ok := a.IO.In.(*os.File)
	if !ok {
		return nil, errors.New("standard input is not a terminal")
	}
	tty, err := term.TakeKeys(in, true)
	if err != nil {
		return nil, err
	}
	c := &console{tty: tty, out: a.IO.Out, read: make(chan struct{}), filter: vt.NewFilter(a.size())}
	c.filter.Clipboard = cfg.Clipboard
	c.stop = a.passSize(func(cols, rows int) {
		c.mu.Lock()
		c.filter.Resize(cols, rows)
		c.mu.Unlock()
		resize(cols, rows)
	})
	return c, nil
}

// show writes the program's output. A replay drops queries to the terminal: nobody waits for the answers.
func (c *console) show(data []byte, past bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filter.Deaf = past
	_, _ = c.out.Write(c.filter.Pass(data))
}

// titleTime is how often is looked whether the title still tells the truth.
const titleTime = 2 * time.Second

// entitle keeps the state and the cost of a session in the terminal's title.
func (c *console) entitle(ctx context.Context, s *session.Service, id string) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(titleTime)
		defer tick.Stop()
		for before := ""; ctx.Err() == nil; {
			now, err := s.Store.Session(ctx, id)
			title := "cco " + id + " " + string(now.State)
			if now.Spent.Cost > 0 {
				title += " " + dollarWords(now.Spent.Cost, now.Spent.Estimate)
			}
			if err == nil && title != before {
				before = title
				c.mu.Lock()
				_, _ = c.out.Write(c.filter.Name(title))
				c.mu.Unlock()
			}
			select {
			case <-tick.C:
			case <-ctx.Done():
			}
		}
	}()
	return func() { cancel(); <-done }
}

// readKeys calls do for typed keys and for answers of the terminal, until do returns false or the console is given
// back.
func readKeys(tty *term.TTY, keys *vt.Keys, done chan struct{}, do func(vt.Typed) (more bool)) {
	defer close(done)
	stops := make(chan os.Signal, 1) // stopping now would leave the shell an unrestored terminal
	signal.Notify(stops, syscall.SIGTSTP)
	defer signal.Stop(stops)
	buf := make([]byte, 4096)
	for {
		n, err := tty.Read(buf, keys.Patience())
		if err != nil {
			return
		}
		typed := keys.Read(buf[:n])
		if n == 0 {
			typed = []vt.Typed{{Bytes: keys.Flush()}}
		}
		for _, t := range typed {
			if len(t.Bytes) > 0 && !do(t) {
				return
			}
		}
	}
}

// giveBack restores the user's terminal: it first undoes what the program did to it, then drops answers that are still
// on their way.
func (c *console) giveBack() {
	c.stop()
	c.tty.Stop()
	<-c.read
	c.mu.Lock()
	defer c.mu.Unlock()
	last := bytes.Clone(c.filter.Restore())
	query, answers := c.filter.LastQuery()
	written := make(chan struct{})
	go func() { // a terminal may block until its own output is read
		defer close(written)
		_, _ = c.out.Write(append(last, query...))
	}()
	if answers > 0 {
		c.tty.Drop(late, longest, answers)
	} else {
		c.tty.Drop(quiet, longest, 0)
	}
	<-written
	c.tty.GiveBack()
}

// passSize calls resize now and at each change of the user's window.
func (a *commands) passSize(resize func(cols, rows int)) (stop func()) {
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, syscall.SIGWINCH)
	quit := make(chan struct{})
	go func() {
		for {
			resize(a.size())
			select {
			case <-sizes:
			case <-quit:
				return
			}
		}
	}()
	return func() { signal.Stop(sizes); close(quit) }
}

// tamed are the standard streams of a program without a terminal whose output goes to the user's: queries to the
// terminal are removed, because the shell would get the answer. At the end, what it did to the terminal is undone.
func (a *commands) tamed() (out, err io.Writer, done func()) {
	t := &tamer{filter: vt.NewFilter(a.size())}
	t.filter.Deaf = true
	out, err = a.IO.Out, a.IO.Err
	var last io.Writer
	if a.IO.OutTTY {
		last, out = out, &tamedWriter{t, out}
	}
	if a.IO.ErrTTY {
		last, err = err, &tamedWriter{t, err}
	}
	return out, err, func() {
		if last != nil {
			t.mu.Lock()
			defer t.mu.Unlock()
			_, _ = last.Write(t.filter.Restore())
		}
	}
}

type tamer struct {
	mu     sync.Mutex
	filter *vt.Filter
}

type tamedWriter struct {
	*tamer
	to io.Writer
}

func (w *tamedWriter) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	_, err := w.to.Write(w.filter.Pass(p))
	return len(p), err
}
