package cli

import (
	"bytes"
	"errors"
	"io"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/vt"
)

// How long after leaving what a terminal sends is waited for, so that no shell takes it for commands: where it owes
// answers, where it owes none, and in all.
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
	stop func()        // following its size

	mu     sync.Mutex
	filter *vt.Filter
}

// console takes the user's terminal, and tells resize its size now and whenever it changes.
func (a *commands) console(cfg config.Terminal, resize func(cols, rows int)) (*console, error) {
	in, ok := a.IO.In.(*os.File)
	if !ok {
		return nil, errors.New("standard input is no terminal")
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

// show writes what the program wrote. If that is past, nothing of it may ask: nobody waits for the answer any more.
func (c *console) show(data []byte, past bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.filter.Deaf = past
	_, _ = c.out.Write(c.filter.Pass(data))
}

// takeKeys calls do for what is typed, answers of the terminal among it, until do has had enough or the console is
// given back.
func takeKeys(tty *term.TTY, keys *vt.Keys, done chan struct{}, do func(vt.Typed) (more bool)) {
	defer close(done)
	stops := make(chan os.Signal, 1) // to stop now would leave the terminal to the shell as it is
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

// giveBack leaves the user's terminal as it was before: what the program did to it is undone first, then answers that
// are still on their way are dropped.
func (c *console) giveBack() {
	c.stop()
	c.tty.Stop()
	<-c.read
	c.mu.Lock()
	defer c.mu.Unlock()
	last := bytes.Clone(c.filter.Restore())
	query, answers := c.filter.LastQuery()
	written := make(chan struct{})
	go func() { // a terminal may not read before its own words are read
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

// passSize calls resize now and whenever the user's window changes.
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

// tamed are the standard streams of a program that is on none of the user's terminals but writes to one: nothing of it
// may ask there, because the shell would get the answer. In the end what it did to the terminal is undone.
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
