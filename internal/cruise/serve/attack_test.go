//go:build heavy

package serve

import (
	"context"
	"errors"
	"sync/atomic"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a phase that is held for ever and never begun, because the database went away at that moment.
func TestALifeThatCouldNotBeStartedIsBegunAgain(t *testing.T) {
	a := newPlace(t, pgtest.Start(t).Database(t), "a")
	now := time.Now()
	a.Now = func() time.Time { return now }
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.engine.broken = errors.New("the database is away")
	a.take(t)
	a.engine.broken = nil
	now = now.Add(time.Minute)
	a.take(t)
	same(t, "started", a.engine.started, phase+".2")
}

// end ends a phase as its worker does.
func (p *place) end(t *testing.T) {
	t.Helper()
	st := must.Get(StateOf(must.Get(p.Store.Phase(t.Context(), phase))(t)))(t)
	st.Stage, st.End = cruise.StageEnded, cruise.EndRounds
	rec := must.Get(steps.Record(phase, st, time.Now()))(t)
	must.Get(p.Store.EndPhase(lease.WithEpoch(t.Context(), p.Holder.Held()[phase]), rec, st.Inbox.Events, false))(t)
}

// Guards against a comment that a user was told is taken, and that nobody reads: its phase ended at that moment.
func TestWhatIsSentWhileAPhaseEndsRevivesIt(t *testing.T) {
	a := newPlace(t, pgtest.Start(t).Database(t), "a")
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	// The sender looks at the phase, and is slow.
	lock := must.Get(a.Store.DB().BeginTx(t.Context(), nil))(t)
	must.Get(lock.ExecContext(t.Context(), `SELECT FROM phases WHERE id = $1 FOR UPDATE`, phase))(t)
	sent := make(chan error, 1)
	go func() {
		sent <- a.queue().Send(t.Context(), phase, cruise.Event{ID: "e1", Kind: cruise.EventComment, At: time.Now()})
	}()
	for n := 0; n == 0; {
		must.Do(t, a.Store.DB().QueryRowContext(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE wait_event_type = 'Lock' AND datname = current_database()`).Scan(&n))
	}
	st := must.Get(StateOf(must.Get(a.Store.Phase(t.Context(), phase))(t)))(t)
	st.Stage, st.End = cruise.StageEnded, cruise.EndRounds
	rec := must.Get(steps.Record(phase, st, time.Now()))(t)
	must.Get(lock.ExecContext(t.Context(), `UPDATE phases SET ended = 1, state = $2 WHERE id = $1`, phase,
		string(rec.State)))(t)
	must.Do(t, lock.Commit())
	must.Do(t, <-sent)
	must.Do(t, a.Holder.Beat(t.Context()))
	a.take(t)
	a.take(t)
	same(t, "delivered", a.engine.sent, phase+".3 e1")
}

// Guards against a phase that goes back to what it was, because two commands revived it at once.
func TestTwoWhoReviveAPhaseDoSoOnce(t *testing.T) {
	a := newPlace(t, pgtest.Start(t).Database(t), "a")
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	a.end(t)
	a.take(t)
	slow, once, done := a.queue(), false, make(chan struct{})
	slow.Now = func() time.Time {
		if !once {
			once = true
			go func() {
				defer close(done)
				must.Do(t, a.queue().Send(t.Context(), phase, cruise.Event{ID: "e1", Kind: cruise.EventResume, At: time.Now()}))
				must.Do(t, a.Holder.Beat(t.Context()))
				a.take(t)
				st := must.Get(StateOf(must.Get(a.Store.Phase(t.Context(), phase))(t)))(t)
				st.Spent.Cost = 5
				rec := must.Get(steps.Record(phase, st, time.Now()))(t)
				must.Do(t, a.Store.SavePhase(lease.WithEpoch(t.Context(), a.Holder.Held()[phase]), rec))
			}()
			select {
			case <-done:
			case <-time.After(2 * time.Second): // it waits for us
			}
		}
		return time.Now()
	}
	must.Do(t, slow.Send(t.Context(), phase, cruise.Event{ID: "e2", Kind: cruise.EventResume, At: time.Now()}))
	<-done
	if st := must.Get(StateOf(must.Get(a.Store.Phase(t.Context(), phase))(t)))(t); st.Spent.Cost != 5 {
		t.Fatalf("what it spent is forgotten: life %d, %v", st.Life.Number, st.Spent.Cost)
	}
}

// Guards against the home of a phase that is ended although the phase was just revived: nobody would ever take it.
func TestARevivedPhaseKeepsItsHome(t *testing.T) {
	a := newPlace(t, pgtest.Start(t).Database(t), "a")
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	a.end(t)
	ended := must.Get(a.Store.EndedAt(t.Context(), "a"))(t)
	must.Do(t, a.queue().Send(t.Context(), phase, cruise.Event{ID: "e1", Kind: cruise.EventResume, At: time.Now()}))
	must.Do(t, a.Holder.Beat(t.Context()))
	for id, epoch := range ended {
		must.Do(t, a.Holder.End(t.Context(), lease.Held{Phase: id, Epoch: epoch}))
	}
	if len(ended) != 1 || a.Holder.Held()[phase] != 2 {
		t.Errorf("ended %v, held %v", ended, a.Holder.Held())
	}
	must.Do(t, a.Holder.Beat(t.Context()))
	a.take(t)
	same(t, "started", a.engine.started, phase+".1", phase+".3")
}

// Guards against turns of a new life that are ended with those of the old one.
func TestAPhaseThatComesBackWaitsUntilItWasLeft(t *testing.T) {
	a := newPlace(t, pgtest.Start(t).Database(t), "a")
	must.Do(t, a.queue().Start(t.Context(), phase, cruise.NewState(cruise.Spec{Task: "x"})))
	a.take(t)
	var leaving atomic.Bool
	left, proceed := make(chan struct{}), make(chan struct{})
	a.Abandon = func(context.Context, string) error {
		leaving.Store(true)
		close(left)
		<-proceed
		leaving.Store(false)
		return nil
	}
	settle := a.Settle
	a.Settle = func(ctx context.Context, p store.Phase, h lease.Held) (cruise.State, error) {
		if leaving.Load() {
			t.Error("it is begun while it is still being left")
		}
		return settle(ctx, p, h)
	}
	// Another machine had it for a while, and died.
	must.Get(a.Store.DB().ExecContext(t.Context(), `UPDATE homes SET epoch = epoch + 2`))(t)
	must.Do(t, a.Holder.Beat(t.Context()))
	must.Do(t, a.turn(t.Context()))
	<-left
	must.Do(t, a.turn(t.Context()))
	must.Do(t, a.turn(t.Context()))
	close(proceed)
	a.under.Wait()
	a.take(t)
	same(t, "started", a.engine.started, phase+".1", phase+".2")
}

// Guards against mail that one phase's broken life keeps from all others.
func TestOneBrokenLifeKeepsNoMailFromOthers(t *testing.T) {
	a := newPlace(t, pgtest.Start(t).Database(t), "a")
	const other = "00c0ffef"
	for _, id := range []string{phase, other} {
		must.Do(t, a.queue().Start(t.Context(), id, cruise.NewState(cruise.Spec{Task: "x"})))
	}
	a.take(t)
	a.engine.refuses = phase + ".1"
	for i, id := range []string{phase, other} {
		must.Do(t, a.queue().Send(t.Context(), id, cruise.Event{ID: string(rune('a' + i)), Kind: cruise.EventPause,
			At: time.Now()}))
	}
	for range 5 { // in any order
		_ = a.turn(t.Context())
		a.under.Wait()
		same(t, "delivered", a.engine.sent, other+".1 b")
		a.engine.sent, a.handed = nil, nil
	}
}
