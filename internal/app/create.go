package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
)

// Wanted is what a caller asks of Create beyond the settings.
type Wanted struct {
	Kernel  bool   // refuse a worktree box without the kernel
	Network string // the mode, also of a box that is there already
}

// Create makes a box as the settings want it, starts it, and says what a user should know about it. Made says that it
// was not there before.
func (a *App) Create(ctx context.Context, name string, cfg config.Config, want Wanted) (made bool, err error) {
	boxes, err := a.Boxes()
	if err != nil {
		return false, err
	}
	backend, spec, err := a.design(cfg, want)
	if err != nil {
		return false, err
	}
	made, err = boxes.Create(ctx, name, backend, spec, a.IO.Progress)
	a.IO.Settle()
	if _, missing := errors.AsType[*box.Unavailable](err); missing && find(backend).Weaker != "" {
		return false, fmt.Errorf("%w\na weaker box is possible, if you accept that: `cco box create %s %s`", err, name,
			find(backend).Weaker)
	}
	switch {
	case err != nil:
		return false, err
	case made:
		return true, a.tellCreated(ctx, boxes, name)
	}
	a.IO.Say("box %s is there and running (%s)", name, backend)
	if want.Network == "" {
		return false, nil
	}
	return false, a.changeMode(ctx, boxes, name, want)
}

// design says what a box is made of, as the settings want it.
func (a *App) design(cfg config.Config, want Wanted) (backend string, spec box.Spec, err error) {
	backend = cmp.Or(cfg.Box.Backend, DefaultBackend())
	if spec, err = a.Spec(backend, cfg.Box); err != nil {
		return backend, spec, err
	}
	spec.RequireKernel = want.Kernel
	if hook, _, err := Beside("cco-guard"); err != nil {
		return backend, spec, err
	} else if hook == "" && !find(backend).OwnGuard && !slices.Contains(spec.Accept, box.AcceptNoGuard) {
		return backend, spec, box.NoGuard()
	}
	spec.Network, err = networkMode(cmp.Or(want.Network, cfg.Network.Mode))
	return backend, spec, err
}

// CreateForAgents is CreateFor, for what these agents do in a box.
func (a *App) CreateForAgents(ctx context.Context, name string, cfg config.Config, repo string, agents []string,
	begin func() (begun bool, err error)) error {
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return err
	}
	defer done()
	can := func(b *box.Box) error { return s.HandOff().CanRun(ctx, "", b, repo, agents) }
	return a.CreateFor(ctx, name, cfg, can, begin)
}

// CreateFor creates or starts a box for what begins in it. May can refuse the box before it is made, and a box that was
// made for nothing is removed again.
func (a *App) CreateFor(ctx context.Context, name string, cfg config.Config, may func(*box.Box) error,
	begin func() (begun bool, err error)) error {
	boxes, err := a.Boxes()
	if err != nil {
		return err
	}
	b, err := boxes.Record(name)
	if errors.As(err, new(*box.NotFoundError)) {
		b = &box.Box{Name: name}
		b.Backend, b.Spec, err = a.design(cfg, Wanted{})
	}
	if err == nil {
		err = may(b)
	}
	if err != nil {
		return err
	}
	made, err := a.Create(ctx, name, cfg, Wanted{})
	if err != nil {
		return err
	}
	begun, err := begin()
	if err == nil || begun || !made {
		return err
	}
	a.IO.Settle()
	a.IO.Say("box %s is removed again: nothing began in it", name)
	if undo := boxes.Destroy(context.WithoutCancel(ctx), name); undo != nil {
		return errors.Join(err, undo)
	}
	return err
}

func (a *App) changeMode(ctx context.Context, boxes *box.Boxes, name string, want Wanted) error {
	err := boxes.Change(ctx, name, func(s *box.Spec) error { s.Network = want.Network; return nil })
	if err != nil {
		return err
	}
	a.IO.Say("box %s: network %s, for what starts from now on", name, want.Network)
	a.warnOpen(name, want.Network)
	return nil
}

func (a *App) tellCreated(ctx context.Context, boxes *box.Boxes, name string) error {
	st, err := boxes.Status(ctx, name)
	if err != nil {
		return err
	}
	a.IO.Say("box %s created and running (%s)", name, st.Backend)
	a.warnOpen(name, st.Network)
	for _, l := range st.Layers {
		if !l.Active {
			a.IO.Warn("%s: %s", l.Name, l.Detail)
		}
	}
	return nil
}

// warnOpen warns about a box that reaches every host, if it does.
func (a *App) warnOpen(name, mode string) {
	if mode == box.NetworkOpen {
		a.IO.Warn("box %s reaches every public host: what an agent reads there can lead it astray, and what it reads here "+
			"it can send away", name)
	}
}
