package cage

import (
	"fmt"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

// Demand says how much a box insists on a layer: the layer may be missing only if the user has accepted that.
func Demand(b *box.Box, accept string) jail.Demand {
	if slices.Contains(b.Spec.Accept, accept) {
		return jail.IfPossible
	}
	return jail.Required
}

// unavailable says which layer is missing and how to go on without it.
func unavailable(res jail.Result) error {
	u := &box.Unavailable{What: res.Layer, Why: res.Err}
	switch res.Layer {
	case "landlock":
		u.Mend = "boot with lsm=landlock,… on Linux 5.19 or newer, or accept the weaker mode " + AcceptNoLandlock
	case jail.LayerProc:
		u.Why += ": this looks like a container with parts of its /proc hidden"
		u.Mend = "run the outer container with an unmasked /proc (docker run --security-opt systempaths=unconfined)"
	case "seccomp":
		u.Mend = "use a kernel with CONFIG_SECCOMP_FILTER, or accept the weaker mode " + AcceptNoSeccomp
	}
	return u
}

// Layers reports the layers that every cage has, given the result of a rehearsal.
func Layers(b *box.Box, res jail.Result) []box.Layer {
	limits := LimitsFor(b, box.Exec{})
	g := limitBy(b.Name, limits, true)
	defer g.remove()
	return []box.Layer{
		landlockLayer(b, res),
		{Name: "seccomp", Active: res.Seccomp, Detail: onOff(res.Seccomp, refused(b)+" refused",
			"this kernel has no filters")},
		{Name: "memory limit", Active: true, Detail: fmt.Sprintf("%d MB by %s", limits.Memory>>20, g.memory)},
		{Name: "process limit", Active: true, Detail: fmt.Sprintf("%d by %s", limits.Procs, g.procs)},
	}
}

// refused describes what the filter keeps out.
func refused(b *box.Box) string {
	const always = "keys, bpf, io_uring, odd sockets"
	if b.Spec.VM.Containers {
		return "networks and cgroups of its own, " + always
	}
	return "mounts, namespaces, " + always
}

func landlockLayer(b *box.Box, res jail.Result) box.Layer {
	if b.Spec.VM.Containers {
		return box.Layer{Name: "landlock", Detail: "off, for containers: sessions make namespaces, mount in them and see " +
			"all of /proc"}
	}
	if res.LandlockABI == 0 {
		return box.Layer{Name: "landlock", Detail: "this kernel has no usable one",
			Mend: "boot with lsm=landlock,… on Linux 5.19 or newer"}
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
