package native

import (
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
)

// Promises names the probes of the escape suite that must hold: all of them.
func (d *Driver) Promises(*box.Box) []string { return probe.Names() }
