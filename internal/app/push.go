package app

import (
	"cmp"
	"context"
	"errors"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// RunOptions are the settings that hold for every run.
func (a *App) RunOptions(cfg config.Config) session.PushOptions {
	return session.PushOptions{Dir: a.Dir, Agent: cfg.Agent.Default, Model: cfg.Agent.Model, Run: session.Run{
		Timeout: cfg.Push.Timeout, IdleTimeout: cfg.Push.IdleTimeout, MaxWait: cfg.Push.MaxWait,
		Limits: session.Limits(cfg.Limits), PlainGit: cfg.Guard.GitEnv == config.GitEnvPlain,
		OnDone: cfg.Notify.OnDone.Args(), OnWaiting: cfg.Notify.OnWaiting.Args(),
	}}
}

// Push hands a plan to an agent. With create it makes or starts the box if need be; without it, only the usual box
// where nothing needs to be asked for that.
func (a *App) Push(ctx context.Context, s *session.Service, cfg config.Config, o session.PushOptions,
	create bool) (rec store.Session, err error) {
	if o.Resume != "" || !a.lacks(ctx, s, cfg, o.Box, create) {
		return s.Push(ctx, o)
	}
	err = a.CreateFor(ctx, o.Box, cfg, func(b *box.Box) error { return s.CanPush(ctx, o, b) },
		func() (bool, error) {
			rec, err = s.Push(ctx, o)
			return rec.ID != "", err
		})
	return rec, err
}

// lacks says that a box has to be made or started first, and may be.
func (a *App) lacks(ctx context.Context, s *session.Service, cfg config.Config, name string, create bool) bool {
	_, _, err := s.Boxes.Ready(ctx, name)
	_, missing := errors.AsType[*box.NotFoundError](err)
	if !missing && !errors.Is(err, box.ErrNotRunning) {
		return false // it runs, or has other troubles, which the push tells
	}
	if create {
		return true
	}
	backend := cmp.Or(cfg.Box.Backend, DefaultBackend())
	if b, err := s.Boxes.Record(name); err == nil {
		backend = b.Backend
	}
	return name == cfg.Box.Name && find(backend).Plain
}
