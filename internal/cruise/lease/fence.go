package lease

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
)

// Fenced are steps that run only while their phase is at home here. Every effect asks the database, before the step and
// once more right before it happens.
type Fenced struct {
	cruise.Steps
	Holder *Holder
}

type epochKey struct{}

// WithEpoch says to what happens below which home of a phase it is of.
func WithEpoch(ctx context.Context, epoch int64) context.Context {
	return context.WithValue(ctx, epochKey{}, epoch)
}

// Begin binds a life of a phase to a home: steps of any other life are refused.
func (h *Holder) Begin(flow string, p Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.lives == nil {
		h.lives = map[string]int64{}
	}
	for other := range h.lives {
		if cruise.PhaseOf(other) == p.Phase {
			delete(h.lives, other)
		}
	}
	h.lives[flow] = p.Epoch
}

// Unbegin forgets a life that the engine has given up: the phase can begin another.
func (h *Holder) Unbegin(flow string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.lives, flow)
}

// End records that a phase of this worker needs no home any more. It has no effect for a later home of the phase.
func (h *Holder) End(ctx context.Context, p Held) error {
	if err := End(ctx, h.Table.DB, p); err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if had, ok := h.held[p.Phase]; ok && had.epoch == p.Epoch {
		delete(h.held, p.Phase) // it is not lost: what it still does ends by itself
	}
	return nil
}

// Elsewhere gives those of some phases that belong to the shared database and are not at home here.
func (h *Holder) Elsewhere(ctx context.Context, phases []string) ([]string, error) {
	return h.elsewhere(ctx, phases, false)
}

// EndedElsewhere gives those of some phases that were last at home on another machine, and have ended.
func (h *Holder) EndedElsewhere(ctx context.Context, phases []string) ([]string, error) {
	return h.elsewhere(ctx, phases, true)
}

func (h *Holder) elsewhere(ctx context.Context, phases []string, ended bool) ([]string, error) {
	if len(phases) == 0 {
		return nil, nil
	}
	rows, err := h.Table.DB.QueryContext(ctx, `SELECT phase, epoch FROM homes WHERE phase = ANY ($1)
		AND worker IS DISTINCT FROM $2 AND (ended OR NOT $3) ORDER BY phase`, phases, h.Worker.ID, ended)
	all, err := scan(rows, err)
	var gone []string
	for _, p := range all {
		gone = append(gone, p.Phase)
	}
	return gone, err
}

// Wake lets a phase be told to look, if it is surely here: a hint of an earlier home must not reach a later one.
func (h *Holder) Wake(ctx context.Context, phase string, send func(flow string) error) error {
	p := Held{Phase: phase, Epoch: h.Held()[phase]}
	flow := h.Begun(p)
	if flow == "" {
		return &LostError{Phase: phase, Epoch: p.Epoch}
	}
	if err := h.Check(ctx, p.Phase, p.Epoch); err != nil {
		return err
	}
	return send(flow)
}

// Begun says which life of a phase was begun here in its present home, "" if none was.
func (h *Holder) Begun(p Held) string {
	h.mu.Lock()
	defer h.mu.Unlock()
	for flow, epoch := range h.lives {
		if cruise.PhaseOf(flow) == p.Phase && epoch == p.Epoch {
			return flow
		}
	}
	return ""
}

// Within runs a step while its phase is here. It waits for the database, and runs the step again if the lease lapsed
// before an effect of it: steps look first whether their work is done.
func (f *Fenced) Within(ctx context.Context, flow, _ string, _ json.RawMessage,
	step func(context.Context) error) error {
	h := f.Holder
	h.mu.Lock()
	epoch, known := h.lives[flow]
	h.mu.Unlock()
	p := Held{Phase: cruise.PhaseOf(flow), Epoch: epoch}
	if !known {
		return &LostError{Phase: p.Phase}
	}
	for {
		if err := h.await(ctx, p); err != nil {
			return err
		}
		err := h.within(ctx, p, step)
		if _, lapsed := errors.AsType[*LapsedError](err); !lapsed {
			return err
		}
	}
}

func (h *Holder) within(ctx context.Context, p Held, step func(context.Context) error) error {
	inner, stop := h.Bound(ctx, p)
	defer stop()
	check := func(ctx context.Context) error { return h.Check(ctx, p.Phase, p.Epoch) }
	err := step(forge.WithFence(WithEpoch(inner, p.Epoch), check))
	if lost, ok := errors.AsType[*LostError](context.Cause(inner)); ok && err != nil {
		return errors.Join(lost, err)
	}
	return err
}

// Bound is a context that ends when the phase is lost.
func (h *Holder) Bound(ctx context.Context, p Held) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	h.mu.Lock()
	defer h.mu.Unlock()
	had, ok := h.held[p.Phase]
	if !ok || had.epoch != p.Epoch {
		cancel(&LostError{Phase: p.Phase, Epoch: p.Epoch})
		return ctx, func() {}
	}
	stop := context.AfterFunc(had.lost, func() { cancel(context.Cause(had.lost)) })
	return ctx, func() { stop(); cancel(nil) }
}

// await waits until the phase is surely here: until the next beat, where the lease has lapsed.
func (h *Holder) await(ctx context.Context, p Held) error {
	for {
		h.mu.Lock()
		if h.beaten == nil {
			h.beaten = make(chan struct{})
		}
		beaten := h.beaten // from before the check, so that no beat is missed
		h.mu.Unlock()
		err := h.Check(ctx, p.Phase, p.Epoch)
		if _, lapsed := errors.AsType[*LapsedError](err); !lapsed {
			return err
		}
		select {
		case <-beaten:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Fence is what the store asks before it writes a phase's record: nobody takes the phase until that is written.
func (h *Holder) Fence(ctx context.Context, tx *sql.Tx, phase string) error {
	epoch, ok := ctx.Value(epochKey{}).(int64)
	if !ok {
		return &LostError{Phase: phase} // nothing but a home may write it
	}
	return h.CheckIn(ctx, tx, phase, epoch)
}
