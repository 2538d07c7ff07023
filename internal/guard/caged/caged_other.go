//go:build !linux

package caged

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/probe"
)

func unavailable() error {
	return &box.Unavailable{What: "the cage", Why: "it needs Linux", Mend: "use a box: cco run PLAN"}
}

// Run needs Linux.
func (c *Cage) Run(context.Context, box.Exec) error { return unavailable() }

// Release has nothing to do.
func (c *Cage) Release() []string { return nil }

// BringTokens has nothing to do.
func (c *Cage) BringTokens() ([]string, error) { return nil, nil }

// Try needs Linux.
func (c *Cage) Try(context.Context, string) ([]probe.Finding, error) { return nil, unavailable() }
