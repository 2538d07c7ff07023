// Package container keeps boxes with podman or docker. Every program gets a container of its own, hardened as far as
// the engine can, with nothing in it but the image, cco's own programs and the session's three directories.
package container

// Options are what the driver needs to know of the host.
type Options struct {
	Tool  string // the cco-box to run inside, on the host
	Guard string // the cco-guard that agents' hooks run, on the host; "" if there is none
}
