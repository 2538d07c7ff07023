//go:build !linux

package worktree

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
)

func unavailable() error {
	return &box.Unavailable{What: "the kernel's isolation", Why: "it needs Linux", Mend: "accept the weaker mode " +
		box.AcceptNoKernel}
}

func (d *starter) rehearse(context.Context, *box.Box) (jail.Result, error) {
	return jail.Result{}, unavailable()
}

func (d *starter) runCaged(context.Context, *box.Box, rooms.Room, box.Exec) error {
	return unavailable()
}

func caged(*box.Box, jail.Result) []box.Layer { return nil }
