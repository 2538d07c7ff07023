//go:build linux

package native

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/proc"
)

// Run runs a program in the box and returns when it and everything that it started are gone.
func (d *Driver) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	if len(e.Argv) == 0 {
		return errors.New("run: no program")
	}
	if up, err := d.Running(ctx, b); err != nil || !up {
		return errors.Join(err, notRunning(up))
	}
	id, err := owner(b)
	if err != nil {
		return err
	}
	home, done, err := id.homeFor(layout{b.Dir}, e)
	if err != nil {
		return err
	}
	defer done()
	return d.enter(ctx, b, id, home, e)
}

func notRunning(up bool) error {
	if up {
		return nil
	}
	return box.ErrNotRunning
}

// homeFor is the session's home or, for a shell that belongs to none, a copy to throw away: in memory if it is small.
func (id identity) homeFor(l layout, e box.Exec) (jail.Mount, func(), error) {
	home := jail.Mount{Target: jail.Home, Write: true}
	if e.Session != "" {
		if err := checkKey("session", e.Session); err != nil {
			return home, nil, err
		}
		home.Source = l.sessionHome(e.Session)
		if _, err := os.Lstat(home.Source); err != nil {
			return home, nil, fmt.Errorf("session %s is not in this box: %w", e.Session, err)
		}
		if e.Fill {
			// Whoever may write the store sees nothing that an agent could have put into a home.
			home.Source, home.Write = l.home(), false
		}
		return home, func() {}, nil
	}
	if _, err := os.Lstat(l.bulky()); errors.Is(err, fs.ErrNotExist) {
		home.Source, home.Copy = l.home(), true
		return home, func() {}, nil
	}
	if err := os.MkdirAll(l.shells(), 0o700); err != nil {
		return home, nil, err
	}
	dir, err := os.MkdirTemp(l.shells(), "")
	if err != nil {
		return home, nil, err
	}
	home.Source = dir
	done := func() { _ = removeAll(dir) }
	if err := errors.Join(id.own(dir), id.copyTree(l.home(), dir)); err != nil {
		done()
		return home, nil, fmt.Errorf("copy home: %w", err)
	}
	return home, done, nil
}

// enter runs the program with a given home.
func (d *Driver) enter(ctx context.Context, b *box.Box, id identity, home jail.Mount, e box.Exec) error {
	limits := limitsFor(b, e)
	plan, err := d.plan(b, id, home, e, limits)
	if err != nil {
		return err
	}
	reg, err := registry{layout{b.Dir}.run()}.add(e.Session)
	if err != nil {
		return err
	}
	defer reg.done()
	if e.TTY != nil && os.Getuid() == 0 {
		if err := e.TTY.Chown(id.uid, id.gid); err != nil {
			return fmt.Errorf("hand over terminal: %w", err)
		}
	}
	s, err := id.connect(e)
	if err != nil {
		return err
	}
	defer s.close()

	if limits.Time > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limits.Time, &box.LimitError{What: "time", Limit: limits.Time.String()})
		defer cancel()
	}
	in := &inner{tool: d.opts.Tool, id: id, plan: plan, run: reg, limits: limits, streams: s, signals: e.Signals, grace: e.Grace, name: b.Name}
	res, err := in.start(ctx)
	s.finish()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return verdict(e, res, s)
}

// inner is one init, from its start to its end.
type inner struct {
	tool    string
	name    string
	id      identity
	plan    *jail.Plan
	run     *run
	limits  box.Limits
	streams *streams
	signals <-chan syscall.Signal
	grace   time.Duration
}

// start starts the init, gives it its plan and waits for its result.
func (in *inner) start(ctx context.Context) (jail.Result, error) {
	var res jail.Result
	ours, theirs, err := socketPair()
	if err != nil {
		return res, err
	}
	defer func() { _ = ours.Close() }()
	defer func() { _ = theirs.Close() }()
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	p, group, err := in.launch(life, theirs)
	if err != nil {
		return res, diagnose(err)
	}
	defer group.remove()
	_ = theirs.Close()
	in.streams.release()
	if err := errors.Join(in.run.started(p.Pid(), group.dirs), send(ours, in.plan.Encode())); err != nil {
		_ = p.Signal(syscall.SIGKILL)
		return res, errors.Join(err, p.Wait())
	}
	// Not before the plan is through: what comes after it on the socket is signals.
	defer context.AfterFunc(ctx, func() { in.end(ours, p, kill) })()
	go in.relay(ours, p)
	defer group.watch(ctx, p.Pid())()
	waitErr := p.Wait()
	data, err := io.ReadAll(ours)
	if err != nil {
		return res, fmt.Errorf("read result: %w", err)
	}
	if len(data) == 0 {
		// It was killed: by Stop, by the kernel for want of memory, or because the context ended.
		return res, &lost{waitErr}
	}
	if err := json.Unmarshal(data, &res); err != nil {
		return res, fmt.Errorf("read result: %w", err)
	}
	return res, nil
}

