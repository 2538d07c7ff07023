//go:build linux

package native

import (
	"context"
	"fmt"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/rooms"
)

// Provision puts files into the home that sessions get a copy of, then runs the box's setup commands there.
func (d *Driver) Provision(ctx context.Context, b *box.Box, files []box.File, report box.Report) error {
	id, err := d.owner(b)
	if err != nil {
		return err
	}
	home := rooms.Layout{Dir: b.Dir}.Home()
	for _, f := range files {
		if err := id.Put(home, f); err != nil {
			return fmt.Errorf("provision %s: %w", f.Path, err)
		}
	}
	for _, command := range b.Spec.Setup {
		if report != nil {
			report("setup: %s", command)
		}
		e := box.Exec{Argv: []string{"/bin/sh", "-c", command}, Way: b.Way}.Led(jail.Tool)
		if err := d.enter(ctx, b, id, jail.Mount{Source: home, Target: jail.Home, Write: true}, e); err != nil {
			return fmt.Errorf("setup %q: %w", command, err)
		}
	}
	if err := rooms.NoteSize(rooms.Layout{Dir: b.Dir}); err != nil {
		return fmt.Errorf("measure home: %w", err)
	}
	return nil
}
