//go:build !linux

// Package native keeps boxes by what the Linux kernel has built in. Here there is no such kernel.
package native

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
)

// Options are what the driver needs to know of the host.
type Options struct {
	Tool                   string
	Guard                  string
	Home                   string
	Path                   string
	Programs               []string
	Apart, Foreign, Nested bool
}

// Driver refuses everything.
type Driver struct{}

var _ box.Driver = (*Driver)(nil)

// New makes a driver that says why it can't.
func New(Options) *Driver { return &Driver{} }

func unavailable() error {
	return &box.Unavailable{What: "the native backend", Why: "it needs Linux", Mend: "use --backend worktree"}
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
