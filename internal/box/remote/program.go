package remote

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/socket"
)

// run runs a program on three streams of the caller.
func (a *answering) run(ctx context.Context, b *box.Box, x *exec) error {
	if x == nil {
		return errors.New("run: no program")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var streams [3]*conn
	for i, kind := range []string{kindIn, kindOut, kindErr} {
		s, err := a.stream(kind)
		if err != nil {
			return err
		}
		streams[i] = s
	}
	e := x.real()
	if x.Way != nil {
		way, done, err := a.way(x.Way)
		if err != nil {
			return err
		}
		defer done()
		e.Way = way
	}
	signals := make(chan syscall.Signal)
	e.Signals = signals
	if x.TTY != nil {
		return a.onTerminal(ctx, cancel, b, e, x, streams, signals)
	}
	if x.Stdin {
		e.Stdin = streams[0]
	}
	if x.Stdout {
		e.Stdout = streams[1]
	}
	if x.Stderr {
		e.Stderr = streams[2]
	}
	go a.obey(ctx, cancel, signals, nil)
	err := a.Driver.Run(ctx, b, e)
	for _, s := range streams[1:] {
		_ = s.CloseWrite()
	}
	return err
}

// onTerminal gives the program a terminal of this machine.
func (a *answering) onTerminal(ctx context.Context, cancel func(), b *box.Box, e box.Exec, x *exec, streams [3]*conn,
	signals chan<- syscall.Signal) error {
	master, slave, err := pty.Open()
	if err != nil {
		return fmt.Errorf("open a terminal: %w", err)
	}
	defer func() { _ = master.Close() }()
	resize := func(z size) { _ = pty.Setsize(master, &pty.Winsize{Rows: z.Rows, Cols: z.Cols}) }
	resize(*x.TTY)
	go a.obey(ctx, cancel, signals, resize)
	go func() { _, _ = io.Copy(master, streams[0]) }()
	var shown sync.WaitGroup
	shown.Go(func() { _, _ = io.Copy(streams[1], master) })
	e.TTY = slave
	err = a.Driver.Run(ctx, b, e)
	_ = slave.Close() // the last copy: this ends reading from the other end
	shown.Wait()
	_ = streams[1].CloseWrite()
	return err
}

// obey does what the caller says while the program runs.
func (a *answering) obey(ctx context.Context, cancel func(), signals chan<- syscall.Signal, resize func(size)) {
	for {
		var w word
		select {
		case w = <-a.words:
		case <-ctx.Done():
			return
		}
		if w.Cancel {
			cancel()
			return
		}
		if w.Signal > 0 && w.Signal < 65 {
			select {
			case signals <- syscall.Signal(w.Signal):
			case <-ctx.Done():
				return
			}
		}
		if w.Size != nil && resize != nil {
			resize(*w.Size)
		}
	}
}

// way makes this machine's end of a way out: a socket whose connections become streams to the caller.
func (a *answering) way(w *way) (*box.Way, func(), error) {
	if err := os.MkdirAll(a.Doors, 0o700); err != nil {
		return nil, nil, err
	}
	dir, err := os.MkdirTemp(a.Doors, "")
	if err != nil {
		return nil, nil, err
	}
	at := filepath.Join(dir, "s")
	l, err := socket.ListenAll(at)
	if err == nil {
		err = os.Chmod(dir, 0o755) // the directories above are closed
	}
	if err != nil {
		_ = os.RemoveAll(dir)
		return nil, nil, fmt.Errorf("make a way out: %w", err)
	}
	go a.forwardWay(l)
	return &box.Way{Socket: at, Env: w.Env}, func() {
		_ = l.Close()
		_ = os.RemoveAll(dir)
	}, nil
}

func (a *answering) forwardWay(l *net.UnixListener) {
	for {
		in, err := l.AcceptUnix()
		if err != nil {
			return
		}
		go func() {
			defer func() { _ = in.Close() }()
			s, err := a.stream(kindWay)
			if err != nil {
				return
			}
			defer func() { _ = s.Close() }()
			copyBoth(s, in)
		}()
	}
}
