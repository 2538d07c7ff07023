// Package container keeps boxes with podman or docker. Every program gets a container of its own, hardened as far as
// the engine can, with nothing in it but the image, cco's own programs and the session's three directories.
package container

import (
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
)

// Options are what the driver needs to know of the host.
type Options struct {
	Tool  string // the cco-box to run inside, on the host
	Guard string // the cco-guard that agents' hooks run, on the host; "" if there is none
}

// Promises names the probes of the escape suite that must hold: all but those of sockets in what the user mounts, which
// engines show as it is.
func (d *Driver) Promises(*box.Box) []string {
	return slices.DeleteFunc(probe.Names(), func(name string) bool {
		return name == probe.ShownSocket ||
			name == probe.LaterSocket
	})
}
