package lease

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"time"
)

// Holder is this process as a worker.
type Holder struct {
	Table  *Table
	Worker Worker
	// Boot is the clock that the worker counts its own lease by.
	Boot func() time.Duration

	incarnation int64

	mu      sync.Mutex
	until   time.Duration // when effects stop, by Boot
	there   time.Time     // what the database's clock showed when Boot showed at
	at      time.Duration
	held    map[string]*holding
	gone    []Held           // that were lost, until somebody asks
	offered Offer            // what the others know
	lives   map[string]int64 // epochs of the lives of phases that were begun here
	beaten  chan struct{}    // closed with the next beat
}

// holding is a phase that this worker believes to have.
type holding struct {
	epoch int64
	lost  context.Context
	lose  context.CancelCauseFunc
}

// LostError says that a phase has another home now.
type LostError struct {
	Phase string
	Epoch int64
}

func (e *LostError) Error() string {
	return fmt.Sprintf("phase %s is no longer with this worker (epoch %d is over)", e.Phase, e.Epoch)
}

// Unrecorded marks an error after which a step is not recorded.
func (e *LostError) Unrecorded() {}

// LapsedError says that this worker has not reached the database for too long, and does nothing until it has.
type LapsedError struct {
	Worker string
	Err    error // why it did not, if that is known
}

func (e *LapsedError) Error() string {
	if e.Err != nil {
		return fmt.Sprintf("worker %s does not reach the database: %v", e.Worker, e.Err)
	}
	return fmt.Sprintf("worker %s has not reached the database for a while, and waits until it does", e.Worker)
}

func (e *LapsedError) Unwrap() error { return e.Err }

// Register makes the worker known. It has the phases of its earlier processes.
func (h *Holder) Register(ctx context.Context) error {
	sent := h.Boot()
	n, there, err := h.Table.register(ctx, h.Worker)
	if err != nil {
		return err
	}
	h.incarnation = n
	h.set(sent, there)
	return h.renew(ctx, sent)
}

// Beat renews the lease, and learns which phases are no longer here.
func (h *Holder) Beat(ctx context.Context) error {
	sent := h.Boot()
	there, err := h.Table.beat(ctx, h.Worker.ID, h.incarnation)
	if err != nil {
		return err
	}
	h.set(sent, there)
	return h.renew(ctx, sent)
}

// Now is the time by the database's clock, as of the last beat. All machines have it, whatever their own clocks show:
// what one of them began to wait for goes on at another.
func (h *Holder) Now() time.Time {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.there.Add(h.Boot() - h.at)
}

// set takes over the database's clock, which showed this at some moment since a beat was sent.
func (h *Holder) set(sent time.Duration, there time.Time) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.there, h.at = there, sent+(h.Boot()-sent)/2
}

// renew counts the lease from before the beat was sent. It does so after the phases were read: until then this worker
// might take others' phases for its own.
func (h *Holder) renew(ctx context.Context, sent time.Duration) error {
	have, err := h.Table.held(ctx, h.Worker.ID)
	if err != nil {
		return err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	h.until = sent + h.Table.term() - h.margin()
	now := map[string]int64{}
	for _, p := range have {
		now[p.Phase] = p.Epoch
	}
	for id, p := range h.held {
		if epoch, still := now[id]; !still || epoch != p.epoch {
			h.drop(id, p)
		}
	}
	for id, epoch := range now {
		h.hold(Held{Phase: id, Epoch: epoch})
	}
	if h.beaten != nil {
		close(h.beaten)
		h.beaten = nil
	}
	return nil
}

// drop gives up a phase.
func (h *Holder) drop(id string, p *holding) {
	p.lose(&LostError{Phase: id, Epoch: p.epoch})
	delete(h.held, id)
	h.gone = append(h.gone, Held{Phase: id, Epoch: p.epoch})
}

// Gone gives the phases that were lost since it was last asked.
func (h *Holder) Gone() []Held {
	h.mu.Lock()
	defer h.mu.Unlock()
	gone := h.gone
	h.gone = nil
	return gone
}

func (h *Holder) margin() time.Duration { return min(Margin, h.Table.term()/5) }

func (h *Holder) hold(p Held) {
	if _, known := h.held[p.Phase]; known {
		return
	}
	if h.held == nil {
		h.held = map[string]*holding{}
	}
	lost, lose := context.WithCancelCause(context.Background())
	h.held[p.Phase] = &holding{epoch: p.Epoch, lost: lost, lose: lose}
}

// Take takes what waits or was left behind, and gives the phases that are new here.
func (h *Holder) Take(ctx context.Context) ([]Held, error) {
	if h.lapsed() {
		return nil, &LapsedError{Worker: h.Worker.ID}
	}
	h.mu.Lock()
	me := h.Worker
	h.mu.Unlock()
	got, err := h.Table.take(ctx, me, h.incarnation)
	if err != nil {
		return nil, err
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, p := range got {
		h.hold(p)
	}
	return got, nil
}

// Account is the account that a phase belongs to.
func (h *Holder) Account(ctx context.Context, phase string) (account string, err error) {
	err = h.Table.DB.QueryRowContext(ctx, `SELECT account FROM homes WHERE phase = $1`, phase).Scan(&account)
	if err != nil {
		return "", fmt.Errorf("find the account of phase %s: %w", phase, err)
	}
	return account, nil
}

// Held gives the phases that this worker has, with their epochs.
func (h *Holder) Held() map[string]int64 {
	h.mu.Lock()
	defer h.mu.Unlock()
	all := map[string]int64{}
	for id, p := range h.held {
		all[id] = p.epoch
	}
	return all
}

func (h *Holder) lapsed() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.Boot() >= h.until
}

// Check says whether an effect of a phase may happen: nil if this worker has the phase, and its lease holds. It asks
// the database, and then once more its own clock: it may have been stopped while it asked.
func (h *Holder) Check(ctx context.Context, phase string, epoch int64) error {
	return h.check(ctx, h.Table.DB, Held{Phase: phase, Epoch: epoch}, "")
}

// CheckIn is Check within a transaction, until whose end nobody takes the phase. The database ends the transaction of a
// worker that is stopped in it.
func (h *Holder) CheckIn(ctx context.Context, tx *sql.Tx, phase string, epoch int64) error {
	limit := fmt.Sprintf("SET LOCAL idle_in_transaction_session_timeout = %d", h.Table.term().Milliseconds()/2)
	if _, err := tx.ExecContext(ctx, limit); err != nil {
		return err
	}
	return h.check(ctx, tx, Held{Phase: phase, Epoch: epoch}, "FOR SHARE OF h")
}

func (h *Holder) check(ctx context.Context, db DB, p Held, lock string) error {
	ok, err := current(ctx, db, h.Worker.ID, h.incarnation, p, lock)
	if err != nil {
		return &LapsedError{Worker: h.Worker.ID, Err: err}
	}
	if !ok {
		h.lose(p)
		return &LostError{Phase: p.Phase, Epoch: p.Epoch}
	}
	if h.lapsed() {
		return &LapsedError{Worker: h.Worker.ID}
	}
	return nil
}

func (h *Holder) lose(p Held) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if had, ok := h.held[p.Phase]; ok && had.epoch == p.Epoch {
		h.drop(p.Phase, had)
	}
}
