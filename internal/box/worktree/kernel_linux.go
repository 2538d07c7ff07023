package worktree

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// runCaged runs a program with the kernel's isolation.
func (d *starter) runCaged(ctx context.Context, b *box.Box, r rooms.Room, e box.Exec) error {
	limits := cage.LimitsFor(b, e)
	plan := sync.OnceValues(func() (*jail.Plan, error) { return d.plan(b, r, e, limits) })
	go func() { _, _ = plan() }()
	me := cage.Me()
	c := &cage.Cage{
		Tool: d.opts.Tool, Name: b.Name, User: r.User, Limits: limits, Registry: rooms.Runs(b),
		Plan: &jail.Plan{Shared: true, UID: me.UID, GID: me.GID, Mounts: []jail.Mount{{Layer: r.Over}}}, Late: plan,
		Scratch: []string{"/tmp", "/var/tmp", "/dev/shm", r.Place.Home},
	}
	return c.Run(ctx, e)
}

// rehearse builds the machine's view without a program in it.
func (d *starter) rehearse(ctx context.Context, b *box.Box) (jail.Result, error) {
	user := cage.Me()
	if user.UID == 0 {
		user = cage.User{UID: cage.FirstUID, GID: cage.FirstUID}
	}
	limits := cage.LimitsFor(b, box.Exec{})
	p, v, err := d.basePlan(b, box.Exec{}, limits)
	if err != nil {
		return jail.Result{}, err
	}
	v.Finish(p)
	return cage.Cage{Tool: d.opts.Tool, Name: b.Name, User: user, Plan: p, Limits: limits}.Rehearse(ctx)
}

// basePlan is the plan of a box without a program: the machine, without what is hidden.
//
// Root's program is root only to itself. On the host it has a user id that nobody has: as root, even without any
// capability, it could write what the kernel lets its owner write, such as core_pattern, and daemons that ask for the
// caller's user would obey it.
func (d *starter) basePlan(b *box.Box, e box.Exec, limits box.Limits) (*jail.Plan, *host.View, error) {
	me := cage.Me()
	p := &jail.Plan{
		Shared: true, UID: me.UID, GID: me.GID, Become: me.UID == 0, Tmp: limits.Memory / 2, Landlock: jail.IfPossible,
		Seccomp: cage.Demand(b, cage.AcceptNoSeccomp),
	}
	v := &host.View{Home: d.opts.Home, Foreign: me.UID == 0}
	for _, name := range []string{filepath.Dir(b.Exchange), filepath.Dir(b.Dir), b.Exchange, d.opts.Home} {
		v.KeepOpen(name)
	}
	for _, m := range b.Spec.Mounts {
		v.KeepOpen(filepath.Dir(m.Path))
	}
	for _, m := range e.Binds {
		v.KeepOpen(filepath.Dir(m.Path))
	}
	if err := v.System(p, e.Etc); err != nil {
		return nil, nil, err
	}
	d.furnish(v, p, b)
	return p, v, nil
}

// furnish decides what of the machine is hidden, and what is still shown of directories that are made new.
func (d *starter) furnish(v *host.View, p *jail.Plan, b *box.Box) {
	v.Furnish(p, host.User{Path: d.opts.Path, Mounts: b.Spec.Mounts, Hidden: d.opts.Hidden, Shown: d.shown()})
	// cco's own data holds every other session. If the home is in it, only the boxes and their sessions are hidden.
	if data := filepath.Dir(b.Exchange); data != "/" && !paths.Within(d.opts.Home, data) {
		v.Hide(data)
	}
	v.Hide(filepath.Dir(b.Dir))
	v.Hide(b.Exchange)
}

// plan decides everything that the init will do.
func (d *starter) plan(b *box.Box, r rooms.Room, e box.Exec, limits box.Limits) (*jail.Plan, error) {
	p, v, err := d.basePlan(b, e, limits)
	if err != nil {
		return nil, err
	}
	var doors []string
	for _, m := range e.Binds {
		real, err := m.Check(b)
		if err != nil {
			return nil, err
		}
		if m.Door {
			doors = append(doors, real)
		}
		v.Add(jail.Mount{Source: real, Target: real, Host: !m.Door})
	}
	v.Add(append([]jail.Mount{r.Home}, r.Mounts...)...)
	for _, f := range d.shown().Files { // in the session's own home as well, where shims look for them
		own, at := filepath.Join("/run/cco/home", f.Path), filepath.Join(r.Place.Home, f.Path)
		p.Files = append(p.Files, jail.File{Path: own, Data: f.Data, Mode: uint32(f.Mode)})
		st, err := os.Lstat(filepath.Join(r.Home.Source, f.Path))
		made := err == nil && st.Mode().IsRegular() && st.Size() == 0 // by an earlier mount
		if !e.Own && (made || errors.Is(err, fs.ErrNotExist)) {
			v.Add(jail.Mount{Source: own, Target: at, File: true, Own: true, Soft: true})
		}
	}
	caches, err := r.CacheMounts(b, e, false)
	if err != nil {
		return nil, err
	}
	v.Add(caches...)
	v.Finish(p)
	p.Reach = doors
	for _, m := range p.Mounts {
		// Caches below the home are writable with it. By name they could lead astray: the program may have put links there.
		if m.Write && !m.Device && (m.Target == r.Place.Home || !paths.Within(m.Target, r.Place.Home)) {
			p.Write = append(p.Write, m.Target)
			if !m.Host {
				p.Reach = append(p.Reach, m.Target)
			}
		}
	}
	p.Sockets = slices.DeleteFunc(host.BoundSockets(), func(socket string) bool {
		return !slices.ContainsFunc(p.Mounts, func(m jail.Mount) bool { return m.Host && paths.Within(socket, m.Source) })
	})
	p.Argv, p.TTY = e.Argv, e.TTY != nil
	p.Env = d.environment(b, r, e)
	p.Dir = r.WorkDir(e)
	return p, nil
}

// caged are the layers around a worktree box.
func caged(b *box.Box, res jail.Result) []box.Layer {
	user := "your own uid"
	if os.Getuid() == 0 {
		user = "a uid that nobody has: it sees what everybody may see"
	}
	return append([]box.Layer{
		{Name: "namespaces", Active: true, Detail: "user, mount, pid, net, ipc; the host name is yours"},
		{Name: "root", Active: true, Detail: "the machine read-only but the session's own; of your home the toolchains " +
			"alone; cco's data, /run and /tmp are out of sight"},
		{Name: "repository", Active: true, Detail: "the session's own, with objects from the box's store; nothing of yours " +
			"can be written"},
		{Name: "user", Active: true, Detail: user + "; no capabilities, no new privileges"},
		{Name: "network", Active: true, Detail: "only its own loopback, and the session's door: " + b.Spec.Mode()},
		rooms.SocketsLayer(b, res),
	}, cage.Layers(b, res)...)
}
