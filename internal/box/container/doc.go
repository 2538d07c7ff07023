// Package container keeps boxes with podman or docker. Every program gets a container of its own, hardened as far as
// the engine can, that holds only the image, cco's own programs and the session's three directories.
package container

// Options tell the driver about the host.
type Options struct {
	Tool  string // the cco-box to run inside, on the host
	Guard string // the cco-guard that agents' hooks run, on the host; "" if there is none
}
