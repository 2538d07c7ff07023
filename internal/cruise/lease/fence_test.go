//go:build heavy

package lease

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// saying is a step that speaks on a forge.
type saying struct {
	cruise.Steps
	say func(ctx context.Context) error
}

func (s saying) Say(ctx context.Context, _ cruise.SayIn) error { return s.say(ctx) }

func (m *machine) step(t *testing.T, flow string, say func(ctx context.Context) error) (cruise.Outcome, error) {
	t.Helper()
	steps := &Fenced{Steps: saying{say: say}, Holder: m.Holder}
	return cruise.Dispatch(cruise.WithFlow(t.Context(), flow), steps, cruise.StepSay.Name,
		json.RawMessage(`{"phase":"p"}`))
}

// Guards against effects of a home that a phase has left, at every moment at which it can leave.
func TestEveryEffectIsFenced(t *testing.T) {
	take := func(t *testing.T, db *sql.DB, b *machine) {
		t.Helper()
		age(t, db, Term+time.Second, "a")
		calm(t, db, b)
		takes(t, b, Held{"p", 2})
	}
	for _, c := range []struct {
		name   string
		flow   string
		before bool // the phase leaves before the step begins
		during bool // it leaves while the step is at work
		said   bool
	}{
		{name: "at home", flow: "p", said: true},
		{name: "before the step", flow: "p", before: true},
		{name: "during the step", flow: "p", during: true},
		{name: "another life", flow: "p.2"},
	} {
		t.Run(c.name, func(t *testing.T) {
			db := postgres(t)
			enqueue(t, db, "p")
			a, b := worker(t, db, "a"), worker(t, db, "b")
			takes(t, a, Held{"p", 1})
			a.Begin("p", Held{"p", 1})
			if c.before {
				take(t, db, b)
			}
			said := false
			out, err := a.step(t, c.flow, func(ctx context.Context) error {
				if c.during {
					take(t, db, b)
				}
				if err := forge.Fence(ctx); err != nil {
					return err
				}
				said = true
				return nil
			})
			if said != c.said {
				t.Errorf("said: %v, want %v", said, c.said)
			}
			if c.said {
				must.Do(t, err)
				return
			}
			wantLost(t, err)
			if out.Out != nil || out.Failure != nil {
				t.Errorf("recorded: %+v", out)
			}
		})
	}
}

// Guards against a step that fails for good because the database was away for a moment.
func TestAStepWaitsForTheLeaseAndRunsAgain(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a := worker(t, db, "a")
	takes(t, a, Held{"p", 1})
	a.Begin("p", Held{"p", 1})
	tries := 0
	_, err := a.step(t, "p", func(ctx context.Context) error {
		if tries++; tries == 1 {
			a.boot += Term // it was stopped for so long
			err := forge.Fence(ctx)
			wantLapsed(t, err)
			must.Do(t, a.Beat(t.Context())) // nobody has taken it meanwhile
			return &cruise.Temporary{Err: err}
		}
		return forge.Fence(ctx)
	})
	must.Do(t, err)
	if tries != 2 {
		t.Errorf("tried %d times", tries)
	}
}

// Guards against a turn of an agent that goes on after its phase has left.
func TestAStepEndsWhenItsPhaseLeaves(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	a.Begin("p", Held{"p", 1})
	_, err := a.step(t, "p", func(ctx context.Context) error {
		age(t, db, Term+time.Second, "a")
		calm(t, db, b)
		takes(t, b, Held{"p", 2})
		must.Do(t, a.Beat(t.Context()))
		<-ctx.Done()
		return ctx.Err()
	})
	wantLost(t, err)
}

