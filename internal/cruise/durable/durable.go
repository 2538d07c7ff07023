// Package durable runs phases on DBOS Transact with SQLite or PostgreSQL: a library that records every step, so that a
// phase goes on where it was when the process was killed.
package durable

import (
	"cmp"
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"slices"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	_ "github.com/dbos-inc/dbos-transact-golang/dbos/driver/sqlite" // DBOS on SQLite
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"modernc.org/sqlite"
	sqlite3 "modernc.org/sqlite/lib"

	"github.com/cco-dev/cco/internal/cruise"
)

const (
	// version is the application version that DBOS records. Its default is a hash of the program, and a phase begun by an
	// older build would then wait for ever. It changes when phases recorded before can no longer be replayed: when the
	// order of steps, or what is decided from what they gave, has changed. Dead lists such a phase, and it goes on in a
	// new life from the last state that was saved.
	version = "7"
	// executor is the only one of a data directory: a lock ensures that. Machines that share a database have their own.
	executor = "cco"
	workflow = "phase"
	// most is how many steps a life of a phase has. All of them are kept until the life ends, and replayed after a crash,
	// so a phase that only polls for days must start a new life at some point. With a hundred phases, replaying decides
	// how soon an engine is back.
	most = 100
	// connections to the database: DBOS uses so many itself.
	connections = 8
	// attempts is how often a phase may be recovered: it may live for weeks on a laptop that is shut every evening.
	attempts = 1 << 20
)

// Engine runs phases.
type Engine struct {
	dbos     dbos.Context
	steps    cruise.Steps
	most     int    // steps of a life
	executor string // whose lives these are
	now      func() time.Time
	seal     sealer
	close    func() error
}

// Open makes the engine ready and carries on every phase that was under way. Steps is what they do, and life how many
// steps a life may have, 0 for the usual number.
func Open(ctx context.Context, path string, steps cruise.Steps, life int, log *slog.Logger) (*Engine, error) {
	// Full sync: what a phase did must be known after a power cut too.
	dsn := (&url.URL{Scheme: "file", Path: path}).String() +
		"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)" +
		"&_pragma=busy_timeout(10000)&_pragma=foreign_keys(1)&_txlock=immediate"
	db, err := sql.Open("sqlite", dsn)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	// All phases are replayed at once. They queue here in turn; in SQLite they would wait for its lock in growing sleeps.
	db.SetMaxOpenConns(connections)
	db.SetMaxIdleConns(connections)
	e := &Engine{steps: steps, most: cmp.Or(life, most), executor: executor, now: time.Now, close: db.Close}
	if err := e.launch(ctx, dbos.Config{SQLiteSystemDB: db, Logger: log}); err != nil {
		return nil, errors.Join(explainUnreadable(ctx, db, path, err), db.Close())
	}
	return e, nil
}

// migrating is the number of the advisory lock under which the engine's tables are made or changed.
const migrating = 0x63636f0e

// OpenShared is Open on a PostgreSQL that machines share, with connections of its own. Machine names this process as no
// other is or was named: what it begins, nobody else carries on, and it believes nothing that others write there.
func OpenShared(ctx context.Context, to *pgxpool.Config, machine string, steps cruise.Steps, life int,
	log *slog.Logger) (*Engine, error) {
	return openShared(ctx, to, machine, steps, life, log, sealer(rand.Text()))
}

func openShared(ctx context.Context, to *pgxpool.Config, machine string, steps cruise.Steps, life int,
	log *slog.Logger, seal sealer) (*Engine, error) {
	pool, err := pgxpool.NewWithConfig(ctx, to.Copy())
	if err != nil {
		return nil, fmt.Errorf("open the engine: %w", err)
	}
	close := func() error { pool.Close(); return nil } // the engine's end closes it too
	e := &Engine{steps: steps, most: cmp.Or(life, most), executor: machine, now: time.Now, close: close,
		seal: seal}
	// Machines that start at once must not make the tables together.
	lock, err := pgx.ConnectConfig(ctx, to.ConnConfig)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("open the engine: %w", err), close())
	}
	defer func() { _ = lock.Close(context.WithoutCancel(ctx)) }()
	if err := await(ctx, lock); err != nil {
		return nil, errors.Join(fmt.Errorf("open the engine: %w", err), close())
	}
	if err := e.launch(ctx, dbos.Config{SystemDBPool: pool, Logger: log}); err != nil {
		return nil, errors.Join(err, close())
	}
	return e, nil
}

