package container

import (
	"context"
	"fmt"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/box/rooms"
)

// Layers reports the isolation of the box, as far as its engine provides it.
func (starter) Layers(ctx context.Context, b *box.Box) ([]box.Layer, error) {
	m, err := readMade(b)
	if err != nil {
		return nil, err
	}
	if _, err := m.output(ctx, "version", "--format", "json"); err != nil && m.Name == podman {
		return []box.Layer{{Name: "engine", Detail: err.Error()}}, nil
	}
	id, err := rooms.Owner(b)
	if err != nil {
		return nil, err
	}
	limits := cage.LimitsFor(b, box.Exec{})
	by := func(cgroup bool, other string) string {
		if cgroup {
			return "cgroup"
		}
		return other
	}
	list := []box.Layer{
		{Name: "engine", Active: true, Detail: m.Name + " " + m.Version},
		{Name: "rootless", Active: m.Rootless, Detail: "the engine itself has no rights on this machine"},
		{Name: "root", Active: true, Detail: "the image, read-only; of the host only the session's own directories"},
		{Name: "user", Active: true, Detail: fmt.Sprintf("uid %d on the host, no capabilities, no new privileges", id.UID)},
		{Name: "network", Active: true, Detail: "only its own loopback, and the session's door: " + b.Spec.Mode()},
		{Name: "seccomp", Active: true, Detail: "the engine's filter, and cco's own on top"},
		{Name: "memory limit", Active: true, Detail: fmt.Sprintf("%d MB by %s", limits.Memory>>20,
			by(m.Memory, cage.Watchdog))},
		{Name: "process limit", Active: true, Detail: fmt.Sprintf("%d by %s", limits.Procs, by(m.Pids, "rlimit"))},
		{Name: "cpu limit", Active: m.CPU, Detail: "by cgroup"},
	}
	return explain(list, m), nil
}

// explain says why a layer is missing, and what helps.
func explain(list []box.Layer, m *made) []box.Layer {
	for i := range list {
		if list[i].Active {
			continue
		}
		switch list[i].Name {
		case "rootless":
			list[i].Detail = "the engine runs as root: a flaw of it is root on this machine"
			list[i].Mend = "use podman as an ordinary user"
		case "cpu limit":
			list[i].Detail = "the engine can't set one here"
			list[i].Mend = "boot with cgroups of version 2 and delegate the cpu controller to your user"
		}
	}
	if m.SELinux {
		list = append(list, box.Layer{Name: "selinux",
			Detail: "switched off for these containers: their labels would keep them from the session's directories"})
	}
	return list
}

// Promises names the probes of the escape suite that must hold: all but those for sockets in the user's mounts, which
// engines show unchanged, and for the user's inotify instances, which no engine bounds.
func (starter) Promises(*box.Box) []string {
	return slices.DeleteFunc(probe.Names(), func(name string) bool {
		return name == probe.ShownSocket ||
			name == probe.LaterSocket || name == probe.UserLimits
	})
}
