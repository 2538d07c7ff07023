package serve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/store"
)

// Worker is the process of a machine that runs phases of a shared database.
type Worker struct {
	Server
	Holder *lease.Holder
	// Settle makes a phase that was taken ready on this machine. A *UnfitError gives it to another one.
	Settle func(ctx context.Context, p store.Phase, h lease.Held) (cruise.State, error)
	// Abandon ends what a phase that has left does here, and keeps its work.
	Abandon func(ctx context.Context, phase string) error
	// Left lists the phases that have turns here, which an earlier process may have begun.
	Left func(ctx context.Context) ([]string, error)
	// Tick is called now and then, for what machines tell each other.
	Tick func(ctx context.Context) error
	// Beside runs beside phases, until its context ends.
	Beside func(ctx context.Context)
	Report func(format string, args ...any)

	mu       sync.Mutex
	settling map[string]time.Time // phases that are made ready, or when that is tried again
	leaving  map[string]int       // phases that are being given up: none of them is begun meanwhile
	handed   map[string]bool      // events that their phases were given here
	said     string               // the last trouble that was reported
	under    sync.WaitGroup
}

// UnfitError says why this worker can't run a phase.
type UnfitError struct{ Why string }

func (e *UnfitError) Error() string { return e.Why }

// tending is how often a worker looks after lives that have ended, and what machines tell each other.
const tending = 10 * time.Second

// again is when something that failed on this machine is tried again.
const again = 10 * time.Second

// Run takes phases and runs them until the context ends.
func (w *Worker) Run(ctx context.Context) error {
	return w.locked(func() (err error) {
		if err := w.Holder.Register(ctx); err != nil {
			return err
		}
		w.Store.Fence = w.Holder.Fence
		if w.engine, err = w.Open(ctx); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, w.engine.Close()) }()
		l, err := w.listen()
		if err != nil {
			return err
		}
		defer func() { _ = os.Remove(Socket(w.Data)) }()
		ctx, stop := context.WithCancelCause(ctx)
		defer func() { stop(nil); w.under.Wait() }()
		if err := w.leave(ctx); err != nil {
			return err
		}
		go func() { stop(w.beatAlways(ctx)) }()
		go w.workAlways(ctx)
		if w.Beside != nil {
			w.apart(func() { w.Beside(ctx) })
		}
		err = w.answer(ctx, l)
		if gone, ok := errors.AsType[*lease.SupersededError](context.Cause(ctx)); ok {
			err = errors.Join(gone, err)
		}
		return err
	})
}

// leave gives up phases that were lost while no process of this worker ran.
func (w *Worker) leave(ctx context.Context) error {
	if w.Left == nil {
		return nil
	}
	here, err := w.Left(ctx)
	if err != nil {
		return err
	}
	gone, err := w.Holder.Elsewhere(ctx, here)
	for _, phase := range gone {
		w.abandon(ctx, phase)
	}
	return err
}

// abandon gives a phase up, beside everything else.
func (w *Worker) abandon(ctx context.Context, phase string) {
	w.Report("phase %s goes on elsewhere", phase)
	w.left(phase, 1)
	w.apart(func() {
		defer w.left(phase, -1)
		w.Trouble(w.Abandon(ctx, phase))
	})
}

func (w *Worker) left(phase string, n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.leaving == nil {
		w.leaving = map[string]int{}
	}
	if w.leaving[phase] += n; w.leaving[phase] == 0 {
		delete(w.leaving, phase)
	}
}

// answer takes new tokens from commands of this machine until the context ends.
func (w *Worker) answer(ctx context.Context, l net.Listener) error {
	mux := http.NewServeMux()
	w.plain(mux)
	srv := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	failed := make(chan error, 1)
	go func() { failed <- srv.Serve(l) }()
	if w.Ready != nil {
		w.Ready()
	}
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	down, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return errors.Join(err, srv.Shutdown(down))
}

// beatAlways beats until another process has this worker's place. Nothing else may delay it.
func (w *Worker) beatAlways(ctx context.Context) error {
	interval := w.Holder.Table.Interval()
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		brief, cancel := context.WithTimeout(ctx, interval)
		err := w.Holder.Beat(brief)
		cancel()
		if _, gone := errors.AsType[*lease.SupersededError](err); gone {
			return err
		}
		w.Trouble(err)
	}
}

// Trouble reports what is wrong, once.
func (w *Worker) Trouble(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	words := ""
	if err != nil {
		words = err.Error()
	}
	if words != w.said && words != "" {
		w.Report("%s", words)
	}
	w.said = words
}