// await gets the lock. It asks again and again: the engine makes indexes concurrently, which waits for every statement
// that was begun before, also one that waits for this lock.
func await(ctx context.Context, c *pgx.Conn) error {
	for {
		var ours bool
		if err := c.QueryRow(ctx, `SELECT pg_try_advisory_lock($1)`, migrating).Scan(&ours); err != nil || ours {
			return err
		}
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// SetClock has phases know another time than this machine's. It comes before they are started.
func (e *Engine) SetClock(now func() time.Time) { e.now = now }

// launch starts the engine, which carries on what was under way.
func (e *Engine) launch(ctx context.Context, c dbos.Config) (err error) {
	c.AppName, c.ApplicationVersion, c.ExecutorID = "cco", version, e.executor
	if e.dbos, err = dbos.NewContext(ctx, c); err != nil {
		return fmt.Errorf("open the engine: %w", err)
	}
	dbos.RegisterWorkflow(e.dbos, e.phase, dbos.WithWorkflowName(workflow), dbos.WithMaxRecoveryAttempts(attempts))
	if err := dbos.Launch(e.dbos); err != nil {
		return fmt.Errorf("start the engine: %w", err)
	}
	return nil
}

// GiveUp ends a life of a phase for good, wherever it runs.
func (e *Engine) GiveUp(flow string) error {
	list, err := dbos.ListWorkflows(e.dbos, dbos.WithFilterWorkflowIDs(flow), dbos.WithFilterLoadInput(false),
		dbos.WithFilterLoadOutput(false))
	if err != nil || len(list) == 0 {
		return err
	}
	return dbos.CancelWorkflow(e.dbos, flow)
}

// explainUnreadable adds to an error what the user can do about an unreadable database, which holds nothing that isn't
// stored elsewhere too. The engine's error is only text, so this asks SQLite itself.
func explainUnreadable(ctx context.Context, db *sql.DB, path string, err error) error {
	found := ""
	look := db.QueryRowContext(ctx, "PRAGMA quick_check(1)").Scan(&found)
	damaged := look == nil && found != "ok"
	if e, ok := errors.AsType[*sqlite.Error](look); ok {
		damaged = slices.Contains([]int{sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_IOERR}, e.Code()&0xff)
	}
	if !damaged {
		return err
	}
	return fmt.Errorf("%w: move %s and its -wal and -shm away, and phases go on from the last state that status shows "+
		"of them", err, path)
}

// Close ends the engine. Phases that are under way go on when it is opened again.
func (e *Engine) Close() error {
	return errors.Join(dbos.Shutdown(e.dbos, 10*time.Second), e.close())
}

// Start begins a life of a phase. One that was begun is not begun again.
func (e *Engine) Start(flow string, st cruise.State) error {
	seal, err := e.seal.of(flow, 0, "the state", st)
	if err == nil {
		_, err = dbos.RunWorkflow(e.dbos, e.phase, life{st, seal}, dbos.WithWorkflowID(flow))
	}
	if err != nil {
		return fmt.Errorf("start phase %s: %w", flow, err)
	}
	return nil
}

// Send gives a phase an event. Sending it twice is the same as once.
func (e *Engine) Send(flow string, ev cruise.Event) error {
	if err := dbos.Send(e.dbos, flow, ev, "", dbos.WithIdempotencyKey(ev.ID)); err != nil {
		return fmt.Errorf("send to phase %s: %w", flow, err)
	}
	return nil
}

// list gives this machine's lives in some states, without what they were given and gave.
func (e *Engine) list(in ...dbos.WorkflowStatusType) ([]dbos.WorkflowStatus, error) {
	return dbos.ListWorkflows(e.dbos, dbos.WithFilterStatus(in...), dbos.WithFilterExecutorIDs(e.executor),
		dbos.WithFilterLoadInput(false), dbos.WithFilterLoadOutput(false))
}

// Dead lists the lives of phases that the engine has given up, because it could not write down what they did.
func (e *Engine) Dead() ([]string, error) {
	list, err := e.list(dbos.WorkflowStatusError, dbos.WorkflowStatusCancelled,
		dbos.WorkflowStatusMaxRecoveryAttemptsExceeded)
	if err != nil {
		return nil, fmt.Errorf("look after phases: %w", err)
	}
	var dead []string
	for _, w := range list {
		dead = append(dead, w.ID)
	}
	old, err := e.outdated()
	if err != nil {
		return dead, err
	}
	over, err := e.Over()
	return append(append(dead, old...), over...), err
}

// Over lists the lives that have come to their end: of phases that have ended, or that go on in another.
func (e *Engine) Over() ([]string, error) {
	list, err := e.list(dbos.WorkflowStatusSuccess)
	if err != nil {
		return nil, fmt.Errorf("look for lives that are over: %w", err)
	}
	var over []string
	for _, w := range list {
		over = append(over, w.ID)
	}
	return over, nil
}

// Forget removes the records of lives that will not be continued.
func (e *Engine) Forget(flows []string) error {
	if len(flows) == 0 {
		return nil
	}
	if err := dbos.DeleteWorkflows(e.dbos, flows); err != nil {
		return fmt.Errorf("forget lives that are over: %w", err)
	}
	return nil
}

// outdated lists the lives that another version of cco recorded and nobody can replay. They are given up for good, so
// that they don't run beside their next life if that version is started again.
func (e *Engine) outdated() ([]string, error) {
	list, err := e.list(dbos.WorkflowStatusPending, dbos.WorkflowStatusEnqueued)
	if err != nil {
		return nil, fmt.Errorf("look for phases of another version: %w", err)
	}
	var old []string
	for _, w := range list {
		if w.ApplicationVersion == version {
			continue
		}
		if err := dbos.CancelWorkflow(e.dbos, w.ID); err != nil {
			return old, fmt.Errorf("give up phase %s of version %s: %w", w.ID, w.ApplicationVersion, err)
		}
		old = append(old, w.ID)
	}
	return old, nil
}

// Wait waits until a life of a phase has ended.
func (e *Engine) Wait(flow string) (cruise.State, error) {
	h, err := dbos.RetrieveWorkflow[cruise.State](e.dbos, flow)
	if err != nil {
		return cruise.State{}, err
	}
	return h.GetResult()
}

func (e *Engine) phase(ctx dbos.Context, l life) (st cruise.State, err error) {
	defer func() {
		// A panic would end the process with all its phases, and so on every machine that takes this one.
		if p := recover(); p != nil {
			err = fmt.Errorf("cco went wrong: %v", p)
		}
	}()
	id, err := dbos.GetWorkflowID(ctx)
	if err == nil {
		err = e.seal.check(l.Seal, id, 0, "the state", l.State)
	}
	if err != nil {
		return l.State, err
	}
	return cruise.Phase(&run{ctx: ctx, id: cruise.PhaseOf(id), flow: id, engine: e}, l.State)
}

// run is the port on DBOS.
type run struct {
	ctx    dbos.Context
	id     string
	flow   string // this life of it
	engine *Engine
	done   int // steps so far, in this life; the same when it is replayed
}

func (r *run) ID() string { return r.id }

// Full says that this life has had as many steps as it may have.
func (r *run) Full() bool { return r.done >= r.engine.most }

func (r *run) Now() (time.Time, error) {
	r.done++
	return dbos.RunAsStep(r.ctx, func(context.Context) (time.Time, error) { return r.engine.now().UTC().Round(0), nil },
		dbos.WithStepName("now"))
}

// Recv turns the engine's timeout into nothing received.
func (r *run) Recv(timeout time.Duration) (*cruise.Event, error) {
	r.done++
	ev, err := dbos.Recv[cruise.Event](r.ctx, "", timeout)
	if errors.Is(err, dbos.ErrTimeout) && r.ctx.Err() == nil {
		return nil, nil // the port says so: nothing came, and nothing is wrong
	}
	if err != nil {
		return nil, err
	}
	return &ev, nil
}

// Await looks beside the wait, and ends it by an event.
func (r *run) Await(w cruise.Wait) (e *cruise.Event, looked time.Time, err error) {
	in, err := json.Marshal(w.Look)
	if err != nil {
		return nil, looked, err
	}
	ctx, stop := context.WithCancel(cruise.WithFlow(r.ctx, r.flow))
	last := make(chan time.Time, 1)
	look := func(ctx context.Context) (cruise.Outcome, error) {
		return cruise.Dispatch(ctx, r.engine.steps, cruise.StepLook, in)
	}
	go func() { last <- w.Watch(ctx, r.engine.now, look, r.stir) }()
	e, err = r.Recv(w.Longest())
	stop()
	at := <-last
	if err != nil {
		return nil, looked, err
	}
	r.done++
	looked, err = dbos.RunAsStep(r.ctx, func(context.Context) (time.Time, error) { return at, nil },
		dbos.WithStepName("looked"))
	if e != nil && e.Kind == cruise.EventStir {
		e = nil
	}
	return e, looked, err
}

// stir ends a wait.
func (r *run) stir() error {
	return r.engine.Send(r.flow, cruise.Event{ID: fmt.Sprintf("%s-%x", r.flow, time.Now().UnixNano()),
		Kind: cruise.EventStir})
}

// Start begins the step at once; several can be under way.
func (r *run) Start(step string, in any) cruise.Pending {
	r.done++
	n := r.done
	data, err := json.Marshal(in)
	if err != nil {
		return &pending{err: err}
	}
	done, err := dbos.Go(r.ctx, func(ctx context.Context) (o outcome, err error) {
		if o.Outcome, err = cruise.Dispatch(cruise.WithFlow(ctx, r.flow), r.engine.steps, step, data); err == nil {
			o.Seal, err = r.engine.seal.of(r.flow, n, step, o.Outcome)
		}
		return o, err
	}, dbos.WithStepName(step))
	check := func(o outcome) error { return r.engine.seal.check(o.Seal, r.flow, n, step, o.Outcome) }
	return &pending{done: done, err: err, check: check}
}

type pending struct {
	done  <-chan dbos.StepOutcome[outcome]
	err   error
	check func(outcome) error
}

func (p *pending) Get(out any) error {
	if p.err != nil {
		return p.err
	}
	o := <-p.done
	if o.Err != nil {
		return o.Err
	}
	if err := p.check(o.Result); err != nil {
		return err
	}
	return o.Result.Decode(out)
}
