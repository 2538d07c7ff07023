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

// Making decides whether a box is made or started for a push. Missing says what it lacks; plain, that it is the usual
// box and of a backend that needs no question.
type Making func(missing error, plain bool) (bool, error)

// PlainBox makes or starts a box only where that needs no question.
func PlainBox(_ error, plain bool) (bool, error) { return plain, nil }

// Push hands a plan to an agent. It makes or starts the box first, if need be and if that may be.
func (a *App) Push(ctx context.Context, s *session.Service, cfg config.Config, o session.PushOptions,
	may Making) (rec store.Session, err error) {
	lacks := false
	if o.Resume == "" {
		lacks, err = a.lacks(ctx, s, cfg, o.Box, may)
	}
	if err != nil {
		return rec, err
	}
	if !lacks {
		return s.HandOff().Push(ctx, o)
	}
	err = a.CreateFor(ctx, o.Box, cfg, func(b *box.Box) error { return s.HandOff().CanPush(ctx, o, b) },
		func() (bool, error) {
			rec, err = s.HandOff().Push(ctx, o)
			return rec.ID != "", err
		})
	return rec, err
}

// lacks says that a box has to be made or started first, and may be.
func (a *App) lacks(ctx context.Context, s *session.Service, cfg config.Config, name string, may Making) (bool, error) {
	_, _, missing := s.Boxes.Ready(ctx, name)
	if !errors.As(missing, new(*box.NotFoundError)) && !errors.Is(missing, box.ErrNotRunning) {
		return false, nil // it runs, or has other troubles, which the push tells
	}
	backend := cmp.Or(cfg.Box.Backend, DefaultBackend())
	if b, err := s.Boxes.Record(name); err == nil {
		backend = b.Backend
	}
	return may(missing, name == cfg.Box.Name && find(backend).Plain)
}