func (w *Worker) workAlways(ctx context.Context) {
	tick := time.NewTicker(w.Holder.Table.Interval())
	defer tick.Stop()
	tended := w.Now()
	for {
		if err := w.turn(ctx); err != nil && ctx.Err() == nil {
			w.Trouble(err)
		}
		if w.Now().Sub(tended) >= tending {
			tended = w.Now()
			w.tendHeld()
			w.Trouble(w.tick(ctx))
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (w *Worker) tick(ctx context.Context) error {
	if w.Tick == nil {
		return nil
	}
	return w.Tick(ctx)
}

// turn gives up what was lost, takes what waits, begins what is new here and delivers what was sent.
func (w *Worker) turn(ctx context.Context) error {
	for _, h := range w.Holder.Gone() {
		w.engine.GiveUp(w.Holder.Begun(h))
		w.abandon(ctx, h.Phase)
	}
	if err := w.endHomes(ctx); err != nil {
		return err
	}
	if _, err := w.Holder.Take(ctx); err != nil {
		return err
	}
	for phase, epoch := range w.Holder.Held() {
		h := lease.Held{Phase: phase, Epoch: epoch}
		if w.Holder.Begun(h) == "" && w.mayBegin(phase) {
			w.apart(func() { w.begin(ctx, h) })
		}
	}
	return w.deliverMail(ctx)
}

func (w *Worker) apart(do func()) {
	w.under.Add(1)
	go func() { defer w.under.Done(); do() }()
}

// mayBegin says whether a phase is not being made ready or given up, and did not just fail to be.
func (w *Worker) mayBegin(phase string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	until, known := w.settling[phase]
	if known && w.Now().Before(until) || w.leaving[phase] > 0 {
		return false
	}
	if w.settling == nil {
		w.settling = map[string]time.Time{}
	}
	const forever = 100 * 365 * 24 * time.Hour
	w.settling[phase] = w.Now().Add(forever)
	return true
}

// endHomes records that phases which have ended need no home.
func (w *Worker) endHomes(ctx context.Context) error {
	ended, err := w.Store.EndedAt(ctx, w.Holder.Worker.ID)
	if err != nil {
		return err
	}
	for phase, epoch := range ended {
		if err := w.Holder.End(ctx, lease.Held{Phase: phase, Epoch: epoch}); err != nil {
			return err
		}
	}
	return nil
}

// begin makes a phase ready and starts a new life of it, from the last state that was saved. What happened since then
// is found done.
func (w *Worker) begin(ctx context.Context, h lease.Held) {
	ctx, stop := w.Holder.Bound(ctx, h)
	defer stop()
	err := w.tryBegin(ctx, h)
	next := w.Now()
	if unfit, ok := errors.AsType[*UnfitError](err); ok {
		w.log(ctx, h.Phase, fmt.Sprintf("worker %s can't run it: %s", w.Holder.Worker.ID, unfit.Why))
		err = w.Holder.Refuse(ctx, h)
	}
	if err != nil {
		next = next.Add(again)
		if _, lost := errors.AsType[*lease.LostError](context.Cause(ctx)); !lost && ctx.Err() == nil {
			w.log(ctx, h.Phase, fmt.Sprintf("worker %s tries again: %v", w.Holder.Worker.ID, err))
		}
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	w.settling[h.Phase] = next
}

// log adds a line to a phase's log. A failure must not stop a phase.
func (w *Worker) log(ctx context.Context, phase, words string) {
	_ = w.Store.Log(ctx, phase, w.Holder.Now(), words)
}

func (w *Worker) tryBegin(ctx context.Context, h lease.Held) error {
	p, err := w.Store.Phase(ctx, h.Phase)
	if err != nil || p.Ended {
		return err
	}
	st, err := w.Settle(ctx, p, h)
	if err != nil {
		return err
	}
	before := cruise.FlowID(p.ID, st.Life.Number)
	st.Life.Number++
	rec, err := steps.Record(p.ID, st, w.Holder.Now())
	if err != nil {
		return err
	}
	if err := w.Store.SavePhase(lease.WithEpoch(ctx, h.Epoch), rec); err != nil {
		return err
	}
	w.engine.GiveUp(before)
	if _, err := w.Store.Unread(ctx, p.ID, st.Inbox.Events); err != nil { // which forgets what it has read
		return err
	}
	flow := cruise.FlowID(p.ID, st.Life.Number)
	w.Holder.Begin(flow, h)
	w.log(ctx, p.ID, fmt.Sprintf("worker %s goes on with it", w.Holder.Worker.ID))
	if err := w.engine.Start(flow, st); err != nil {
		w.Holder.Unbegin(flow) // what may run of it is given up with the next life
		return err
	}
	return nil
}

// tendHeld has phases begun again that are here and whose lives have ended because they were not for a moment.
func (w *Worker) tendHeld() {
	for id, epoch := range w.Holder.Held() {
		flow := w.Holder.Begun(lease.Held{Phase: id, Epoch: epoch})
		w.mu.Lock()
		begins := w.Now().Before(w.settling[id])
		w.mu.Unlock()
		if flow != "" && !begins && !w.engine.Runs(flow) {
			w.Holder.Unbegin(flow) // the next turn begins another
		}
	}
}

// deliverMail gives the phases here what was sent to them.
func (w *Worker) deliverMail(ctx context.Context) error {
	mail, err := w.Store.Mail(ctx, w.Holder.Worker.ID)
	if err != nil {
		return err
	}
	known := map[string]bool{}
	for phase, sent := range mail {
		err = errors.Join(err, w.deliverTo(ctx, phase, sent, known))
	}
	w.handed = known
	return err
}

// deliverTo gives a phase what was sent to it and it was not given before, and notes what it has been given.
func (w *Worker) deliverTo(ctx context.Context, phase string, sent []store.Sent, known map[string]bool) error {
	flow := w.Holder.Begun(lease.Held{Phase: phase, Epoch: w.Holder.Held()[phase]})
	if flow == "" {
		return nil
	}
	for _, v := range sent {
		key := flow + " " + v.ID
		if w.handed[key] {
			known[key] = true
			continue
		}
		var ev cruise.Event
		if err := json.Unmarshal(v.Event, &ev); err != nil || ev.ID != v.ID {
			w.Trouble(errors.Join(w.Store.Unkeep(ctx, phase, v.ID), err))
			continue
		}
		if err := w.engine.Send(flow, ev); err != nil {
			return err
		}
		known[key] = true
		w.Inbox.Notice(phase, ev)
	}
	return nil
}
