//go:build heavy

package lease

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// machine is a worker with a boot clock that a test moves.
type machine struct {
	*Holder
	boot time.Duration
}

func worker(t *testing.T, db *sql.DB, id string, change ...func(*Worker)) *machine {
	t.Helper()
	m := &machine{boot: time.Hour}
	m.Holder = &Holder{Table: &Table{DB: db}, Boot: func() time.Duration { return m.boot }, Worker: Worker{ID: id,
		Labels: []string{"box:a"}, Accounts: []string{ada.String()}, Versions: []string{"5"}, Slots: 10}}
	for _, c := range change {
		c(&m.Worker)
	}
	must.Do(t, m.Register(t.Context()))
	return m
}

var ada = Account{Host: "forge.example", Login: "Ada"}

func enqueue(t *testing.T, db *sql.DB, phases ...string) {
	t.Helper()
	for _, p := range phases {
		must.Do(t, Enqueue(t.Context(), db, Home{Phase: p, Account: ada, Needs: []string{"box:a"}, Version: "5"}))
	}
}

func takes(t *testing.T, m *machine, want ...Held) {
	t.Helper()
	got, err := m.Take(t.Context())
	must.Do(t, err)
	slices.SortFunc(got, func(a, b Held) int { return len(a.Phase) - len(b.Phase) })
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("%s took (-want +got):\n%s", m.Worker.ID, diff)
	}
}

// Guards against a worker that loses its phases because something else of it has all connections.
func TestBeatsWaitForNothingElse(t *testing.T) {
	address := must.Get(server.Create(t.Context()))(t)
	var pools [2]*sql.DB
	for i := range pools {
		pools[i] = must.Get(sql.Open("pgx", address))(t)
		pools[i].SetMaxOpenConns(1)
		defer func() { _ = pools[i].Close() }()
	}
	must.Get(store.OpenShared(t.Context(), pools[0]))(t)
	m := worker(t, pools[0], "a")
	busy := must.Get(pools[0].Conn(t.Context()))(t)
	defer func() { _ = busy.Close() }()
	m.Table.Beats = pools[1]
	ctx, cancel := context.WithTimeout(t.Context(), Term)
	defer cancel()
	must.Do(t, m.Beat(ctx))
}

// calm lets a worker have been in contact for a whole lease.
func calm(t *testing.T, db *sql.DB, m *machine) {
	t.Helper()
	_, err := db.ExecContext(t.Context(), `UPDATE workers SET contact_since = contact_since - make_interval(secs => $1)
		WHERE id = $2`, Term.Seconds(), m.Worker.ID)
	must.Do(t, err)
	must.Do(t, m.Beat(t.Context()))
}

// Guards against a phase that goes to a machine that lacks what it needs, above all its account.
func TestTakesOnlyWhatItCan(t *testing.T) {
	db := postgres(t)
	for _, c := range []struct {
		name   string
		worker func(*Worker)
		home   func(*Home)
		want   bool
	}{
		{name: "all is there", want: true},
		{name: "the case of a login does not matter", home: func(h *Home) { h.Account.Login = "ADA" }, want: true},
		{name: "another login", home: func(h *Home) { h.Account.Login = "eve" }},
		{name: "the login on another host", home: func(h *Home) { h.Account.Host = "other.example" }},
		{name: "no account", worker: func(w *Worker) { w.Accounts = nil }},
		{name: "another box", home: func(h *Home) { h.Needs = []string{"box:b"} }},
		{name: "a label that it lacks", home: func(h *Home) { h.Needs = append(h.Needs, "gpu") }},
		{name: "a label that it has", home: func(h *Home) { h.Needs = append(h.Needs, "gpu") },
			worker: func(w *Worker) { w.Labels = append(w.Labels, "gpu") }, want: true},
		{name: "a newer version", home: func(h *Home) { h.Version = "6" }},
		{name: "a version of several", worker: func(w *Worker) { w.Versions = []string{"4", "5"} }, want: true},
		{name: "no slots", worker: func(w *Worker) { w.Slots = 0 }},
	} {
		t.Run(c.name, func(t *testing.T) {
			must.Get(db.ExecContext(t.Context(), "TRUNCATE homes, workers"))(t)
			h := Home{Phase: "p", Account: ada, Needs: []string{"box:a"}, Version: "5"}
			if c.home != nil {
				c.home(&h)
			}
			must.Do(t, Enqueue(t.Context(), db, h))
			var change []func(*Worker)
			if c.worker != nil {
				change = append(change, c.worker)
			}
			var want []Held
			if c.want {
				want = []Held{{"p", 1}}
			}
			takes(t, worker(t, db, "w", change...), want...)
		})
	}
}