// Guards against a state that an earlier home writes over that of the present one.
func TestOnlyTheHomeOfAPhaseSavesIt(t *testing.T) {
	db := postgres(t)
	shared := must.Get(store.OpenShared(t.Context(), db))(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	save := func(m *machine, epoch int64, title string) error {
		one := *shared
		one.Fence = m.Fence
		ctx := t.Context()
		if epoch > 0 {
			ctx = WithEpoch(ctx, epoch)
		}
		return one.SavePhase(ctx, store.Phase{ID: "p", Title: title, State: json.RawMessage(`{}`)})
	}
	must.Do(t, save(a, 1, "by a"))
	wantLost(t, save(a, 0, "without a home"))
	age(t, db, Term+time.Second, "a")
	calm(t, db, b)
	takes(t, b, Held{"p", 2})
	must.Do(t, save(b, 2, "by b"))
	wantLost(t, save(a, 1, "by a, later"))
	if p := must.Get(shared.Phase(t.Context(), "p"))(t); p.Title != "by b" {
		t.Errorf("it was saved %s", p.Title)
	}
	if errors.Is(save(b, 2, "by b"), sql.ErrTxDone) {
		t.Error("the transaction was left open")
	}
}

// Guards against a hint that an earlier home of a phase sends, which a later one would take for news.
func TestOnlyTheHomeOfAPhaseWakesIt(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	woken := 0
	wake := func(flow string) error {
		if flow != "p.1" {
			t.Errorf("woke %s", flow)
		}
		woken++
		return nil
	}
	wantLost(t, a.Wake(t.Context(), "p", wake)) // it was not begun yet
	a.Begin("p.1", Held{"p", 1})
	must.Do(t, a.Wake(t.Context(), "p", wake))
	a.boot += Term
	wantLapsed(t, a.Wake(t.Context(), "p", wake))
	age(t, db, Term+time.Second, "a")
	calm(t, db, b)
	takes(t, b, Held{"p", 2})
	a.boot = time.Hour
	wantLost(t, a.Wake(t.Context(), "p", wake))
	if woken != 1 {
		t.Errorf("woken %d times", woken)
	}
}

// Guards against bundles and heads that an earlier home writes or removes, of which the present one lives.
func TestOnlyTheHomeOfAPhaseKeepsItsCommits(t *testing.T) {
	db := postgres(t)
	shared := must.Get(store.OpenShared(t.Context(), db))(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	as := func(m *machine, epoch int64) (context.Context, *store.Shared) {
		one := *shared
		one.Fence = m.Fence
		return WithEpoch(t.Context(), epoch), &one
	}
	keep := func(m *machine, epoch int64, head string) error {
		ctx, s := as(m, epoch)
		return s.KeepBundle(ctx, store.Bundle{Phase: "p", Name: store.BundleWork, Base: "b", Head: head, Epoch: epoch,
			Data: []byte(head)})
	}
	must.Do(t, keep(a, 1, "h1"))
	age(t, db, Term+time.Second, "a")
	calm(t, db, b)
	takes(t, b, Held{"p", 2})
	must.Do(t, keep(b, 2, "h2"))
	wantLost(t, keep(a, 1, "h3"))
	ctx, s := as(a, 1)
	wantLost(t, s.KeepHead(ctx, "p", "h3", 1))
	wantLost(t, s.DropBundles(ctx, "p"))
	got, ok, err := shared.Bundle(t.Context(), "p", store.BundleWork, 100)
	if err != nil || !ok || got.Head != "h2" {
		t.Errorf("kept %+v %v %v", got, ok, err)
	}
	if pushed, err := shared.PushedHead(t.Context(), "p", "h3"); err != nil || pushed {
		t.Errorf("pushed %v %v", pushed, err)
	}
	ctx, s = as(b, 2)
	must.Do(t, s.DropBundles(ctx, "p"))
	if _, ok, err := shared.Bundle(t.Context(), "p", store.BundleWork, 100); ok || err != nil {
		t.Errorf("still there: %v %v", ok, err)
	}
}

// Guards against turns that a killed worker left, and that go on although their phase has another home.
func TestARestartedWorkerLearnsWhatItHasLost(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p", "qq", "rrr")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1}, Held{"qq", 1}, Held{"rrr", 1})
	age(t, db, Term+time.Second, "a")
	calm(t, db, b)
	b.Worker.Slots = 2
	must.Get(b.Take(t.Context()))(t)
	lost := b.Held()
	again := worker(t, db, "a")
	gone := must.Get(again.Elsewhere(t.Context(), []string{"local", "p", "qq", "rrr"}))(t)
	if len(gone) != 2 || len(lost) != 2 {
		t.Fatalf("lost %v, of %v", gone, lost)
	}
	for _, p := range gone {
		if _, is := lost[p]; !is {
			t.Errorf("%s is not lost", p)
		}
	}
}
