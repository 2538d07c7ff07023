package app

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// PushAll hands one plan to several agents, a session each, with one budget: the limits of a run hold for all of them
// together. It checks everything for all of them before the first begins. If one can't begin all the same, those that
// have are given with the error.
func (a *App) PushAll(ctx context.Context, s *session.Service, cfg config.Config, o session.PushOptions,
	agents []string, may Making) (begun []store.Session, err error) {
	each := func(do func(session.PushOptions) error) error {
		for _, name := range agents {
			one := o
			if one.Agent = name; name != cfg.Agent.Default {
				one.Model = "" // it is the default agent's
			}
			if err := do(one); err != nil {
				return fmt.Errorf("agent %s: %w", name, err)
			}
		}
		return nil
	}
	start := func() (bool, error) {
		if err := each(func(o session.PushOptions) error { return s.HandOff().CanPush(ctx, o, nil) }); err != nil {
			return false, err
		}
		o.Budget = session.NewID()
		limit := store.Amount{Cost: o.Limits.RunCost, Tokens: o.Limits.RunTokens}
		if err := s.Store.AddBudget(ctx, o.Budget, limit, s.Now()); err != nil {
			return false, err
		}
		err := each(func(o session.PushOptions) error {
			rec, err := s.HandOff().Push(ctx, o)
			if err == nil {
				begun = append(begun, rec)
			}
			return err
		})
		return len(begun) > 0, err
	}
	lacks, err := a.lacks(ctx, s, cfg, o.Box, may)
	switch {
	case err != nil:
	case lacks:
		err = a.CreateFor(ctx, o.Box, cfg, func(b *box.Box) error {
			return each(func(o session.PushOptions) error { return s.HandOff().CanPush(ctx, o, b) })
		}, start)
	default:
		_, err = start()
	}
	if err != nil && len(begun) > 0 {
		var ids []string
		for _, v := range begun {
			ids = append(ids, v.ID)
		}
		err = errors.Join(err, fmt.Errorf("already at work: %s", strings.Join(ids, ", ")))
	}
	return begun, err
}
