package cage

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
)

// Cage is one init and its program, described but not yet started.
type Cage struct {
	Tool string // cco-box on the host
	Name string // the box, which gives cgroups their names
	User User   // who the program is on the host
	Plan *jail.Plan
	// Late returns the plan if Plan holds only the program's user, and whether there are layers. It is called once the
	// init starts, and its plan has no Handed mounts: making a plan and starting an init take equally long, and can run
	// side by side.
	Late     func() (*jail.Plan, error)
	Limits   box.Limits
	Registry Registry
	// Scratch names the cage's own filesystems in memory, whose content counts as its memory.
	Scratch []string
}

// Run runs the program of e, which the plan also names, and returns when it and all its descendants are gone.
func (c *Cage) Run(ctx context.Context, e box.Exec) error {
	return supervise(ctx, c.User, c.Registry, c.Limits, e,
		func(ctx context.Context, e box.Exec, entry *run, s *Streams) (jail.Result, error) {
			return (&inner{cage: c, entry: entry, streams: s, signals: e.Signals}).start(ctx)
		})
}

// supervise registers a run, connects its streams, limits its time and reports how it ended.
func supervise(ctx context.Context, u User, r Registry, l box.Limits, e box.Exec,
	start func(context.Context, box.Exec, *run, *Streams) (jail.Result, error)) error {
	entry, err := r.add(e.Session)
	if err != nil {
		return err
	}
	defer entry.done()
	if e.TTY != nil && u.foreign() {
		if err := e.TTY.Chown(u.UID, u.GID); err != nil {
			return fmt.Errorf("hand over terminal: %w", err)
		}
	}
	s, err := u.Connect(e)
	if err != nil {
		return err
	}
	defer s.Close()
	if limit := l.Time; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, &box.LimitError{What: "time", Limit: limit.String()})
		defer cancel()
	}
	res, err := start(ctx, e, entry, s)
	s.Finish()
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err != nil {
		return err
	}
	return verdict(e, res, s)
}

// Rehearse builds the cage without a program and reports which layers it got. Its error says what is missing.
func (c Cage) Rehearse(ctx context.Context) (jail.Result, error) {
	dir, err := os.MkdirTemp("", "cco-check-")
	if err != nil {
		return jail.Result{}, err
	}
	defer func() { _ = tree.Remove(dir) }()
	c.Registry = Registry{dir}
	if err := c.Registry.Open(); err != nil {
		return jail.Result{}, err
	}
	entry, err := c.Registry.add("")
	if err != nil {
		return jail.Result{}, err
	}
	defer entry.done()
	s, err := c.User.Connect(box.Exec{})
	if err != nil {
		return jail.Result{}, err
	}
	defer s.Close()
	res, err := (&inner{cage: &c, entry: entry, streams: s}).start(ctx)
	s.Finish()
	switch {
	case err != nil:
		return res, err
	case res.Layer != "":
		return res, unavailable(res)
	case res.Err != "":
		return res, Diagnose(&refusedError{res})
	}
	return res, nil
}

// room is the number of descriptors that an init can open from the start: it opens everything that it mounts. To
// enlarge the table later, the kernel would make a process with several threads wait for all cores, some milliseconds.
const room = 250

// inner is one init, from its start to its end.
type inner struct {
	cage    *Cage
	entry   *run
	trees   handed
	streams *Streams
	signals <-chan syscall.Signal
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
	defer func() { in.trees.close() }()
	if err := in.trees.cloneTrees(in.cage.Plan); err != nil {
		return res, err
	}
	life, kill := context.WithCancel(context.WithoutCancel(ctx))
	defer kill()
	p, group, err := in.launch(life, theirs)
	if err != nil {
		return res, Diagnose(err)
	}
	defer group.remove()
	_ = theirs.Close()
	in.streams.Release()
	if err := in.registerAndSendPlan(ours, p, group); err != nil {
		_ = p.Signal(syscall.SIGKILL)
		return res, errors.Join(err, p.Wait())
	}
	// This has to wait until the plan is sent: everything after the plan on the socket is signals.
	if in.cage.Plan.Bare {
		kill = func() { _ = ours.CloseWrite() }
	}
	defer context.AfterFunc(ctx, kill)()
	said := readReport(ours, in.signals)
	defer said.close()
	defer group.watch(ctx, p.Pid(), in.cage.Scratch, said.views)()
	return said.result(p.Wait, group.into != nil) // in a group of version 2, which can be removed only after it
}

// registerAndSendPlan registers an init that has started, and lets it begin.
func (in *inner) registerAndSendPlan(control io.Writer, p *proc.Process, g *group) error {
	if err := in.entry.started(p.Pid(), g.dirs); err != nil {
		return err
	}
	if err := in.trees.mapTo(p.Pid()); err != nil {
		return err
	}
	sacrifice(p.Pid())
	if in.cage.Late != nil {
		plan, err := in.cage.Late()
		if err != nil {
			return err
		}
		in.cage.Plan = plan
	}
	in.cage.Plan.Cgroups, in.cage.Plan.Procs = len(g.join), g.rlimit
	if _, err := control.Write(in.cage.Plan.Encode()); err != nil {
		return fmt.Errorf("send plan: %w", err)
	}
	return nil
}