func TestSlotsBoundWhatIsHeld(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "a", "bb", "ccc")
	w := worker(t, db, "w", func(w *Worker) { w.Slots = 2 })
	takes(t, w, Held{"a", 1}, Held{"bb", 1})
	takes(t, w)
	must.Do(t, End(t.Context(), db, Held{"a", 1}))
	takes(t, w, Held{"ccc", 1})
}

// Guards against two workers with one phase, because they took it at the same moment: from the queue, or from a worker
// that is dead.
func TestTwoThatTakeAtOnceShareNothing(t *testing.T) {
	db := postgres(t)
	const phases, workers, rounds = 60, 4, 20
	var all []string
	for i := range phases {
		all = append(all, fmt.Sprintf("p%02d", i))
	}
	enqueue(t, db, all...)
	worker(t, db, "dead")
	age(t, db, Term+time.Second)
	var ms []*machine
	for i := range workers {
		ms = append(ms, worker(t, db, fmt.Sprintf("w%d", i), func(w *Worker) { w.Slots = phases }))
	}
	for round := range int64(rounds) {
		must.Get(db.ExecContext(t.Context(),
			`UPDATE homes SET worker = CASE WHEN phase < 'p30' THEN 'dead' END`))(t) // the others wait
		must.Get(db.ExecContext(t.Context(), `UPDATE workers SET beat_at = clock_timestamp(),
			contact_since = clock_timestamp() - interval '1 hour' WHERE id <> 'dead'`))(t)
		var mu sync.Mutex
		got := map[string][]int64{}
		begin, took := make(chan struct{}), map[string]int{}
		var wg sync.WaitGroup
		for _, m := range ms {
			wg.Go(func() {
				<-begin
				h, err := m.Take(t.Context())
				if err != nil {
					t.Error(err)
				}
				mu.Lock()
				defer mu.Unlock()
				took[m.Worker.ID] = len(h)
				for _, p := range h {
					got[p.Phase] = append(got[p.Phase], p.Epoch)
				}
			})
		}
		close(begin)
		wg.Wait()
		for _, p := range all {
			if !slices.Equal(got[p], []int64{round + 1}) {
				t.Fatalf("in round %d phase %s was taken with epochs %v; %v", round, p, got[p], took)
			}
		}
	}
}

// Guards against a machine that was stopped for longer than its lease and goes on as if nothing had happened.
func TestAStoppedWorkerThatContinuesIsRefused(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	must.Do(t, a.Check(t.Context(), "p", 1))

	age(t, db, Term+time.Second) // and a does not beat
	must.Do(t, b.Beat(t.Context()))
	takes(t, b) // the beats of b were missing too: the database may have been away
	calm(t, db, b)
	takes(t, b, Held{"p", 2})

	// By its own clock no time has passed: it was asleep with a clock that stopped. The database refuses it all the same.
	wantLost(t, a.Check(t.Context(), "p", 1))
	if diff := cmp.Diff([]Held{{"p", 1}}, a.Gone()); diff != "" {
		t.Errorf("given up (-want +got):\n%s", diff)
	}
	must.Do(t, a.Beat(t.Context()))
	wantLost(t, a.Check(t.Context(), "p", 1))
	must.Do(t, b.Check(t.Context(), "p", 2))
	if got := a.Held(); len(got) != 0 {
		t.Errorf("it still has %v", got)
	}
}

func wantLost(t *testing.T, err error) {
	t.Helper()
	if _, lost := errors.AsType[*LostError](err); !lost {
		t.Errorf("not refused as lost: %v", err)
	}
}

func wantLapsed(t *testing.T, err error) {
	t.Helper()
	if _, lapsed := errors.AsType[*LapsedError](err); !lapsed {
		t.Errorf("not refused as lapsed: %v", err)
	}
}

// Guards against effects in the last moments of a lease: what is sent then arrives after it.
func TestEffectsStopBeforeTheLeaseEnds(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a := worker(t, db, "a")
	takes(t, a, Held{"p", 1})
	for _, c := range []struct {
		after time.Duration
		ok    bool
	}{{0, true}, {Term - Margin - time.Millisecond, true}, {Term - Margin, false}, {Term, false}, {time.Hour, false}} {
		a.boot = time.Hour + c.after
		err := a.Check(t.Context(), "p", 1)
		if c.ok {
			must.Do(t, err)
		} else {
			wantLapsed(t, err)
		}
	}
	_, err := a.Take(t.Context())
	wantLapsed(t, err)
	must.Do(t, a.Beat(t.Context())) // nobody took it meanwhile
	must.Do(t, a.Check(t.Context(), "p", 1))
}

