//go:build !linux

package container

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
)

// Driver refuses everything.
type Driver struct{}

var _ box.Driver = (*Driver)(nil)

// New makes a driver that says why it can't.
func New(Options) *Driver { return &Driver{} }

func unavailable() error {
	return &box.Unavailable{What: "the container backend",
		Why: "an engine outside of Linux runs in a virtual machine, into which no way out leads", Mend: "use --backend lima"}
}

// Check says that native boxes can't be had here.
func (*Driver) Check(context.Context) error { return unavailable() }

// Create refuses.
func (*Driver) Create(context.Context, *box.Box, box.Report) error { return unavailable() }

// Start refuses.
func (*Driver) Start(context.Context, *box.Box, box.Report) error { return unavailable() }

// Stop refuses.
func (*Driver) Stop(context.Context, *box.Box) error { return unavailable() }

// Destroy refuses.
func (*Driver) Destroy(context.Context, *box.Box) error { return unavailable() }

// Running refuses.
func (*Driver) Running(context.Context, *box.Box) (bool, error) { return false, unavailable() }

// Provision refuses.
func (*Driver) Provision(context.Context, *box.Box, []box.File, box.Report) error {
	return unavailable()
}

// Prepare refuses.
func (*Driver) Prepare(context.Context, *box.Box, string) (box.Place, error) {
	return box.Place{}, unavailable()
}

// Run refuses.
func (*Driver) Run(context.Context, *box.Box, box.Exec) error { return unavailable() }

// Halt refuses.
func (*Driver) Halt(context.Context, *box.Box, string) error { return unavailable() }

// Discard refuses.
func (*Driver) Discard(context.Context, *box.Box, string) error { return unavailable() }

// Layers refuses.
func (*Driver) Layers(context.Context, *box.Box) ([]box.Layer, error) { return nil, unavailable() }
