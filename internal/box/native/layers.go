//go:build linux

package native

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// The weaker modes that a user can accept by name.
const (
	acceptNoLandlock = "no-landlock"
	acceptNoSeccomp  = "no-seccomp"
)

// rehearse builds a box that nobody lives in and reports what it got. Its error says what is missing.
func (d *Driver) rehearse(ctx context.Context, b *box.Box) (jail.Result, error) {
	dir, err := os.MkdirTemp("", "cco-check-")
	if err != nil {
		return jail.Result{}, err
	}
	defer func() { _ = removeAll(dir) }()
	reg := registry{layout{dir}.run()}
	if err := reg.open(); err != nil {
		return jail.Result{}, err
	}
	run, err := reg.add("")
	if err != nil {
		return jail.Result{}, err
	}
	defer run.done()
	id := identity{os.Getuid(), os.Getgid()}
	if id.uid == 0 {
		id = identity{firstUID, firstUID}
	}
	s, err := id.connect(box.Exec{})
	if err != nil {
		return jail.Result{}, err
	}
	defer s.close()
	limits := limitsFor(b, box.Exec{})
	in := &inner{tool: d.opts.Tool, name: b.Name, id: id, plan: d.basePlan(b, limits), run: run, limits: limits, streams: s}
	res, err := in.start(ctx)
	s.finish()
	switch {
	case err != nil:
		return res, err
	case res.Layer != "":
		return res, unavailable(res)
	case res.Err != "":
		return res, diagnose(errors.New(res.Err))
	}
	return res, nil
}

// unavailable says which layer is missing and how to go on without it.
func unavailable(res jail.Result) error {
	u := &box.Unavailable{What: res.Layer, Why: res.Err}
	switch res.Layer {
	case "landlock":
		u.Mend = "boot with lsm=landlock,… on Linux 5.19 or newer, or accept the weaker mode " + acceptNoLandlock
	case "seccomp":
		u.Mend = "use a kernel with CONFIG_SECCOMP_FILTER, or accept the weaker mode " + acceptNoSeccomp
	}
	return u
}

// Layers reports what is in force, by building the box once.
func (d *Driver) Layers(ctx context.Context, b *box.Box) ([]box.Layer, error) {
	weak := *b
	weak.Spec.Accept = []string{acceptNoLandlock, acceptNoSeccomp}
	res, err := d.rehearse(ctx, &weak)
	if u, ok := errors.AsType[*box.Unavailable](err); ok {
		return []box.Layer{{Name: u.What, Detail: u.Why, Mend: u.Mend}}, nil
	}
	if err != nil {
		return nil, err
	}
	id, err := owner(b)
	if err != nil {
		id = identity{os.Getuid(), os.Getgid()}
	}
	limits := limitsFor(b, box.Exec{})
	g := limitBy(b.Name, limits, true)
	defer g.remove()
	return []box.Layer{
		{Name: "namespaces", Active: true, Detail: "user, mount, pid, net, ipc, uts, cgroup"},
		{Name: "root", Active: true, Detail: "read-only system directories, nothing else of the host"},
		{Name: "user", Active: true, Detail: fmt.Sprintf("uid %d on the host, no capabilities, no new privileges", id.uid)},
		landlockLayer(res),
		{Name: "seccomp", Active: res.Seccomp, Detail: onOff(res.Seccomp, "mounts, namespaces, keys, bpf, io_uring, odd sockets refused", "this kernel has no filters")},
		{Name: "network", Active: true, Detail: "none but its own loopback"},
		{Name: "memory limit", Active: true, Detail: fmt.Sprintf("%d MB by %s", limits.Memory>>20, g.memory)},
		{Name: "process limit", Active: true, Detail: fmt.Sprintf("%d by %s", limits.Procs, g.procs)},
	}, nil
}

func landlockLayer(res jail.Result) box.Layer {
	if res.LandlockABI == 0 {
		return box.Layer{Name: "landlock", Detail: "this kernel has none that is usable", Mend: "boot with lsm=landlock,… on Linux 5.19 or newer"}
	}
	l := box.Layer{Name: "landlock", Active: true, Detail: fmt.Sprintf("version %d", res.LandlockABI)}
	if res.LandlockABI < 6 {
		l.Detail += ", files only: signals and abstract sockets are kept in by the namespaces alone"
	}
	return l
}

func onOff(on bool, yes, no string) string {
	if on {
		return yes
	}
	return no
}
