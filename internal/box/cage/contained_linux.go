package cage

import (
	"context"
	"errors"
	"fmt"
	"net"
	"path/filepath"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/socket"
)

// Contained is a program in a container that an engine makes. Its init connects to our socket, and receives over it
// what the init of a native box starts with: arguments, streams, terminals, signals and ends work the same in both.
type Contained struct {
	User     User // who the program is on the host
	Plan     *jail.Plan
	Limits   box.Limits
	Registry Registry
	Scratch  []string // as in Cage
	Watchdog bool     // no cgroup bounds the memory
	// Start has the engine make and start the container, in which Control is visible, and returns when that is done.
	Start func(ctx context.Context) error
	// Control is a separate directory for the socket.
	Control string
}

// Socket is the name of the socket in the Control directory.
const Socket = "starter"

// called is how long a running container may take to connect.
const called = 2 * time.Minute

// Run runs the program of e, which the plan also names, and returns when it and all its descendants are gone.
func (c *Contained) Run(ctx context.Context, e box.Exec) error {
	return supervise(ctx, c.User, c.Registry, c.Limits, e, c.run)
}

func (c *Contained) run(ctx context.Context, e box.Exec, entry *run, s *Streams) (jail.Result, error) {
	var res jail.Result
	in, err := c.startAndAccept(ctx)
	if err != nil {
		return res, err
	}
	defer in.close()
	if err := entry.started(in.pid, nil); err != nil {
		return res, errors.Join(err, in.kill())
	}
	if err := in.sendPlan(c.Plan, s, entry); err != nil {
		return res, errors.Join(err, in.kill())
	}
	s.Release()
	defer context.AfterFunc(ctx, func() { _ = in.kill() })()
	g := &group{}
	if c.Watchdog {
		g.watchdog = c.Limits.Memory
	}
	said := readReport(in.conn, e.Signals)
	defer said.close()
	defer g.watch(ctx, in.pid, c.Scratch, said.views)()
	return said.result(func() error {
		if err := awaitEnd(context.WithoutCancel(ctx), in.pidfd, in.pid); err != nil {
			return err
		}
		killed := syscall.SIGKILL // nothing else ends it without a result
		return &proc.ExitError{Argv: []string{"cco-box", "init"}, Code: 128 + int(killed), Signal: killed}
	}, true)
}

// caller is an init that has connected.
type caller struct {
	conn  *net.UnixConn
	pid   int // as we see it
	pidfd int
}

// startAndAccept starts the container and accepts its connection.
func (c *Contained) startAndAccept(ctx context.Context) (*caller, error) {
	l, err := socket.ListenAll(filepath.Join(c.Control, Socket))
	if err != nil {
		return nil, fmt.Errorf("make control socket: %w", err)
	}
	defer func() { _ = l.Close() }()
	started := make(chan error, 1)
	go func() {
		err := c.Start(ctx)
		if err != nil {
			_ = l.SetDeadline(time.Now())
		} else {
			_ = l.SetDeadline(time.Now().Add(called))
		}
		started <- err
	}()
	defer context.AfterFunc(ctx, func() { _ = l.SetDeadline(time.Now()) })()
	conn, err := l.AcceptUnix()
	startErr := <-started // the engine has started it or has failed
	if err == nil && startErr == nil {
		return c.verifyCaller(conn)
	}
	if conn != nil {
		_ = conn.Close()
	}
	if startErr != nil {
		return nil, startErr
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	return nil, fmt.Errorf("the container has not connected: %w", err)
}

// verifyCaller asks the kernel whether the caller is the box's user, before any of the agent's code runs.
func (c *Contained) verifyCaller(conn *net.UnixConn) (*caller, error) {
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil, err
	}
	var cred *unix.Ucred
	var credErr error
	if err := raw.Control(func(fd uintptr) {
		cred, credErr = unix.GetsockoptUcred(int(fd), unix.SOL_SOCKET, unix.SO_PEERCRED)
	}); err != nil {
		return nil, err
	}
	if credErr != nil || int(cred.Uid) != c.User.UID || cred.Pid <= 0 {
		_ = conn.Close()
		return nil, errors.Join(credErr, errors.New("another process connected instead of the container"))
	}
	in := &caller{conn: conn, pid: int(cred.Pid)}
	if in.pidfd, err = unix.PidfdOpen(in.pid, 0); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("open process %d: %w", in.pid, err)
	}
	return in, nil
}

func (in *caller) close() {
	_ = in.conn.Close()
	closeFD(in.pidfd)
}

// sendPlan sends the descriptors and the plan to the init.
func (in *caller) sendPlan(p *jail.Plan, s *Streams, entry *run) error {
	rights := unix.UnixRights(int(s.In.Fd()), int(s.Out.Fd()), int(s.Err.Fd()), int(entry.file.Fd()))
	if _, _, err := in.conn.WriteMsgUnix([]byte{0}, rights, nil); err != nil {
		return fmt.Errorf("send descriptors: %w", err)
	}
	sacrifice(in.pid)
	if _, err := in.conn.Write(p.Encode()); err != nil {
		return fmt.Errorf("send plan: %w", err)
	}
	return nil
}

func (in *caller) kill() error { return killBy(in.pidfd, in.pid) }
