//go:build !linux

package worktree

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
)

func unavailable() error {
	return &box.Unavailable{What: "the kernel's isolation", Why: "it needs Linux", Mend: "accept the weaker mode " +
		AcceptNoKernel}
}

func (d *Driver) rehearse(context.Context, *box.Box) (jail.Result, error) {
	return jail.Result{}, unavailable()
}

func (d *Driver) runCaged(context.Context, *box.Box, box.Exec, site) error { return unavailable() }

func caged(*box.Box, jail.Result) []box.Layer { return nil }
