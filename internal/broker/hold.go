package broker

import (
	"context"
	"fmt"
	"sync"
)

// longestAnswer is the assumed length of an answer whose request sets no limit.
const longestAnswer = 128_000

// holds delays requests that together could exceed the session's limits. A model begins when it has all of a request,
// so the last part of one waits until the requests under way leave room for it, or have ended. A single one always
// passes.
type holds struct {
	mu    sync.Mutex
	sum   Spend // the most that everything under way may cost
	n     int
	freed chan struct{} // closed when one of them ends
}

// reserve waits for room, or until the session's limit is reached.
func (d *Door) reserve(ctx context.Context, most Spend) error {
	h := &d.held
	for {
		h.mu.Lock()
		if words := d.limited(); words != "" { // it may have been so since the request began
			h.mu.Unlock()
			return &refusal{why: words, as: Limited}
		}
		if h.n == 0 || d.cfg.Limits.reached(d.Spent().add(h.sum).add(most)) == "" {
			h.n, h.sum = h.n+1, h.sum.add(most)
			h.mu.Unlock()
			return nil
		}
		if h.freed == nil {
			h.freed = make(chan struct{})
		}
		freed := h.freed
		h.mu.Unlock()
		select {
		case <-freed:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// free gives back what was held.
func (d *Door) free(most Spend) {
	h := &d.held
	h.mu.Lock()
	defer h.mu.Unlock()
	h.n, h.sum = h.n-1, h.sum.sub(most)
	if h.n == 0 {
		h.sum = Spend{} // rounding errors add up
	}
	if h.freed != nil {
		close(h.freed)
		h.freed = nil
	}
}

// limited says why the session may spend no more, or is "".
func (d *Door) limited() string {
	what := d.cfg.Limits.reached(d.Spent())
	if what == "" {
		return ""
	}
	return fmt.Sprintf("the %s limit of this session is reached (%s): the model stays closed to it. Do not retry.",
		what, d.used())
}

// waitForRoom holds a request that was read to its end, once.
func (x *exchange) waitForRoom(ctx context.Context) error {
	d := x.rt.door
	x.mu.Lock()
	held := x.held != nil
	x.mu.Unlock()
	if held || d.cfg.Limits == (Limits{}) && d.cfg.Budget == nil || !x.call.billed {
		return nil
	}
	model, most, _ := x.wanted()
	worst := x.spend(model, counts{input: x.sent.Load()/bytesPerToken + 1, output: most}, true)
	share, err := d.reserveBoth(ctx, worst)
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case err != nil:
		x.asked.no = err
	case x.over: // it was answered before all of it was read
		d.free(worst)
		d.settle(share, Spend{})
	default:
		x.held, x.share = &worst, share
		x.since = d.cfg.Now()
		x.watch.moved()
	}
	return err
}

// reserveBoth waits for room in the session's own limits, and then in the budget that it shares.
func (d *Door) reserveBoth(ctx context.Context, most Spend) (share int64, err error) {
	if err := d.reserve(ctx, most); err != nil || d.cfg.Budget == nil {
		return 0, err
	}
	share, full, err := d.cfg.Budget.Reserve(ctx, most)
	if err == nil && full != "" {
		err = &refusal{why: full + ": the model stays closed to this session. Do not retry.", as: Limited}
	}
	if err != nil {
		d.free(most)
	}
	return share, err
}

// settle charges the shared budget.
func (d *Door) settle(share int64, spent Spend) {
	if d.cfg.Budget != nil && (share != 0 || spent != (Spend{})) {
		d.cfg.Budget.Settle(share, spent)
	}
}

// giveRoom ends the hold and allows no later one. The exchange has been charged.
func (x *exchange) giveRoom() {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.over = true
	if x.held != nil {
		x.rt.door.free(*x.held)
	}
	var spent Spend
	if x.entry.Spend != nil {
		spent = *x.entry.Spend
	}
	x.rt.door.settle(x.share, spent)
}
