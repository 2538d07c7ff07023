package steps

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/cco-dev/cco/internal/cruise"
)

// Inbox keeps what was sent to phases until they have read it. A sender is told that its event is kept; from then on a
// crash, or the phase's end at the same moment, must not lose it.
type Inbox struct {
	Data string
	mu   sync.Mutex // between sending and ending

	removals map[string]chan struct{} // by phase
}

func (b *Inbox) dir(phase string) string { return filepath.Join(b.Data, "phases", phase, "inbox") }

// Send keeps an event and has it delivered, while no phase ends.
func (b *Inbox) Send(phase string, ev cruise.Event, deliver func() error) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	dir := b.dir(phase)
	name := filepath.Join(dir, filepath.Base(ev.ID)+".json")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return err
	}
	if err := errors.Join(os.WriteFile(name+".new", data, 0o600), os.Rename(name+".new", name)); err != nil {
		return err
	}
	if err := deliver(); err != nil {
		return errors.Join(err, os.Remove(name))
	}
	if removes(ev) && b.removals[phase] != nil && !closed(b.removals[phase]) {
		close(b.removals[phase])
	}
	return nil
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
func (b *Inbox) removal(phase string) (<-chan struct{}, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if c := b.removals[phase]; c != nil {
		return c, nil
	}
	sent, err := b.Unread(phase, nil) // by an earlier process
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
func (b *Inbox) Unread(phase string, seen []string) ([]cruise.Event, error) {
	entries, err := os.ReadDir(b.dir(phase))
	if errors.Is(err, os.ErrNotExist) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	var list []cruise.Event
	for _, e := range entries {
		id, whole := strings.CutSuffix(e.Name(), ".json")
		path := filepath.Join(b.dir(phase), e.Name())
		if !whole || slices.Contains(seen, id) {
			_ = os.Remove(path) // a leftover is only read again
			continue
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, err
		}
		var ev cruise.Event
		if json.Unmarshal(data, &ev) == nil {
			list = append(list, ev)
		}
	}
	slices.SortStableFunc(list, func(x, y cruise.Event) int { return x.At.Compare(y.At) })
	return list, nil
}

// end lets a phase end, unless it has unread events.
func (b *Inbox) end(phase string, seen []string, last bool, do func() error) (cruise.Saved, error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	unread, err := b.Unread(phase, seen)
	if err == nil && len(unread) > 0 && !last {
		return cruise.Saved{Unread: true}, nil
	}
	delete(b.removals, phase)
	return cruise.Saved{}, errors.Join(do(), os.RemoveAll(b.dir(phase)))
}