// Guards against a lease counted from the answer: the beat may have waited for minutes on the way.
func TestALeaseIsCountedFromBeforeTheBeatWasSent(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a := worker(t, db, "a")
	takes(t, a, Held{"p", 1})
	asked := 0
	a.Boot = func() time.Duration {
		asked++
		if asked == 1 {
			return a.boot // before it is sent
		}
		return a.boot + Term // the answer came that late
	}
	must.Do(t, a.Beat(t.Context()))
	wantLapsed(t, a.Check(t.Context(), "p", 1))
}

// Guards against a process that is stopped between its question to the database and its effect.
func TestTheOwnClockIsAskedAfterTheDatabase(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a := worker(t, db, "a")
	takes(t, a, Held{"p", 1})
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	defer func() { _ = tx.Rollback() }()
	err := a.check(t.Context(), stopping{DB: tx, then: func() { a.boot += Term }}, Held{"p", 1}, "")
	wantLapsed(t, err)
}

// stopping stops the process after the database has answered.
type stopping struct {
	DB
	then func()
}

func (s stopping) QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row {
	defer s.then()
	return s.DB.QueryRowContext(ctx, query, args...)
}

// Guards against a takeover while the database was away: then nobody could beat.
func TestNobodyTakesOverForOneLeaseAfterTheDatabaseWasAway(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	calm(t, db, a)
	calm(t, db, b)
	must.Do(t, server.Stop())
	if err := b.Beat(t.Context()); err == nil {
		t.Error("a beat without a database")
	}
	must.Do(t, server.Again(t.Context()))
	age(t, db, 10*time.Minute) // that long
	eventually(t, func() error { return b.Beat(t.Context()) })
	takes(t, b) // a has not beaten yet, but had no chance to
	must.Do(t, a.Beat(t.Context()))
	must.Do(t, a.Check(t.Context(), "p", 1))

	// A short absence counts too: b came through in time, a was not yet back.
	calm(t, db, b)
	age(t, db, Term+time.Second, "a")
	age(t, db, Term/2+time.Second, "b")
	must.Do(t, b.Beat(t.Context()))
	takes(t, b)

	calm(t, db, b)
	takes(t, b, Held{"p", 2}) // a is really gone
}

// eventually repeats what fails while the connections of a pool are stale.
func eventually(t *testing.T, do func() error) {
	t.Helper()
	var err error
	for range 20 {
		if err = do(); err == nil {
			return
		}
	}
	t.Fatal(err)
}

// Guards against a new machine that takes what others have: it has seen nobody for a whole lease yet.
func TestANewWorkerTakesWhatWaitsButNothingOver(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a := worker(t, db, "a")
	takes(t, a, Held{"p", 1})
	age(t, db, Term+time.Second)
	enqueue(t, db, "qq")
	b := worker(t, db, "b")
	takes(t, b, Held{"qq", 1})
	calm(t, db, b)
	takes(t, b, Held{"p", 2})
}

// Guards against a database whose clock is set: leases lapse for all at once, or never.
func TestAClockThatIsAMinuteOff(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	for _, jump := range []time.Duration{time.Minute, -time.Minute} {
		calm(t, db, a)
		calm(t, db, b)
		age(t, db, jump) // as if the database's clock were set by as much
		must.Do(t, b.Beat(t.Context()))
		takes(t, b)
		must.Do(t, a.Beat(t.Context()))
		must.Do(t, a.Check(t.Context(), "p", 1))
	}
	// The clock was set back and a has died since: its beat lies in the future.
	calm(t, db, b)
	age(t, db, -time.Minute, "a")
	takes(t, b, Held{"p", 2})
}

// Guards against a phase that counts its waits by the clock of the machine that it happens to be at.
func TestAllMachinesHaveTheDatabasesTime(t *testing.T) {
	db := postgres(t)
	a, b := worker(t, db, "a"), worker(t, db, "b")
	near := func(m *machine, later time.Duration) {
		t.Helper()
		var there time.Time
		must.Do(t, db.QueryRowContext(t.Context(), `SELECT clock_timestamp()`).Scan(&there))
		if off := m.Now().Sub(there.Add(later)); off > 0 || off < -time.Minute {
			t.Errorf("%s is %v before the database", m.Worker.ID, off)
		}
	}
	b.boot += 5 * time.Hour // it has passed since its last beat
	near(a, 0)
	near(b, 5*time.Hour)
	must.Do(t, b.Beat(t.Context()))
	near(b, 0)
}

