package serve

import (
	"context"
	"database/sql"
	"encoding/json"
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/store"
)

// Queue is how commands reach phases of a shared database, from any machine.
type Queue struct {
	Store *store.Store
	Now   func() time.Time
	// Version is that of the phases that this program makes.
	Version string
	// Home says what a phase needs.
	Home func(ctx context.Context, st cruise.State) (lease.Home, error)
	// Bundle gives commits of the user's that were never pushed, nil if there are none.
	Bundle func(ctx context.Context, id string, st cruise.State) (*store.Bundle, error)
}

// Start has a phase wait for a worker.
func (q *Queue) Start(ctx context.Context, id string, st cruise.State) error {
	if st.PR != nil {
		if err := alone(ctx, q.Store, id, st.PR.URL); err != nil {
			return err
		}
	}
	home, err := q.Home(ctx, st)
	if err != nil {
		return err
	}
	home.Phase, home.Version = id, q.Version
	bundle, err := q.Bundle(ctx, id, st)
	if err != nil {
		return err
	}
	rec, err := steps.Record(id, st, q.Now())
	if err != nil {
		return err
	}
	return q.Store.SavePhaseAnd(ctx, rec, func(tx *sql.Tx) error {
		if bundle != nil {
			if err := store.PutBundle(ctx, tx, *bundle); err != nil {
				return err
			}
		}
		return lease.Enqueue(ctx, tx, home)
	})
}

// Send keeps an event for a phase, whose worker gives it to it soon, and revives one that has ended: nobody ends or
// revives it meanwhile.
func (q *Queue) Send(ctx context.Context, id string, ev cruise.Event) error {
	if !eventID.MatchString(ev.ID) {
		return fmt.Errorf("%q is not the id of an event", ev.ID)
	}
	data, err := json.Marshal(ev)
	if err != nil {
		return err
	}
	if ev.Kind == cruise.EventResume {
		if err := lease.Retry(ctx, q.Store.DB(), id); err != nil {
			return err
		}
	}
	return q.Store.KeepOr(ctx, id, store.Sent{ID: ev.ID, At: ev.At, Event: data},
		func(tx *sql.Tx, p store.Phase) (store.Phase, error) { return q.revive(ctx, tx, p, ev) })
}

func (q *Queue) revive(ctx context.Context, tx *sql.Tx, p store.Phase, ev cruise.Event) (store.Phase, error) {
	st, err := StateOf(p)
	if err != nil {
		return p, err
	}
	if st, err = st.Revive(ev, q.Now()); err != nil {
		return p, err
	}
	if st.PR != nil {
		if err := alone(ctx, q.Store, p.ID, st.PR.URL); err != nil {
			return p, err
		}
	}
	if err := lease.Requeue(ctx, tx, p.ID, q.Version); err != nil {
		return p, err
	}
	return steps.Record(p.ID, st, q.Now())
}
