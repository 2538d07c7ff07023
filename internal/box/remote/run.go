package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"
	"golang.org/x/term"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// Run runs a program there. The connection carries its streams, terminal, signals and way out.
func (c *Client) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	if len(e.Argv) == 0 {
		return errors.New("run: no program")
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := c.copyBinds(ctx, b, e); err != nil {
		return err
	}
	var tail *proc.Tail
	if e.Stderr == nil && e.TTY == nil {
		tail = &proc.Tail{Max: 4096}
		e.Stderr = tail
	}
	r := request{Call: callRun, Box: b.Name, Spec: &b.Spec, Exec: newExec(e)}
	if e.TTY != nil {
		r.Exec.Stdin, r.Exec.Stdout, r.Exec.Stderr = true, true, false
		r.Exec.TTY = sizeOf(e.TTY)
	}
	k, err := c.begin(context.WithoutCancel(ctx), b, r, e.Way)
	if err != nil {
		return err
	}
	defer k.close()
	return k.run(ctx, e, tail)
}

func (k *call) run(ctx context.Context, e box.Exec, tail *proc.Tail) error {
	over := make(chan struct{})
	var copies sync.WaitGroup
	restore, err := k.streams(e, &copies, over)
	if err != nil {
		return err
	}
	defer restore()
	go k.relay(e, over)
	// The server ends the program when told to, and says so. Only if it doesn't, we close the connection.
	defer context.AfterFunc(ctx, func() { k.cancel(over) })()
	got, err := k.end(nil)
	close(over)
	if err == nil {
		copies.Wait()
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	err = got.Fault.err(e.Argv)
	if exit, ok := errors.AsType[*proc.ExitError](err); ok && tail != nil && exit.Stderr == "" {
		exit.Stderr = tail.String()
	}
	return err
}

// lingering is how long the server has to end a program.
const lingering = 30 * time.Second

func (k *call) cancel(over <-chan struct{}) {
	_ = k.send(word{Cancel: true})
	t := time.NewTimer(lingering)
	defer t.Stop()
	select {
	case <-over:
	case <-t.C:
		k.close()
	}
}

// streams says what becomes of the program's streams.
func (k *call) streams(e box.Exec, copies *sync.WaitGroup, over <-chan struct{}) (restore func(), err error) {
	if e.TTY != nil {
		return k.terminal(e.TTY, copies, over)
	}
	k.serve[kindIn] = func(s *conn) {
		go func() { // nobody waits for this one: a reader that never ends must not hold up a finished run
			if e.Stdin != nil {
				_, _ = io.Copy(s, e.Stdin)
			}
			_ = s.CloseWrite()
		}()
	}
	drain := func(to io.Writer) func(*conn) {
		if to == nil {
			to = io.Discard
		}
		return func(s *conn) {
			copies.Go(func() {
				if _, err := io.Copy(to, s); err != nil {
					_ = s.Close() // its receiver is gone
				}
			})
		}
	}
	k.serve[kindOut], k.serve[kindErr] = drain(e.Stdout), drain(e.Stderr)
	return func() {}, nil
}

// terminal joins our end of a terminal with the one there. That one does all the processing, so ours is raw.
func (k *call) terminal(tty *os.File, copies *sync.WaitGroup, over <-chan struct{}) (func(), error) {
	old, err := term.MakeRaw(int(tty.Fd()))
	if err != nil {
		return nil, fmt.Errorf("prepare the terminal: %w", err)
	}
	// Reads of a copy of our own can be ended. It never becomes our controlling terminal.
	mine, err := os.OpenFile(tty.Name(), os.O_RDWR|unix.O_NOCTTY|unix.O_NONBLOCK, 0)
	if err != nil {
		_ = term.Restore(int(tty.Fd()), old)
		return nil, err
	}
	k.serve[kindIn] = func(s *conn) {
		go func() {
			_, _ = io.Copy(s, mine)
			_ = s.CloseWrite()
		}()
	}
	k.serve[kindOut] = func(s *conn) { copies.Go(func() { _, _ = io.Copy(tty, s) }) }
	k.serve[kindErr] = func(*conn) {}
	resized := make(chan struct{})
	go func() {
		defer close(resized)
		k.resize(tty, over)
	}()
	return func() {
		<-resized // it uses a terminal that the caller will close
		_ = mine.Close()
		_ = term.Restore(int(tty.Fd()), old)
	}, nil
}

// resize passes a new size on. It polls, because we are not in the terminal's foreground and get no signal.
func (k *call) resize(tty *os.File, over <-chan struct{}) {
	last := *sizeOf(tty)
	for t := time.NewTicker(300 * time.Millisecond); ; {
		select {
		case <-over:
			t.Stop()
			return
		case <-t.C:
		}
		if now := *sizeOf(tty); now != last {
			last = now
			_ = k.send(word{Size: &now})
		}
	}
}

func (k *call) relay(e box.Exec, over <-chan struct{}) {
	for {
		select {
		case s, ok := <-e.Signals:
			if !ok {
				return
			}
			_ = k.send(word{Signal: int(s)})
		case <-over:
			return
		}
	}
}

// copyBinds makes sure that the machine has the directories that a program is shown.
func (c *Client) copyBinds(ctx context.Context, b *box.Box, e box.Exec) error {
	for _, m := range e.Binds {
		real, err := m.Check(b)
		if err != nil {
			return err
		}
		if c.Shared {
			continue
		}
		if err := c.copyDir(ctx, b, m.Path, real, e.Report); err != nil {
			return fmt.Errorf("show %s: %w", m.Path, err)
		}
	}
	return nil
}

// copyDir copies a directory, unless the machine already has the same content.
func (c *Client) copyDir(ctx context.Context, b *box.Box, path, real string, report box.Report) error {
	mark, err := treeMark(real)
	if err != nil {
		return err
	}
	k, err := c.begin(ctx, b, request{Call: callTake, Box: b.Name, Path: path, Mark: mark}, nil)
	if err != nil {
		return err
	}
	defer k.close()
	var packed error
	k.serve[kindTree] = func(s *conn) {
		if report != nil {
			report("copying %s to where %s runs, once", path, b.Name)
		}
		packed = errors.Join(packTree(s, real), s.CloseWrite())
	}
	got, err := k.end(nil)
	if ctx.Err() != nil {
		return ctx.Err()
	}
	return errors.Join(packed, err, got.Fault.err(nil))
}

// treeMark is a checksum of a tree's names, sizes and times.
func treeMark(dir string) (string, error) {
	var files, bytes, newest int64
	err := filepath.WalkDir(dir, func(_ string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		st, err := d.Info()
		if err != nil {
			return err
		}
		files, bytes, newest = files+1, bytes+st.Size(), max(newest, st.ModTime().UnixNano())
		return nil
	})
	return strconv.FormatInt(files, 10) + "-" + strconv.FormatInt(bytes, 10) + "-" + strconv.FormatInt(newest, 10), err
}
