package worktree

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// Run runs a program as the user, in the session's worktree. Its process group ends with it.
func (d *Driver) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	if b.Boot != up {
		return box.ErrNotRunning
	}
	if e.Limits.Time == 0 {
		e.Limits.Time = b.Spec.Limits.Time
	}
	if e.Limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, e.Limits.Time)
		defer cancel()
	}
	trace, err := os.CreateTemp(filepath.Join(b.Dir, "run"), "run-"+e.Session+"-*")
	if err != nil {
		return err
	}
	defer func() {
		_ = trace.Close()
		_ = os.Remove(trace.Name())
	}()
	if err := syscall.Flock(int(trace.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		return err
	}
	p, err := proc.Start(ctx, command(b, e))
	if err != nil {
		return err
	}
	// Whatever the program has left in its group goes with it.
	defer func() { _ = syscall.Kill(-p.Pid(), syscall.SIGKILL) }()
	if _, err := trace.WriteString(strconv.Itoa(p.Pid())); err != nil {
		_ = p.Signal(syscall.SIGKILL)
	}
	relay(p, e.Signals)
	if err := p.Wait(); err != nil {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return err
	}
	return nil
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

func command(b *box.Box, e box.Exec) proc.Cmd {
	c := proc.Cmd{
		Argv: e.Argv, Dir: e.Dir, Env: environment(b, e), Stdin: e.Stdin, Stdout: e.Stdout, Stderr: e.Stderr, TiedToUs: true,
	}
	if c.Dir == "" {
		c.Dir = b.Spec.Repo
		if e.Session != "" {
			c.Dir = workspace(b, e.Session)
		}
	}
	if e.TTY != nil {
		c.Stdin, c.Stdout, c.Stderr = e.TTY, e.TTY, e.TTY
		c.Attr = func(a *syscall.SysProcAttr) { a.Setpgid, a.Setsid, a.Setctty, a.Ctty = false, true, true, 0 }
	}
	return c
}

// environment is the user's own, without what would lead git elsewhere.
func environment(b *box.Box, e box.Exec) []string {
	var env []string
	for _, v := range os.Environ() {
		if !strings.HasPrefix(v, "GIT_") {
			env = append(env, v)
		}
	}
	if e.Session != "" {
		env = append(env, "CCO_SESSION="+e.Session)
	}
	// The skill is in the box's own configuration, which claude reads instead of the user's.
	env = append(env, "CLAUDE_CONFIG_DIR="+filepath.Join(b.Dir, "home", ".claude"))
	return append(append(env, b.Spec.Env...), e.Env...)
}

// end kills the process groups of a session's runs, or of all for "", and waits until they are gone.
func (d *Driver) end(ctx context.Context, b *box.Box, session string) error {
	traces, err := filepath.Glob(filepath.Join(b.Dir, "run", "run-"+session+"*"))
	if err != nil {
		return err
	}
	for _, name := range traces {
		if err := endOne(ctx, name); err != nil {
			return err
		}
	}
	return nil
}

// endOne kills one run. A trace that nobody holds locked was left by a starter that died; the system, or its
// starter's death, has then ended the run already, and its number may belong to somebody else by now.
func endOne(ctx context.Context, name string) error {
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for {
		f, err := os.Open(name)
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		err = syscall.Flock(int(f.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
		if err == nil {
			_ = f.Close()
			if err := os.Remove(name); err != nil && !errors.Is(err, os.ErrNotExist) {
				return err
			}
			return nil
		}
		text := make([]byte, 32)
		n, _ := f.Read(text)
		_ = f.Close()
		if pid, err := strconv.Atoi(string(text[:n])); err == nil && pid > 1 {
			_ = syscall.Kill(-pid, syscall.SIGKILL)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return fmt.Errorf("end %s: %w", filepath.Base(name), ctx.Err())
		}
	}
}
