//go:build heavy

package serve

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
)

// lives is an engine that notes what it is told.
type lives struct {
	started, sent, given []string
	over                 []string // lives that have ended
	broken               error    // nothing can be started
	refuses              string   // a life that nothing can be sent to
}

func (e *lives) Start(flow string, _ cruise.State) error {
	if e.broken != nil {
		return e.broken
	}
	e.started = append(e.started, flow)
	return nil
}
func (e *lives) Send(flow string, ev cruise.Event) error {
	if flow == e.refuses {
		return errors.New("there is no such life")
	}
	e.sent = append(e.sent, flow+" "+ev.ID)
	return nil
}
func (e *lives) Runs(flow string) bool {
	return slices.Contains(e.started, flow) && !slices.Contains(e.over, flow)
}
func (e *lives) GiveUp(flow string) { e.given = append(e.given, flow) }
func (e *lives) Close() error       { return nil }

// term is a lease that no test outlives, because its workers beat only when it says so.
const term = time.Hour

// place is a machine with a worker, whose turns a test takes.
type place struct {
	*Worker
	engine *lives
	left   []string // phases that were abandoned
	unfit  string
}

func newPlace(t *testing.T, address, id string) *place {
	t.Helper()
	data := t.TempDir()
	st := must.Get(store.Open(t.Context(), data+"/cco.db"))(t)
	db := must.Get(sql.Open("pgx", address))(t)
	st.Share(must.Get(store.OpenShared(t.Context(), db))(t), db.Close)
	t.Cleanup(func() { _ = st.Close() })
	p := &place{engine: &lives{}}
	p.Worker = &Worker{Server: Server{Data: data, Store: st, Now: time.Now, engine: p.engine,
		Inbox: &steps.Inbox{Store: st}},
		Holder: &lease.Holder{Table: &lease.Table{DB: db, Term: term}, Boot: lease.Boot, Worker: lease.Worker{ID: id,
			Accounts: []string{"forge.example/ada"}, Versions: []string{"1"}, Slots: 10}},
		Settle: func(_ context.Context, rec store.Phase, _ lease.Held) (st cruise.State, err error) {
			if p.unfit != "" {
				return st, &UnfitError{Why: p.unfit}
			}
			return st, json.Unmarshal(rec.State, &st)
		},
		Abandon: func(_ context.Context, phase string) error { p.left = append(p.left, phase); return nil },
		Report:  func(string, ...any) {},
	}
	must.Do(t, p.Holder.Register(t.Context()))
	st.Fence = p.Holder.Fence
	return p
}

func (p *place) take(t *testing.T) {
	t.Helper()
	must.Do(t, p.turn(t.Context()))
	p.under.Wait()
}

func (p *place) queue() *Queue {
	plain := *p.Store.Shared
	plain.Fence = nil
	st := *p.Store
	st.Shared = &plain
	return &Queue{Store: &st, Now: time.Now, Version: "1",
		Home: func(context.Context, cruise.State) (lease.Home, error) {
			return lease.Home{Account: lease.Account{Host: "forge.example", Login: "ada"}}, nil
		},
		Bundle: func(context.Context, string, cruise.State) (*store.Bundle, error) { return nil, nil }}
}

// silent lets a worker's lease lapse, as the others see it.
func silent(t *testing.T, on *place, id string) {
	t.Helper()
	past := (term + time.Second).Seconds()
	_, err := on.Holder.Table.DB.ExecContext(t.Context(), `UPDATE workers
		SET beat_at = beat_at - make_interval(secs => $2) WHERE id = $1`, id, past)
	must.Do(t, err)
	_, err = on.Holder.Table.DB.ExecContext(t.Context(), `UPDATE workers
		SET contact_since = contact_since - make_interval(secs => $2) WHERE id <> $1`, id, past)
	must.Do(t, err)
}

const phase = "00c0ffee"

func same(t *testing.T, what string, got []string, want ...string) {
	t.Helper()
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s (-want +got):\n%s", what, diff)
	}
}

