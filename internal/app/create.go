package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/term"
)

// Created is a box after Create.
type Created struct {
	Made   bool // it was not there before
	Status box.Status
}

// Tell prints what a user should know about it.
func (c Created) Tell(io *term.Streams) {
	if !c.Made {
		io.Say("box %s is there and running (%s)", c.Status.Name, c.Status.Backend)
		return
	}
	io.Say("box %s created and running (%s)", c.Status.Name, c.Status.Backend)
	WarnOpen(io, c.Status.Name, c.Status.Network)
	for _, l := range c.Status.Layers {
		if !l.Active {
			io.Warn("%s: %s", l.Name, l.Detail)
		}
	}
}

// WarnOpen warns about a box that reaches every host, if it does.
func WarnOpen(io *term.Streams, name, mode string) {
	if mode == box.NetworkOpen {
		io.Warn("box %s reaches every public host: what an agent reads there can lead it astray, and what it reads here "+
			"it can send away", name)
	}
}

// Create makes a box as the settings want it, and starts it.
func (a *App) Create(ctx context.Context, name string, cfg config.Config, kernel bool) (c Created, err error) {
	boxes, err := a.Boxes()
	if err != nil {
		return c, err
	}
	backend := cmp.Or(cfg.Box.Backend, DefaultBackend())
	spec, err := a.Spec(ctx, backend, cfg.Box)
	if err != nil {
		return c, err
	}
	spec.RequireKernel = kernel
	if hook, _, err := Beside("cco-guard"); err != nil {
		return c, err
	} else if hook == "" && !find(backend).ownGuard && !slices.Contains(spec.Accept, box.AcceptNoGuard) {
		return c, box.NoGuard()
	}
	if spec.Network, err = networkMode(cfg.Network.Mode); err != nil {
		return c, err
	}
	c.Made, err = boxes.Create(ctx, name, backend, spec, a.IO.Progress)
	a.IO.Settle()
	if _, missing := errors.AsType[*box.Unavailable](err); missing && find(backend).weaker != "" {
		return c, fmt.Errorf("%w\na weaker box is possible, if you accept that: `cco box create %s %s`", err, name,
			find(backend).weaker)
	}
	if err != nil || !c.Made {
		c.Status = box.Status{Name: name, Backend: backend} // looking at its layers takes time
		return c, err
	}
	c.Status, err = boxes.Status(ctx, name)
	return c, err
}

// SetNetwork changes the mode of an existing box. It holds for what is started from now on.
func (a *App) SetNetwork(ctx context.Context, name, mode string) error {
	boxes := &box.Boxes{Data: a.Dirs.Data}
	return boxes.Change(ctx, name, func(s *box.Spec) error { s.Network = mode; return nil })
}
