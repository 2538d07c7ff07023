package container

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
)

// Run runs a program in a container of its own and returns when it and everything that it started are gone.
func (d *Driver) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	if len(e.Argv) == 0 {
		return errors.New("run: no program")
	}
	e = e.Led(jail.Tool)
	up, err := d.Running(ctx, b)
	if err != nil {
		return err
	}
	if !up {
		return box.ErrNotRunning
	}
	id, err := rooms.Owner(b)
	if err != nil {
		return err
	}
	home, done, err := homeFor(id, rooms.Layout{Dir: b.Dir}, e)
	if err != nil {
		return err
	}
	defer done()
	return d.enter(ctx, b, id, home, e)
}

// homeFor is the session's home or, for a shell that belongs to none, a copy to throw away.
func homeFor(id rooms.Identity, l rooms.Layout, e box.Exec) (jail.Mount, func(), error) {
	home := jail.Mount{Target: jail.Home, Write: true}
	if e.Session != "" {
		if err := cage.CheckKey("session", e.Session); err != nil {
			return home, nil, err
		}
		home.Source = l.SessionHome(e.Session)
		if _, err := os.Lstat(home.Source); err != nil {
			return home, nil, fmt.Errorf("session %s is not in this box: %w", e.Session, err)
		}
		if e.Own && !e.Furnish {
			home.Source, home.Write = l.Home(), false
		}
		return home, func() {}, nil
	}
	if err := os.MkdirAll(l.Shells(), 0o700); err != nil {
		return home, nil, err
	}
	dir, err := os.MkdirTemp(l.Shells(), "")
	if err != nil {
		return home, nil, err
	}
	home.Source = dir
	done := func() { _ = tree.Remove(dir) }
	if err := errors.Join(id.Own(dir), id.CopyTree(l.Home(), dir)); err != nil {
		done()
		return home, nil, fmt.Errorf("copy home: %w", err)
	}
	return home, done, nil
}

// enter runs the program with a given home.
func (d *Driver) enter(ctx context.Context, b *box.Box, id rooms.Identity, home jail.Mount, e box.Exec) error {
	m, err := readMade(b)
	if err != nil {
		return err
	}
	r := &container{made: m, box: b, id: id, exec: e, limits: cage.LimitsFor(b, e), name: "cco-" + b.Name + "-" +
		strings.ToLower(rand.Text()[:12])}
	defer r.clear()
	if err := r.furnish(d.opts, home); err != nil {
		return err
	}
	c := &cage.Contained{
		User: id.User, Plan: r.plan(), Limits: r.limits, Registry: runs(b), Watchdog: !m.Memory,
		Scratch: []string{"/tmp", "/var/tmp", "/dev/shm"}, Control: r.control(), Start: r.start,
	}
	return c.Run(ctx, e)
}

// container is one container in the making.
type container struct {
	*made
	box    *box.Box
	id     rooms.Identity
	exec   box.Exec
	limits box.Limits
	name   string
	mounts []jail.Mount
}

// dir is what belongs to this container alone; all of it goes with it.
func (r *container) dir() string     { return filepath.Join(controls(r.box), r.name) }
func (r *container) control() string { return filepath.Join(r.dir(), "socket") }

func (r *container) clear() { _ = tree.Remove(r.dir()) }

// start has the engine make the container. Whatever goes wrong, none is left.
func (r *container) start(ctx context.Context) error {
	args, err := r.args()
	if err != nil {
		return err
	}
	// Some engines leave files where they are started, to tell of an end for want of memory.
	_, err = r.in(ctx, r.dir(), args...)
	if err == nil {
		return nil
	}
	undo, cancel := context.WithTimeout(context.WithoutCancel(ctx), answerTime)
	defer cancel()
	if left := r.remove(undo, r.name); left != nil {
		err = errors.Join(err, left)
	}
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		// its status must not pass for the program's
		return fmt.Errorf("start a container: %s", strings.TrimSpace(exit.Stderr))
	}
	return fmt.Errorf("start a container: %w", err)
}

// plan is what the init does in the container: it gives up what is left to give up, and starts the program.
func (r *container) plan() *jail.Plan {
	uid, gid := r.user()
	p := &jail.Plan{
		Contained: true, Hostname: r.box.Name, UID: uid, GID: gid, Seccomp: cage.Demand(r.box, cage.AcceptNoSeccomp),
		Argv: r.exec.Argv, Env: r.environment(), Dir: r.workDir(), TTY: r.exec.TTY != nil,
	}
	if !r.Pids {
		p.Procs = r.limits.Procs
	}
	return p
}

// user is who the program is in the container, so that on the host it is the box's user.
func (r *container) user() (uid, gid int) {
	if r.Rootless && r.Name == docker {
		return 0, 0 // root there is the user here, and has no capability
	}
	return r.id.UID, r.id.GID
}

func (r *container) workDir() string {
	switch {
	case r.exec.Dir != "":
		return r.exec.Dir
	case r.exec.Session != "":
		return "/workspace/" + r.exec.Session
	default:
		return jail.Home
	}
}