// launch starts the init in the best group available. Only the kernel knows whether a process may start in a cgroup of
// version 2: if it refuses, the next best group is tried.
func (in *inner) launch(ctx context.Context, control *os.File) (*proc.Process, *group, error) {
	// Go asks once whether the kernel has pidfds, with a process of its own. Side by side that costs nothing.
	go func() { _, _ = os.FindProcess(os.Getpid()) }()
	// Without namespaces all that the user runs would count as the program's processes.
	g := &group{watchdog: in.cage.Limits.Memory}
	if !in.cage.Plan.Bare {
		g = limitBy(in.cage.Name, in.cage.Limits, true)
	}
	p, err := in.fork(ctx, control, g)
	if err != nil && g.into != nil {
		g.remove()
		g = limitBy(in.cage.Name, in.cage.Limits, false)
		p, err = in.fork(ctx, control, g)
	}
	if err != nil {
		g.remove()
		return nil, nil, err
	}
	return p, g, nil
}

func (in *inner) fork(ctx context.Context, control *os.File, g *group) (*proc.Process, error) {
	return proc.Start(ctx, proc.Cmd{
		Path:   in.cage.Tool,
		Argv:   []string{"cco-box", "init"},
		Dir:    "/",
		Env:    []string{"GOMAXPROCS=1"}, // nothing of our own environment; with one thread it starts sooner
		Stdin:  in.streams.In,
		Stdout: in.streams.Out,
		Stderr: in.streams.Err,
		Files:  slices.Concat([]*os.File{control, in.entry.file}, g.join, g.leave, in.trees, make([]*os.File, room)),
		Attr:   func(a *syscall.SysProcAttr) { in.cage.namespaces(a); g.attr(a) },
		// A Bare one is told by its socket, and ends what the program has started before it ends itself.
		TiedToUs: !in.cage.Plan.Bare,
	})
}

// lost is the error of an init that had no time to report.
type lost struct{ err error }

func (e *lost) Error() string { return "box ended: " + e.err.Error() }
func (e *lost) Unwrap() error { return e.err }

// namespaces asks the kernel for a process in namespaces of its own, owned by the program's user. Until the cage is
// built it keeps the capabilities that this needs, and only over those namespaces.
func (c *Cage) namespaces(a *syscall.SysProcAttr) {
	a.Setpgid, a.Setsid = false, true // the user's terminal stays behind
	if c.Plan.Bare {
		return
	}
	a.Cloneflags = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWIPC
	if !c.Plan.Network {
		a.Cloneflags |= unix.CLONE_NEWNET
	}
	if !c.Plan.Shared {
		a.Cloneflags |= unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	}
	a.UidMappings = []syscall.SysProcIDMap{{ContainerID: c.Plan.UID, HostID: c.User.UID, Size: 1}}
	a.GidMappings = []syscall.SysProcIDMap{{ContainerID: c.Plan.GID, HostID: c.User.GID, Size: 1}}
	a.GidMappingsEnableSetgroups = os.Getuid() == 0
	a.AmbientCaps = []uintptr{
		unix.CAP_SYS_ADMIN, unix.CAP_NET_ADMIN, unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SYS_RESOURCE,
	}
	if slices.ContainsFunc(c.Plan.Mounts, func(m jail.Mount) bool { return m.Layer != "" }) {
		// A layer works with the rights of its maker, in a directory that nobody else may enter.
		a.AmbientCaps = append(a.AmbientCaps, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_CHOWN)
	}
}

func socketPair() (ours *net.UnixConn, theirs *os.File, err error) {
	fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return nil, nil, fmt.Errorf("make control socket: %w", err)
	}
	near, theirs := os.NewFile(uintptr(fds[0]), "control"), os.NewFile(uintptr(fds[1]), "control")
	defer func() { _ = near.Close() }()
	conn, err := net.FileConn(near)
	if err != nil {
		_ = theirs.Close()
		return nil, nil, fmt.Errorf("make control socket: %w", err)
	}
	return conn.(*net.UnixConn), theirs, nil // a unix socket always is one
}

// verdict turns the init's result into the error that Run documents.
func verdict(e box.Exec, res jail.Result, s *Streams) error {
	exit := &proc.ExitError{Argv: e.Argv, Code: res.Exit, Stderr: s.Tail()}
	switch {
	case res.NoExec != 0:
		exit.Code, exit.Stderr = res.NoExec, res.Err
	case res.Layer != "":
		return unavailable(res)
	case res.Err != "":
		return fmt.Errorf("build box: %w", &refusedError{res})
	case res.Signal != 0:
		exit.Signal = syscall.Signal(res.Signal)
		exit.Code = 128 + res.Signal
	case res.Exit == 0:
		return nil
	}
	return exit
}
