package steps

import (
	"context"
	"encoding/json"
	"sync"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/store"
)

// Inbox keeps what was sent to phases until they have read it. A sender is told that its event is kept; from then on a
// crash, or the phase's end at the same moment, must not lose it.
type Inbox struct {
	Store *store.Store
	mu    sync.Mutex // no phase ends while another is read

	removals map[string]chan struct{} // by phase; closed when it is to end
}

// Sent is an event as it is kept.
func Sent(ev cruise.Event) (store.Sent, error) {
	data, err := json.Marshal(ev)
	return store.Sent{ID: ev.ID, At: ev.At, Event: data}, err
}

// Read gives what is recorded of a living phase and what it has not read. It does not end before that is done.
func (b *Inbox) Read(ctx context.Context, phase string, do func(st cruise.State, unread []cruise.Event) error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	p, err := b.Store.Phase(ctx, phase)
	if err != nil || p.Ended {
		return err
	}
	st, err := StateOf(p)
	if err != nil {
		return err
	}
	unread, err := b.unread(ctx, phase, st.Inbox.Events)
	if err != nil {
		return err
	}
	for _, ev := range unread {
		b.notice(phase, ev)
	}
	return do(st, unread)
}

// Keep keeps an event of a phase that another machine has recorded.
func (b *Inbox) Keep(ctx context.Context, phase string, ev cruise.Event) error {
	v, err := Sent(ev)
	if err == nil {
		err = b.Store.Keep(ctx, phase, v)
	}
	if err != nil {
		return err
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	b.notice(phase, ev)
	return nil
}

// notice ends a phase's agents at once, if an event says so.
func (b *Inbox) notice(phase string, ev cruise.Event) {
	if ordered, waited := b.removals[phase]; waited && removes(ev) {
		close(ordered)
		delete(b.removals, phase)
	}
}

// removes says whether an event ends a phase at once, with its agents.
func removes(ev cruise.Event) bool { return ev.Kind == cruise.EventCleanup && ev.Force }

// removal is closed when a phase is to end at once, with its agents.
func (b *Inbox) removal(ctx context.Context, phase string) (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if ordered, had := b.removals[phase]; had {
		return ordered, nil
	}
	sent, err := b.unread(ctx, phase, nil) // by an earlier process, or while an agent was at work
	if err != nil {
		return nil, err
	}
	if b.removals == nil {
		b.removals = map[string]chan struct{}{}
	}
	ordered := make(chan struct{})
	b.removals[phase] = ordered
	for _, ev := range sent {
		b.notice(phase, ev)
	}
	return ordered, nil
}

// unread gives what was sent to a phase and is not among what it has seen. What it has seen is forgotten.
func (b *Inbox) unread(ctx context.Context, phase string, seen []string) ([]cruise.Event, error) {
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
