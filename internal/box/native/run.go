//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/tree"
)

// Run runs a program in the box and returns when it and everything that it started are gone.
func (d *Driver) Run(ctx context.Context, b *box.Box, e box.Exec) error {
	if len(e.Argv) == 0 {
		return errors.New("run: no program")
	}
	e = e.Led(jail.Tool)
	if up, err := d.Running(ctx, b); err != nil || !up {
		return errors.Join(err, notRunning(up))
	}
	id, err := d.owner(b)
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

func notRunning(up bool) error {
	if up {
		return nil
	}
	return box.ErrNotRunning
}

// homeFor is the session's home or, for a shell that belongs to none, a copy to throw away: in memory if it is small.
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
	if _, err := os.Lstat(l.Bulky()); errors.Is(err, fs.ErrNotExist) {
		home.Source, home.Copy = l.Home(), true
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
	if err := d.checkNested(b); err != nil {
		return err
	}
	limits := cage.LimitsFor(b, e)
	plan := sync.OnceValues(func() (*jail.Plan, error) { return d.plan(b, id, home, e, limits) })
	go func() { _, _ = plan() }()
	who, err := d.user(b, e.Session)
	if err != nil {
		return err
	}
	c := &cage.Cage{
		Tool: d.opts.Tool, Name: b.Name, User: who, Limits: limits, Registry: runs(b),
		Plan: &jail.Plan{UID: jail.UID, GID: jail.GID}, Late: plan,
		Scratch: []string{"/tmp", "/dev/shm", jail.Home},
	}
	if d.opts.Apart {
		if c.Plan, err = plan(); err != nil {
			return err
		}
		c.Late = nil
	}
	return c.Run(ctx, e)
}

func runs(b *box.Box) cage.Registry { return cage.Registry{Dir: rooms.Layout{Dir: b.Dir}.Run()} }
