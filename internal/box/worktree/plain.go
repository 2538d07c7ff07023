package worktree

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/proc"
)

// lingering is how long to wait for output that a process outside the program's group holds open.
const lingering = time.Second

// runPlain runs a program without isolation. Its process group ends with it.
func (d *Driver) runPlain(ctx context.Context, b *box.Box, e box.Exec, at site) error {
	if limit := cmp.Or(e.Limits.Time, b.Spec.Limits.Time); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &box.LimitError{What: "time", Limit: limit.String()})
		defer cancel()
	}
	entry, err := runs(b).Add(e.Session)
	if err != nil {
		return err
	}
	s, err := cage.Me().Connect(e)
	if err != nil {
		return errors.Join(err, entry.Done(ctx))
	}
	defer s.Close()
	c := d.command(b, e, at, s)
	var unknown error
	c.Started = func(pid int) { unknown = entry.Started(pid) }
	p, err := proc.Start(ctx, c)
	if err != nil {
		return errors.Join(cantStart(e, err), entry.Done(ctx))
	}
	s.Release()
	if unknown != nil {
		_ = p.Signal(syscall.SIGKILL) // it must not run unregistered
	}
	relay(p, e.Signals)
	err = p.Wait()
	left := entry.Done(context.WithoutCancel(ctx)) // the processes that the program has left in its group
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

func (d *Driver) command(b *box.Box, e box.Exec, at site, s *cage.Streams) proc.Cmd {
	c := proc.Cmd{
		Argv: e.Argv, Dir: at.dir, Env: d.environment(b, e, at, d.isKey),
		Stdin: s.In, Stdout: s.Out, Stderr: s.Err, TiedToUs: true,
	}
	if e.TTY != nil {
		c.Attr = func(a *syscall.SysProcAttr) {
			a.Setpgid, a.Setsid = false, true
			a.Setctty, a.Ctty = true, 0
		}
	}
	return c
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
	if signals == nil {
		return
	}
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