// launch starts the init in the best group that can be had. Only the kernel knows whether a process may be born into a
// cgroup of version 2: a refusal there is not the end.
func (in *inner) launch(ctx context.Context, control *os.File) (*proc.Process, *group, error) {
	g := limitBy(in.name, in.limits, true)
	p, err := in.fork(ctx, control, g)
	if err != nil && g.into != nil {
		g.remove()
		g = limitBy(in.name, in.limits, false)
		p, err = in.fork(ctx, control, g)
	}
	if err != nil {
		g.remove()
		return nil, nil, err
	}
	return p, g, nil
}

func (in *inner) fork(ctx context.Context, control *os.File, g *group) (*proc.Process, error) {
	in.plan.Cgroups, in.plan.Procs = len(g.tasks), g.rlimit
	return proc.Start(ctx, proc.Cmd{
		Path:     in.tool,
		Argv:     []string{"cco-box", "init"},
		Dir:      "/",
		Env:      []string{}, // nothing of ours
		Stdin:    in.streams.in,
		Stdout:   in.streams.out,
		Stderr:   in.streams.err,
		Files:    append([]*os.File{control, in.run.file}, g.tasks...),
		Attr:     func(a *syscall.SysProcAttr) { in.id.namespaces(a); g.attr(a) },
		TiedToUs: true,
	})
}

// relay hands signals to the init, which passes them on to the program.
func (in *inner) relay(control io.Writer, p *proc.Process) {
	for {
		select {
		case s, ok := <-in.signals:
			if !ok {
				return
			}
			_, _ = control.Write([]byte{byte(s)})
		case <-p.Done():
			return
		}
	}
}

// end asks the program to stop, then kills it.
func (in *inner) end(control io.Writer, p *proc.Process, kill func()) {
	if in.grace > 0 {
		if _, err := control.Write([]byte{byte(syscall.SIGTERM)}); err == nil {
			t := time.NewTimer(in.grace)
			defer t.Stop()
			select {
			case <-p.Done():
			case <-t.C:
			}
		}
	}
	kill()
}

// lost is the end of an init that had no time to report.
type lost struct{ err error }

func (e *lost) Error() string { return "box ended: " + e.err.Error() }
func (e *lost) Unwrap() error { return e.err }

// namespaces asks the kernel for a process of its own world, owned by the box's user. It keeps, until it has built
// the box, the capabilities that building takes, and only over that world.
func (id identity) namespaces(a *syscall.SysProcAttr) {
	a.Setpgid, a.Setsid = false, true // the user's terminal stays behind
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET |
		unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: jail.UID, HostID: id.uid, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: jail.GID, HostID: id.gid, Size: 1}}
	a.GidMappingsEnableSetgroups = os.Getuid() == 0
	a.AmbientCaps = []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE,
	}
}

func socketPair() (ours, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make control socket: %w", err)
	}
	return os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control"), nil
}

func send(w io.Writer, plan []byte) error {
	if _, err := w.Write(plan); err != nil {
		return fmt.Errorf("send plan: %w", err)
	}
	return nil
}

// verdict turns the init's result into the error that Run promises.
func verdict(e box.Exec, res jail.Result, s *streams) error {
	exit := &proc.ExitError{Argv: e.Argv, Code: res.Exit, Stderr: s.tail()}
	switch {
	case res.NoExec != 0:
		exit.Code, exit.Stderr = res.NoExec, res.Err
	case res.Layer != "":
		return unavailable(res)
	case res.Err != "":
		return fmt.Errorf("build box: %s", res.Err)
	case res.Signal != 0:
		exit.Signal = syscall.Signal(res.Signal)
		exit.Code = 128 + res.Signal
	case res.Exit == 0:
		return nil
	}
	return exit
}

// repoDir is where a repository's objects are kept, made if need be.
func (id identity) repoDir(l layout, key string) (string, error) {
	if err := checkKey("repository", key); err != nil {
		return "", err
	}
	dir := l.repo(key)
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return "", err
	}
	err := os.Mkdir(dir, 0o700)
	if errors.Is(err, os.ErrExist) {
		return dir, nil
	}
	return dir, errors.Join(err, id.own(dir))
}
