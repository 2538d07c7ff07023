//go:build !linux

package container

import "github.com/cco-dev/cco/internal/box"

// New makes a driver that says why there are no container boxes here.
func New(Options) box.Driver {
	return box.Refusing("the container backend",
		"an engine outside of Linux runs in a virtual machine, into which no way out leads", "use --backend lima")
}
