package worktree

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/proc"
)

// lingering is how long to wait for output that a process outside the program's group holds open.
const lingering = time.Second

// runPlain runs a program without isolation. Its process group ends with it.
func (d *starter) runPlain(ctx context.Context, b *box.Box, r rooms.Room, e box.Exec) error {
	if e.Aside {
		return errors.New("without the kernel's isolation what a program writes to caches can't be thrown away")
	}
	r.Place.Home = r.Home.Source
	if err := errors.Join(d.linkGit(b), linkCaches(b, r, e)); err != nil {
		return err
	}
	if limit := cmp.Or(e.Limits.Time, b.Spec.Limits.Time); limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &box.LimitError{What: "time", Limit: limit.String()})
		defer cancel()
	}
	entry, err := rooms.Runs(b).Add(e.Session)
	if err != nil {
		return err
	}
	s, err := cage.Me().Connect(e)
	if err != nil {
		return errors.Join(err, entry.Done(ctx))
	}
	defer s.Close()
	c := d.command(b, r, e, s)
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

func (d *starter) command(b *box.Box, r rooms.Room, e box.Exec, s *cage.Streams) proc.Cmd {
	c := proc.Cmd{
		Argv: e.Argv, Dir: r.WorkDir(e), Env: d.environment(b, r, e),
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

// linkGit puts cco-box, named git, into a directory that is first on the programs' PATH.
func (d *starter) linkGit(b *box.Box) error {
	dir := rooms.Layout{Dir: b.Dir}.ToolDir()
	link := filepath.Join(dir, "git")
	if now, err := os.Readlink(link); err == nil && now == d.opts.Tool {
		return nil
	}
	tmp := filepath.Join(dir, "git-"+rand.Text()) // others may do the same
	return errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(d.opts.Tool, tmp), os.Rename(tmp, link))
}

// linkCaches leads from the home to the box's caches, where the program has put nothing else.
func linkCaches(b *box.Box, r rooms.Room, e box.Exec) error {
	if e.Own {
		return nil
	}
	caches, err := r.ID.Caches(b)
	if err != nil {
		return err
	}
	root, err := os.OpenRoot(r.Place.Home)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }()
	for _, c := range caches {
		// A program that has made something else of these names has no cache.
		if root.MkdirAll(filepath.Dir(c.Name), 0o755) == nil {
			_ = root.Symlink(c.Dir, c.Name)
		}
	}
	return nil
}
