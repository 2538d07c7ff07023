package cage

import (
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// lingering is how long to wait for output that a process outside the program's group holds open.
const lingering = time.Second

// Plain runs a program without the kernel's isolation, on the streams of e. Its process group ends with it.
func Plain(ctx context.Context, r Registry, e box.Exec, c proc.Cmd) error {
	entry, err := r.add(e.Session)
	if err != nil {
		return err
	}
	entry.Group = true
	s, err := Me().Connect(e)
	if err != nil {
		return errors.Join(err, entry.end(ctx))
	}
	defer s.Close()
	c.Stdin, c.Stdout, c.Stderr, c.TiedToUs = s.In, s.Out, s.Err, true
	if e.TTY != nil {
		c.Attr = func(a *syscall.SysProcAttr) {
			a.Setpgid, a.Setsid = false, true
			a.Setctty, a.Ctty = true, 0
		}
	}
	var unknown error
	c.Started = func(pid int) { unknown = entry.started(pid, nil) }
	p, err := proc.Start(ctx, c)
	if err != nil {
		return errors.Join(cantStart(e, err), entry.end(ctx))
	}
	s.Release()
	if unknown != nil {
		_ = p.Signal(syscall.SIGKILL) // it must not run unregistered
	}
	relay(p, e.Signals)
	err = p.Wait()
	left := entry.end(context.WithoutCancel(ctx)) // the processes that the program has left in its group
	s.Abandon(lingering)
	s.Finish()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		exit.Stderr = s.Tail()
	}
	return errors.Join(err, left)
}

// cantStart gives a program that is missing or can't be run the status that a shell would.
func cantStart(e box.Exec, err error) error {
	switch {
	case errors.Is(err, fs.ErrNotExist), errors.Is(err, proc.ErrNotFound):
		return &proc.ExitError{Argv: e.Argv, Code: 127, Stderr: err.Error()}
	case errors.Is(err, fs.ErrPermission), errors.Is(err, syscall.ENOEXEC):
		return &proc.ExitError{Argv: e.Argv, Code: 126, Stderr: err.Error()}
	default:
		return err
	}
}

// relay passes signals on to the program alone, until it ends.
func relay(p *proc.Process, signals <-chan syscall.Signal) {
	go func() {
		for {
			select {
			case s := <-signals:
				_ = syscall.Kill(p.Pid(), s)
			case <-p.Done():
				return
			}
		}
	}()
}
