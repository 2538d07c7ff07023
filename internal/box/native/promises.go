package native

import (
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
)

// Promises names the probes of the escape suite that must hold: all of them, where sessions don't run containers.
func (d *Driver) Promises(b *box.Box) []string { return probe.Promised(b.Spec.VM.Containers) }
