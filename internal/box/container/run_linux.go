package container

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/tree"
)

// Enter runs a program in a container of its own.
func (starter) Enter(ctx context.Context, b *box.Box, room rooms.Room, e box.Exec) error {
	m, err := readMade(b)
	if err != nil {
		return err
	}
	r := &container{
		made: m, box: b, id: room.ID, room: room, exec: e, limits: cage.LimitsFor(b, e),
		name: "cco-" + b.Name + "-" + strings.ToLower(rand.Text()[:12]),
	}
	defer r.clear()
	if err := r.furnish(room); err != nil {
		return err
	}
	c := &cage.Contained{
		User: room.User, Plan: r.plan(), Limits: r.limits, Registry: rooms.Runs(b), Watchdog: !m.Memory,
		Scratch: []string{"/tmp", "/var/tmp", "/dev/shm"}, Control: r.control(), Start: r.start,
	}
	return c.Run(ctx, e)
}

// container is one container that is being made.
type container struct {
	*made
	box    *box.Box
	id     rooms.Identity
	room   rooms.Room
	exec   box.Exec
	limits box.Limits
	name   string
	mounts []jail.Mount
}

// dir holds the files of this container alone; all of it is removed with the container.
func (r *container) dir() string     { return filepath.Join(r.box.Dir, controls, r.name) }
func (r *container) control() string { return filepath.Join(r.dir(), "socket") }

func (r *container) clear() { _ = tree.Remove(r.dir()) }

// start has the engine make the container. If anything fails, none is left.
func (r *container) start(ctx context.Context) error {
	args, err := r.args()
	if err != nil {
		return err
	}
	// Some engines report running out of memory in files where they were started.
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
		// its status must not be taken for the program's
		return fmt.Errorf("start a container: %s", strings.TrimSpace(exit.Stderr))
	}
	return fmt.Errorf("start a container: %w", err)
}

// plan is what the init does in the container: it gives up its remaining privileges and starts the program.
func (r *container) plan() *jail.Plan {
	uid, gid := r.user()
	p := &jail.Plan{
		Contained: true, Hostname: r.box.Name, UID: uid, GID: gid, Seccomp: cage.Demand(r.box, cage.AcceptNoSeccomp),
		Argv: r.exec.Argv, Env: r.environment(), Dir: r.room.WorkDir(r.exec), TTY: r.exec.TTY != nil,
	}
	if !r.Pids {
		p.Procs = r.limits.Procs
	}
	return p
}

// user is the program's user in the container, chosen so that on the host it is the box's user.
func (r *container) user() (uid, gid int) {
	if r.Rootless && r.Name == docker {
		return 0, 0 // root there is our user here, and has no capability
	}
	return r.id.UID, r.id.GID
}
