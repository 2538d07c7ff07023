package app

import (
	"context"
	"errors"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/store"
)

// Model gives access to an agent's model from the host itself.
func (a *App) Model(ctx context.Context, rec store.Session) (broker.Upstream, error) {
	b, err := a.records().Record(rec.Box)
	if err != nil {
		return broker.Upstream{}, err
	}
	c, err := a.door(ctx, rec, b)
	if err != nil {
		return broker.Upstream{}, err
	}
	if len(c.Models) == 0 {
		return broker.Upstream{}, errors.New("agent " + rec.Agent + " has no model")
	}
	return c.Models[0].WithKey(ctx)
}
