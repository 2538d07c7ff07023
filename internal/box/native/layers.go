//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/native/jail"
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
		{Name: "network", Active: true, Detail: "only its own loopback, and the session's door: " + b.Spec.Mode()},
		rooms.SocketsLayer(b, res),
	}, cage.Layers(b, res)...), nil
}