// Guards against a worker that waits for its own lease after a restart.
func TestARestartedWorkerHasItsPhasesAtOnce(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	before := worker(t, db, "a")
	takes(t, before, Held{"p", 1})
	after := worker(t, db, "a")
	if diff := cmp.Diff(map[string]int64{"p": 2}, after.Held()); diff != "" {
		t.Error(diff)
	}
	wantLost(t, before.Check(t.Context(), "p", 1))
	wantLost(t, before.Check(t.Context(), "p", 2)) // a copy of the data directory that guesses
	if _, gone := errors.AsType[*SupersededError](before.Beat(t.Context())); !gone {
		t.Error("two processes are one worker")
	}
	enqueue(t, db, "qq")
	takes(t, before)
	must.Do(t, after.Check(t.Context(), "p", 2))
}

// Guards against a take between a check and the commit that relies on it.
func TestNobodyTakesAPhaseWithinATransaction(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	age(t, db, Term+time.Second, "a")
	calm(t, db, b)
	tx := must.Get(db.BeginTx(t.Context(), nil))(t)
	must.Do(t, a.CheckIn(t.Context(), tx, "p", 1))
	takes(t, b)
	must.Do(t, tx.Commit())
	takes(t, b, Held{"p", 2})
	tx = must.Get(db.BeginTx(t.Context(), nil))(t)
	wantLost(t, a.CheckIn(t.Context(), tx, "p", 1))
	must.Do(t, tx.Rollback())
}

func TestEndedPhasesHaveNoHomeUntilTheyAreRevived(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a := worker(t, db, "a")
	takes(t, a, Held{"p", 1})
	must.Do(t, End(t.Context(), db, Held{"p", 0})) // an earlier home
	must.Do(t, a.Check(t.Context(), "p", 1))
	enqueue(t, db, "p") // asked for twice
	must.Do(t, a.Check(t.Context(), "p", 1))
	must.Do(t, End(t.Context(), db, Held{"p", 1}))
	wantLost(t, a.Check(t.Context(), "p", 1))
	takes(t, a)
	enqueue(t, db, "p")
	takes(t, a) // it has ended all the same
	must.Do(t, Requeue(t.Context(), db, "p", "5"))
	b := worker(t, db, "b")
	takes(t, b) // its workspace is where it was
	must.Do(t, a.Beat(t.Context()))
	must.Do(t, a.Check(t.Context(), "p", 2))
	age(t, db, Term+time.Second, "a")
	calm(t, db, b)
	takes(t, b, Held{"p", 3})
}

// Guards against a phase that goes round and round at a worker that can't run it.
func TestARefusedPhaseIsForOthers(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p")
	a, b := worker(t, db, "a"), worker(t, db, "b")
	takes(t, a, Held{"p", 1})
	must.Do(t, a.Refuse(t.Context(), Held{"p", 1}))
	wantLost(t, a.Check(t.Context(), "p", 1))
	takes(t, a)
	takes(t, b, Held{"p", 2})
	must.Do(t, b.Refuse(t.Context(), Held{"p", 2}))
	takes(t, worker(t, db, "a"), Held{"p", 3}) // started anew, perhaps with other settings
}

func TestWorkersAreListed(t *testing.T) {
	db := postgres(t)
	enqueue(t, db, "p", "qq")
	a := worker(t, db, "a", func(w *Worker) { w.Labels = append(w.Labels, "gpu") })
	worker(t, db, "b", func(w *Worker) { w.Accounts = nil })
	takes(t, a, Held{"p", 1}, Held{"qq", 1})
	age(t, db, time.Minute, "b")
	got := must.Get(a.Table.Workers(t.Context()))(t)
	if len(got) != 2 || !got[0].Alive || got[1].Alive || got[1].Age < time.Minute {
		t.Fatalf("wrong: %+v", got)
	}
	if diff := cmp.Diff(a.Worker, got[0].Worker); diff != "" {
		t.Error(diff)
	}
	if !slices.Equal(got[0].Phases, []string{"p", "qq"}) || len(got[1].Phases) != 0 {
		t.Errorf("wrong phases: %+v", got)
	}
}
