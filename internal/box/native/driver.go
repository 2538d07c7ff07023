//go:build linux

package native

import (
	"context"
	"path/filepath"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// starter starts the programs of native boxes.
type starter struct {
	opts  Options
	shown func() *host.Shown
}

// New makes a driver. It looks at nothing until it is used.
func New(o Options) box.Driver {
	return &rooms.Driver{
		Options: rooms.Options{Tool: o.Tool, Guard: o.Guard, Apart: o.Apart, Foreign: o.Foreign, Memory: true, Home: o.Home,
			Logins: host.Logins},
		Starter: &starter{opts: o, shown: sync.OnceValue(func() *host.Shown {
			if o.Home == "" {
				return &host.Shown{}
			}
			return host.Find(o.Home, filepath.SplitList(o.Path), o.Programs)
		})},
	}
}

// Check quickly builds an empty box, and says what is missing if that fails.
func (d *starter) Check(ctx context.Context) error { return d.Ready(ctx, &box.Box{Name: "check"}) }

// Make checks the user's settings.
func (d *starter) Make(ctx context.Context, b *box.Box, report box.Report) error {
	if err := d.Ready(ctx, b); err != nil {
		return err
	}
	if err := rooms.CheckSpec(b, rooms.CheckMount, cage.AcceptNoLandlock, cage.AcceptNoSeccomp); err != nil {
		return err
	}
	report("making box %s", b.Name)
	return nil
}

// Ready builds the box without a program in it.
func (d *starter) Ready(ctx context.Context, b *box.Box) error {
	_, err := d.rehearse(ctx, b)
	return err
}

// Try has nothing to do after Ready.
func (d *starter) Try(context.Context, *box.Box, func(box.Exec) error) error { return nil }

// Stopped does nothing: programs leave nothing behind.
func (d *starter) Stopped(context.Context, *box.Box) error { return nil }

// Promises names the probes of the escape suite that must hold: all of them, unless sessions run containers.
func (d *starter) Promises(b *box.Box) []string { return probe.Promised(b.Spec.VM.Containers) }

// Enter runs a program with the kernel's isolation.
func (d *starter) Enter(ctx context.Context, b *box.Box, r rooms.Room, e box.Exec) error {
	if err := d.checkNested(b); err != nil {
		return err
	}
	limits := cage.LimitsFor(b, e)
	plan := sync.OnceValues(func() (*jail.Plan, error) { return d.plan(b, r, e, limits) })
	go func() { _, _ = plan() }()
	c := &cage.Cage{
		Tool: d.opts.Tool, Name: b.Name, User: r.User, Limits: limits, Registry: rooms.Runs(b),
		Plan: &jail.Plan{UID: jail.UID, GID: jail.GID, Mounts: []jail.Mount{{Layer: r.Over}}}, Late: plan,
		Scratch: []string{"/tmp", "/dev/shm", jail.Home},
	}
	if d.opts.Apart {
		var err error
		if c.Plan, err = plan(); err != nil {
			return err
		}
		c.Late = nil
	}
	return c.Run(ctx, e)
}

// hand marks the box's own mounts that have to be Handed.
func (d *starter) hand(b *box.Box, mounts []jail.Mount) {
	if !d.opts.Apart {
		return
	}
	tools := rooms.Layout{Dir: b.Dir}.ToolDir()
	for i, m := range mounts {
		// Another machine's files are behind a directory that neither root without its rights nor the session may enter.
		mounts[i].Plain = paths.Within(m.Source, b.Exchange)
		mounts[i].Handed = mounts[i].Plain || paths.Within(m.Source, b.Dir) && !paths.Within(m.Source, tools)
	}
}
