// Package worktree starts programs at real paths of this machine. A session's workspace, home and exchange directory
// are where the host has them, and its repository borrows from the box's own store, as everywhere. On Linux the kernel
// shows the machine read-only around them, and of the user's home the toolchains. Elsewhere, or if the user accepts
// that, programs run as the user.
package worktree

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/box/rooms"
	"github.com/cco-dev/cco/internal/paths"
)

// Options tell the driver about the host.
type Options struct {
	Tool     string   // cco-box on this machine
	Guard    string   // cco-guard on this machine; "" if there is none
	Home     string   // the user's; "" means none
	Path     string   // the user's PATH: its directories stay visible wherever they are
	Programs []string // programs, such as agents' CLIs, that boxes see with their packages wherever they are on Path
	Hidden   []string // files that hold keys, beside those that host knows
	Env      []string // the user's environment, of which boxes get what is on a list
}

// starter starts the programs of worktree boxes.
type starter struct {
	opts  Options
	shown func() *host.Shown
}

// New makes a driver. It looks at nothing until it is used.
func New(o Options) box.Driver {
	return &rooms.Driver{
		Options: rooms.Options{Tool: o.Tool, Guard: o.Guard, Memory: true, Home: o.Home, Logins: host.Logins,
			Places: o.place},
		Starter: &starter{opts: o, shown: sync.OnceValue(func() *host.Shown {
			if o.Home == "" {
				return &host.Shown{}
			}
			return host.Open(o.Home, filepath.SplitList(o.Path), o.Programs)
		})},
	}
}

// place names everything as the host does.
func (o Options) place(b *box.Box, session string) box.Place {
	l := rooms.Layout{Dir: b.Dir}
	p := box.Place{Home: l.Home(), Tool: l.Tool("cco-box")}
	if session != "" {
		p.Home, p.Workspace = l.SessionHome(session), l.Workspace(session)
		p.Exchange, p.Store = filepath.Join(b.Exchange, session), store(l, session)
	}
	if o.Guard != "" {
		p.Guard = l.Tool("cco-guard")
	}
	if b.Spec.NoKernel() { // nothing can be shown anywhere else
		p.Tool, p.Guard = o.Tool, o.Guard
	}
	return p
}

// store is the name by which a session's repository knows the objects that it borrows.
func store(l rooms.Layout, session string) string { return filepath.Join(l.Session(session), "store") }

// Check never refuses: only git is needed, and cco does not run without it.
func (d *starter) Check(context.Context) error { return nil }

// Make refuses a box that requires the kernel's isolation where there is none. Otherwise it marks the box as one
// without it, and says so. It names the programs that the box can't start.
func (d *starter) Make(ctx context.Context, b *box.Box, report box.Report) error {
	if err := checkSpec(b); err != nil || b.Spec.NoKernel() {
		return err
	}
	_, err := d.rehearse(ctx, b)
	missing, ok := errors.AsType[*box.Unavailable](err)
	if ok && !b.Spec.RequireKernel {
		b.Spec.Accept = append(slices.Clone(b.Spec.Accept), box.AcceptNoKernel)
		report("no isolation: agents run as you, because %s", missing)
		return nil
	}
	if err == nil {
		d.tellUnseen(b, report)
	}
	return err
}

// tellUnseen names the programs on PATH that are in the home and that the box doesn't see, and what shows them.
func (d *starter) tellUnseen(b *box.Box, report box.Report) {
	missing := d.shown().Unseen(filepath.SplitList(d.opts.Path))
	for _, at := range slices.Sorted(maps.Keys(missing)) {
		if slices.ContainsFunc(b.Spec.Mounts, func(m box.Mount) bool { return paths.Within(at, filepath.Clean(m.Path)) }) {
			continue
		}
		names, more := missing[at], ""
		if len(names) > 5 {
			names, more = names[:5], fmt.Sprintf(" and %d more", len(names)-5)
		}
		report("not in this box: %s%s; this line in your settings shows them: box.mounts = [%q]",
			strings.Join(names, ", "), more, at)
	}
}

func checkSpec(b *box.Box) error {
	if b.Spec.NoKernel() && b.Spec.RequireKernel {
		return &box.Unavailable{What: "the kernel's isolation", Why: box.AcceptNoKernel + " was accepted",
			Mend: "ask for one of the two"}
	}
	return rooms.CheckSpec(b, rooms.CheckMount, box.AcceptNoKernel, cage.AcceptNoLandlock, cage.AcceptNoSeccomp)
}

// Ready makes sure that a box with the kernel's isolation still finds it.
func (d *starter) Ready(ctx context.Context, b *box.Box) error {
	if err := checkSpec(b); err != nil || b.Spec.NoKernel() {
		return err
	}
	_, err := d.rehearse(ctx, b)
	return err
}

// Try has nothing to do after Ready.
func (d *starter) Try(context.Context, *box.Box, func(box.Exec) error) error { return nil }

// Stopped does nothing: programs leave nothing behind.
func (d *starter) Stopped(context.Context, *box.Box) error { return nil }

// Enter runs a program, with the kernel's isolation unless the box has none.
func (d *starter) Enter(ctx context.Context, b *box.Box, r rooms.Room, e box.Exec) error {
	if err := checkSpec(b); err != nil {
		return err
	}
	if e.Session != "" && e.Repo != "" {
		l := rooms.Layout{Dir: b.Dir}
		err := os.Symlink(filepath.Join("..", "..", "repos", filepath.Base(l.Repo(e.Repo))), store(l, e.Session))
		if err != nil && !errors.Is(err, os.ErrExist) {
			return err
		}
	}
	if b.Spec.NoKernel() {
		return d.runPlain(ctx, b, r, e)
	}
	return d.runCaged(ctx, b, r, e)
}

// Layers builds the box once and reports the layers in force; without the kernel it reports that there are none.
func (d *starter) Layers(ctx context.Context, b *box.Box) ([]box.Layer, error) {
	none := box.Layer{Name: "isolation",
		Detail: "none: agents run as you, and can read and write whatever you can"}
	weak := *b
	weak.Spec.Accept = []string{cage.AcceptNoLandlock, cage.AcceptNoSeccomp}
	res, err := d.rehearse(ctx, &weak)
	missing, unavailable := errors.AsType[*box.Unavailable](err)
	switch {
	case unavailable:
		none.Detail += " (" + missing.What + ": " + missing.Why + ")"
		none.Mend = missing.Mend
	case err != nil:
		return nil, err
	case b.Spec.NoKernel():
		none.Mend = "this machine has what it takes: make the box again, without accepting " + box.AcceptNoKernel
	default:
		return caged(b, res), nil
	}
	return []box.Layer{none}, nil
}

// unkept are the probes that get through even with the kernel's isolation: a worktree box shows the machine outside of
// the home as the user sees it.
func unkept() []string { return []string{"host-home", "host-repository-read"} }

// Promises names the probes that must hold: with the kernel's isolation, all but those in unkept.
func (d *starter) Promises(b *box.Box) []string {
	if b.Spec.NoKernel() {
		return nil
	}
	return slices.DeleteFunc(probe.Names(), func(name string) bool { return slices.Contains(unkept(), name) })
}
