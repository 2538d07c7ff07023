package worktree

import (
	"context"
	"errors"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/probe"
)

// weaker are the modes that a user can accept beside AcceptNoKernel.
func weaker() []string { return []string{cage.AcceptNoLandlock, cage.AcceptNoSeccomp} }

// Layers builds the box once and reports the layers in force; without the kernel it reports that there are none.
func (d *Driver) Layers(ctx context.Context, b *box.Box) ([]box.Layer, error) {
	none := box.Layer{Name: "isolation", Detail: "none: agents share the repository's .git, run as you and can write " +
		"whatever you can"}
	weak := *b
	weak.Spec.Accept = weaker()
	res, err := d.rehearse(ctx, &weak)
	missing, unavailable := errors.AsType[*box.Unavailable](err)
	switch {
	case unavailable:
		none.Detail += " (" + missing.What + ": " + missing.Why + ")"
		none.Mend = missing.Mend
	case err != nil:
		return nil, err
	case plain(b):
		none.Mend = "this machine has what it takes: make the box again, without accepting " + AcceptNoKernel
	default:
		return caged(b, res), nil
	}
	return []box.Layer{none}, nil
}

// unkept are the probes that get through even with the kernel's isolation: a worktree box shows the machine as the user
// sees it, with the user's environment and the visible sockets, and has no home and no store of its own.
func unkept() []string {
	return []string{
		"host-home", "host-repository-read", "other-home", "store", "environment", "path-socket", probe.ShownSocket,
		probe.LaterSocket,
	}
}

// Promises names the probes that must hold: with the kernel's isolation, all but those in unkept.
func (d *Driver) Promises(b *box.Box) []string {
	if plain(b) {
		return nil
	}
	return slices.DeleteFunc(probe.Names(), func(name string) bool { return slices.Contains(unkept(), name) })
}
