package steps

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"sync"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/store"
)

// Inbox keeps what was sent to phases until they have read it. A sender is told that its event is kept; from then on a
// crash, or the phase's end at the same moment, must not lose it.
type Inbox struct {
	Store *store.Store
	mu    sync.Mutex // one that sends or ends after another: two senders could revive one phase

	removals map[string]chan struct{} // by phase
}

// Send keeps an event and has it delivered, while no phase ends.
func (b *Inbox) Send(ctx context.Context, phase string, ev cruise.Event, deliver func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	if err := b.Store.Keep(ctx, phase, store.Sent{ID: ev.ID, At: ev.At, Event: data}); err != nil {
		return err
	}
	if err := deliver(); err != nil {
		return errors.Join(err, b.Store.Unkeep(ctx, phase, ev.ID))
	}
	b.notice(phase, ev)
	return nil
}

// Notice ends a phase's agents at once, if an event that was sent from another machine says so.
func (b *Inbox) Notice(phase string, ev cruise.Event) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notice(phase, ev)
}

func (b *Inbox) notice(phase string, ev cruise.Event) {
	if removes(ev) && b.removals[phase] != nil && !closed(b.removals[phase]) {
		close(b.removals[phase])
	}
}

// removes says whether an event ends a phase at once, with its agents.
func removes(ev cruise.Event) bool { return ev.Kind == cruise.EventCleanup && ev.Force }

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// removal is closed when a phase is to end at once, with its agents.
func (b *Inbox) removal(ctx context.Context, phase string) (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.removals[phase]; c != nil {
		return c, nil
	}
	sent, err := b.Unread(ctx, phase, nil) // by an earlier process
	if err != nil {
		return nil, err
	}
	c := make(chan struct{})
	if slices.ContainsFunc(sent, removes) {
		close(c)
	}
	if b.removals == nil {
		b.removals = map[string]chan struct{}{}
	}
	b.removals[phase] = c
	return c, nil
}

// Unread gives what was sent to a phase and is not among what it has seen. What it has seen is forgotten.
func (b *Inbox) Unread(ctx context.Context, phase string, seen []string) ([]cruise.Event, error) {
	sent, err := b.Store.Unread(ctx, phase, seen)
	if err != nil {
		return nil, err
	}
	var list []cruise.Event
	for _, v := range sent {
		var ev cruise.Event
		if json.Unmarshal(v.Event, &ev) == nil {
			list = append(list, ev)
		}
	}
	return list, nil
}

// end records the end of a phase, unless it has unread events.
func (b *Inbox) end(ctx context.Context, p store.Phase, seen []string, last bool) (unread bool, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	unread, err = b.Store.EndPhase(ctx, p, seen, last)
	if err == nil && !unread {
		delete(b.removals, p.ID)
	}
	return unread, err
}
