package phases

import (
	"cmp"
	"context"
	"slices"

	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// teller tells the shared database of the sessions of phases that are at home on this machine, as they change.
type teller struct {
	svc  *session.Service
	home string

	phases map[string]string     // of sessions here, "" for those of none
	told   map[string]store.Copy // nil until something was told
}

func (t *teller) tell(ctx context.Context) error {
	list, err := t.svc.List(ctx, "") // which corrects what was said of sessions whose keepers are dead
	if err != nil {
		return err
	}
	var all []string
	var changed []store.Copy
	now := map[string]store.Copy{}
	for _, rec := range list {
		phase := t.phaseOf(rec)
		if phase == "" {
			continue
		}
		c := store.Copy{ID: rec.ID, Home: t.home, Phase: phase, Agent: rec.Agent, State: rec.State, Cost: rec.Spent.Cost,
			Estimate: rec.Spent.Estimate, Tokens: rec.Spent.Tokens()}
		all, now[rec.ID] = append(all, rec.ID), c
		if t.told[rec.ID] != c {
			changed = append(changed, c)
		}
	}
	if t.told != nil && len(changed) == 0 && len(now) == len(t.told) {
		return nil
	}
	if err := t.svc.Store.CopySessions(ctx, t.home, all, changed); err != nil {
		return err
	}
	t.told = now
	return nil
}

// here are the phases that have sessions on this machine.
func (t *teller) here() (phases []string) {
	for _, c := range t.told {
		phases = append(phases, c.Phase)
	}
	slices.Sort(phases)
	return slices.Compact(phases)
}

// phaseOf is the phase that a session belongs to, "" if it is none's. That is known for good once it has had a turn: a
// workspace is made before that.
func (t *teller) phaseOf(rec store.Session) string {
	if phase, known := t.phases[rec.ID]; known {
		return phase
	}
	order, err := t.svc.ReadOrder(rec.ID)
	if err != nil || order.Phase == "" && (rec.Started.IsZero() || rec.Live()) {
		return "" // it is only just made, or was removed
	}
	if t.phases == nil {
		t.phases = map[string]string{}
	}
	t.phases[rec.ID] = order.Phase
	return order.Phase
}

// SessionsOf gives what all machines told of the sessions of a phase; none where phases are not shared.
func (a *Phases) SessionsOf(ctx context.Context, phase string) ([]store.Copy, error) {
	st, err := a.Store(ctx)
	if err != nil {
		return nil, err
	}
	defer func() { _ = st.Close() }()
	if !st.IsShared() {
		return nil, nil
	}
	list, err := st.Copies(ctx, phase)
	for i := range list {
		list[i].Silent = list[i].Silence > cmp.Or(a.Term, lease.Term)
	}
	return list, err
}