// Guards against a phase that is lost with its machine, and against one that goes on twice.
func TestAPhaseGoesFromMachineToMachine(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	a, b := newPlace(t, address, "a"), newPlace(t, address, "b")
	st := cruise.NewState(cruise.Spec{Task: "x"})
	must.Do(t, a.queue().Start(t.Context(), phase, st))
	must.Do(t, a.queue().Start(t.Context(), phase, st)) // the answer was lost
	a.take(t)
	b.take(t)
	same(t, "a started", a.engine.started, phase+".1")
	same(t, "b started", b.engine.started)

	must.Do(t, b.queue().Send(t.Context(), phase, cruise.Event{ID: "e1", Kind: cruise.EventPause, At: time.Now()}))
	a.take(t)
	b.take(t)
	same(t, "a delivered", a.engine.sent, phase+".1 e1")
	same(t, "b delivered", b.engine.sent)

	silent(t, b, "a")
	b.take(t)
	same(t, "b started", b.engine.started, phase+".2")
	same(t, "b gave up", b.engine.given, phase+".1")
	b.take(t)
	same(t, "b delivered what nobody has read", b.engine.sent, phase+".2 e1")

	must.Do(t, a.Holder.Beat(t.Context())) // it was only stopped
	a.take(t)
	same(t, "a left", a.left, phase)
	same(t, "a gave up", a.engine.given[1:], phase+".1")
	same(t, "a started", a.engine.started, phase+".1")
	ctx := lease.WithEpoch(t.Context(), 1)
	if err := a.Store.SavePhase(ctx, must.Get(steps.Record(phase, st, time.Now()))(t)); err == nil {
		t.Error("an earlier home saved the phase")
	}
}

// Guards against phases that keep slots after their end, and ends that nobody can undo.
func TestAPhaseThatHasEndedLeavesAndComesBack(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	a, b := newPlace(t, address, "a"), newPlace(t, address, "b")
	must.Do(t, b.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	rec := must.Get(a.Store.Phase(t.Context(), phase))(t)
	st := must.Get(StateOf(rec))(t)
	st.Stage, st.End = cruise.StageEnded, cruise.EndRounds
	must.Do(t, a.Store.SavePhase(lease.WithEpoch(t.Context(), 1), must.Get(steps.Record(phase, st, time.Now()))(t)))
	a.take(t)
	if held := a.Holder.Held(); len(held) != 0 || len(a.left) != 0 {
		t.Errorf("it has %v, and left %v", held, a.left)
	}
	must.Do(t, b.queue().Send(t.Context(), phase, cruise.Event{ID: "e2", Kind: cruise.EventResume, At: time.Now()}))
	b.take(t)
	must.Do(t, a.Holder.Beat(t.Context()))
	a.take(t)
	same(t, "b started", b.engine.started)
	same(t, "a started", a.engine.started, phase+".1", phase+".3") // where its workspace is
}

// Guards against a machine that keeps what it can't run, and a user who does not learn why.
func TestAnUnfitPhaseIsForOthers(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	a, b := newPlace(t, address, "a"), newPlace(t, address, "b")
	a.unfit = "this worker does not know the model"
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	a.take(t)
	b.take(t)
	same(t, "a started", a.engine.started)
	same(t, "b started", b.engine.started, phase+".1")
	lines := must.Get(a.Store.ReadLog(t.Context(), phase, 0))(t)
	if !slices.ContainsFunc(lines, func(l store.Line) bool { return strings.Contains(l.Text, a.unfit) }) {
		t.Errorf("the log says nothing of it: %v", lines)
	}
}

// Guards against a phase whose life has ended, on a machine that lives.
func TestADeadLifeIsBegunAgain(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	a := newPlace(t, address, "a")
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	a.tendHeld()
	a.take(t)
	same(t, "started", a.engine.started, phase+".1")
	a.engine.over = []string{phase + ".1"}
	a.tendHeld()
	a.take(t)
	same(t, "started", a.engine.started, phase+".1", phase+".2")
}

// Guards against turns that go on for nobody: the worker that began them was killed, and their phase went elsewhere.
func TestAKilledWorkerThatComesBackLeavesWhatItLost(t *testing.T) {
	address := pgtest.Start(t).Database(t)
	a, b := newPlace(t, address, "a"), newPlace(t, address, "b")
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	silent(t, b, "a")
	b.take(t)
	again := newPlace(t, address, "a")
	again.Left = func(context.Context) ([]string, error) { return []string{phase, "0ddba115"}, nil }
	must.Do(t, again.leave(t.Context()))
	again.under.Wait()
	same(t, "left", again.left, phase)
	b.Left = again.Left
	must.Do(t, b.leave(t.Context()))
	b.under.Wait()
	same(t, "b left", b.left)
}
