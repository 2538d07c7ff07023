//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/box/rooms"
)

// rehearse builds a box without a program and reports which layers it got. Its error says what is missing.
func (d *starter) rehearse(ctx context.Context, b *box.Box) (jail.Result, error) {
	if err := d.checkNested(b); err != nil {
		return jail.Result{}, err
	}
	user := cage.Me()
	if user.UID == 0 {
		user = cage.User{UID: cage.FirstUID, GID: cage.FirstUID}
	}
	limits := cage.LimitsFor(b, box.Exec{})
	plan := d.basePlan(b, limits)
	// If these are missing, the error comes when somebody uses them.
	if extra, err := d.extraMounts(b); err == nil {
		plan.Mounts = append(plan.Mounts, extra...)
	}
	return cage.Cage{Tool: d.opts.Tool, Name: b.Name, User: user, Plan: plan, Limits: limits}.Rehearse(ctx)
}

// socketsLayer says where a program could reach sockets of the host.
func socketsLayer(b *box.Box, res jail.Result) box.Layer {
	const after = "what is bound there after a program's start can be reached"
	l := box.Layer{Name: "sockets", Active: true, Detail: "none of the host's can be reached in what is shown"}
	if res.LandlockABI >= jail.UnixABI {
		return l // this holds wherever they are
	}
	if len(res.Bare) > 0 {
		l.Active, l.Lost = false, []string{probe.LaterSocket}
		l.Detail = fmt.Sprintf("no overlay over %s (%s): %s", strings.Join(res.Bare, ", "), res.BareWhy, after)
		l.Mend = "have nothing mounted below, on Linux 5.11 or newer, or a kernel whose Landlock has version 9"
	}
	for _, m := range b.Spec.Mounts {
		if m.Write {
			l.Detail += fmt.Sprintf("; %s is mounted for writing: %s", m.Path, after)
		}
	}
	return l
}

// Layers builds the box once and reports the layers in force.
func (d *starter) Layers(ctx context.Context, b *box.Box) ([]box.Layer, error) {
	weak := *b
	weak.Spec.Accept = []string{cage.AcceptNoLandlock, cage.AcceptNoSeccomp}
	res, err := d.rehearse(ctx, &weak)
	if u, ok := errors.AsType[*box.Unavailable](err); ok {
		return []box.Layer{{Name: u.What, Detail: u.Why, Mend: u.Mend}}, nil
	}
	if err != nil {
		return nil, err
	}
	id, err := rooms.Owner(b)
	if err != nil {
		id = rooms.Choose()
	}
	return append([]box.Layer{
		{Name: "namespaces", Active: true, Detail: "user, mount, pid, net, ipc, uts, cgroup"},
		{Name: "root", Active: true, Detail: "read-only system directories, nothing else of the host"},
		{Name: "user", Active: true, Detail: fmt.Sprintf("uid %d on the host, no capabilities, no new privileges", id.UID)},
		{Name: "network", Active: true, Detail: "none but its own loopback, and a door of the session's: " + b.Spec.Mode()},
		socketsLayer(b, res),
	}, cage.Layers(b, res)...), nil
}
