package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/term"
)

// Created is a box as it is after it was asked for.
type Created struct {
	Made   bool // it was not there before
	Status box.Status
}

// Tell says what a user should know of it.
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

// WarnOpen says what it means that a box reaches every host, if it does.
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
	} else if hook == "" && backend != "lima" && !slices.Contains(spec.Accept, box.AcceptNoGuard) {
		return c, box.NoGuard()
	}
	if spec.Network, err = networkMode(cfg.Network.Mode); err != nil {
		return c, err
	}
	c.Made, err = boxes.Create(ctx, name, backend, spec, a.IO.Progress)
	a.IO.Settle()
	if _, missing := errors.AsType[*box.Unavailable](err); missing && backend == "native" {
		return c, fmt.Errorf("%w\na weaker box can be had knowingly: `cco box create %s --backend worktree --accept "+
			"no-kernel`", err, name)
	}
	if err != nil || !c.Made {
		c.Status = box.Status{Name: name, Backend: backend} // to look at its layers takes time
		return c, err
	}
	c.Status, err = boxes.Status(ctx, name)
	return c, err
}

// SetNetwork changes the mode of a box that is there. It holds for what is started from now on.
func (a *App) SetNetwork(ctx context.Context, name, mode string) error {
	boxes := &box.Boxes{Data: a.Dirs.Data}
	return boxes.Change(ctx, name, func(s *box.Spec) error { s.Network = mode; return nil })
}

// Spec is what a box of a backend is made of, as the settings say.
func (a *App) Spec(ctx context.Context, backend string, c config.Box) (box.Spec, error) {
	s := box.Spec{
		Accept: c.Accept, Caches: c.Caches, Env: c.Env, Setup: c.Setup,
		Limits: box.Limits{Memory: c.Limits.Memory, Procs: c.Limits.Procs, Time: c.Limits.Time},
	}
	for _, m := range c.Mounts {
		s.Mounts = append(s.Mounts, box.Mount{Path: m.Path, Write: m.Write})
	}
	if err := a.machineSpec(backend, c, &s); err != nil {
		return s, err
	}
	if backend != "worktree" {
		return s, nil
	}
	repo, err := git.Open(ctx, a.Dir)
	if err != nil {
		return s, fmt.Errorf("a worktree box belongs to a repository: %w", err)
	}
	s.Repo = repo.Top
	return s, nil
}

// machineSpec is what a backend of containers or virtual machines is told.
func (a *App) machineSpec(backend string, b config.Box, s *box.Spec) error {
	if b.Provision.Containers && backend != "lima" {
		return &UsageError{fmt.Errorf("sessions of a %s box can't run containers: that is for lima boxes alone, where a "+
			"kernel of its own stands before the host (--containers, or box.provision.containers in the settings)", backend)}
	}
	abs := func(name string) string {
		if name == "" || filepath.IsAbs(name) {
			return name
		}
		return filepath.Join(a.Dir, name)
	}
	switch backend {
	case "container":
		s.Container = box.Container{Engine: b.Engine, Runtime: b.Runtime, Image: b.Image, ImageTar: abs(b.ImageTar),
			CPUs: float64(b.CPUs)}
	case "lima":
		s.VM = box.VM{
			CPUs: b.CPUs, Memory: b.Memory, Disk: b.Disk, Image: b.Image, Template: abs(b.Template),
			Packages: b.Provision.Packages, Scripts: b.Provision.Scripts, Containers: b.Provision.Containers,
		}
		for _, f := range b.Provision.Files {
			s.VM.Files = append(s.VM.Files, box.VMFile{From: f.From, To: f.To})
		}
	}
	return nil
}
