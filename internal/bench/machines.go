package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/durable"
	"github.com/cco-dev/cco/internal/cruise/lease"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// What is measured of machines that share phases.
const (
	sharedPhases   = 500
	sharedMachines = 4
	takenPhases    = 10
	takenWithin    = lease.Term + 5*time.Second
	lifeTries      = 60 // of a phase that can't begin
)

// onPostgres measures something in a PostgreSQL that syncs what it writes.
func onPostgres(measure func(context.Context, *pgtest.Server) error) func(context.Context) error {
	return func(ctx context.Context) (err error) {
		server, err := pgtest.Run(ctx, "fsync=on", "shared_preload_libraries=pg_stat_statements")
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, server.Close()) }()
		return measure(ctx, server)
	}
}

// idle is a world in which a phase can't begin, and is told to try again whenever it asks what to do.
type idle struct {
	cruise.Steps
	send  func(kind string) error
	tries int
	start time.Time     // when it was told so first
	sends time.Duration // what telling it took
	last  time.Time
}

func (i *idle) Metadata(context.Context, cruise.MetadataIn) (cruise.Metadata, error) {
	return cruise.Metadata{Title: "x", Branch: "x"}, nil
}

func (i *idle) Workspace(context.Context, cruise.WorkspaceIn) (cruise.Workspace, error) {
	return cruise.Workspace{}, errors.New("no box")
}

func (i *idle) Close(context.Context, cruise.CloseIn) error { return nil }

func (i *idle) Save(_ context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	i.last = time.Now()
	if in.State.Question == "" {
		return cruise.Saved{}, nil
	}
	if i.start.IsZero() {
		i.start = i.last
	}
	kind := cruise.EventResume
	if i.tries++; i.tries == lifeTries {
		kind = cruise.EventCleanup
	}
	err := i.send(kind)
	i.sends += time.Since(i.last)
	return cruise.Saved{}, err
}

// stepsOf compares recorded steps with rows that are inserted and committed, in the same database.
func (b *bench) stepsOf(ctx context.Context, server *pgtest.Server) error {
	address, err := server.Create(ctx)
	if err != nil {
		return err
	}
	db, err := sql.Open("pgx", address)
	if err != nil {
		return err
	}
	defer func() { _ = db.Close() }()
	if _, err := store.OpenShared(ctx, db); err != nil {
		return err
	}
	if _, err := db.ExecContext(ctx, `CREATE TABLE bare (n BIGINT PRIMARY KEY, words TEXT NOT NULL)`); err != nil {
		return err
	}
	n, words := 0, strings.Repeat("words ", 30)
	bare := func() (time.Duration, error) {
		const rows = 300
		start := time.Now()
		for range rows {
			n++
			tx, err := db.BeginTx(ctx, nil)
			if err != nil {
				return 0, err
			}
			if _, err := tx.ExecContext(ctx, `INSERT INTO bare VALUES ($1, $2)`, n, words); err != nil {
				return 0, errors.Join(err, tx.Rollback())
			}
			if err := tx.Commit(); err != nil {
				return 0, err
			}
		}
		return time.Since(start) / rows, nil
	}
	config, err := pgxpool.ParseConfig(address)
	if err != nil {
		return err
	}
	phase := 0
	step := func() (time.Duration, error) {
		phase++
		return oneLife(ctx, db, config, fmt.Sprintf("%08x", phase))
	}
	ours, theirs, err := alternate(5, step, bare)
	if err != nil {
		return err
	}
	b.rows = append(b.rows, row{"a recorded step in PostgreSQL, with its fence, beside an insert and commit there",
		ms(ours), ms(theirs), ratio(ours, theirs), "4×"})
	return nil
}

// oneLife is how long a step takes of a phase that tries again and again.
func oneLife(ctx context.Context, db *sql.DB, config *pgxpool.Config, phase string) (each time.Duration, err error) {
	if err := lease.Enqueue(ctx, db, lease.Home{Phase: phase, Account: lease.Account{Host: "h", Login: "ada"},
		Version: "1"}); err != nil {
		return 0, err
	}
	h := &lease.Holder{Table: &lease.Table{DB: db, Term: time.Hour}, Boot: lease.Boot, Worker: lease.Worker{ID: "bench",
		Accounts: []string{"h/ada"}, Versions: []string{"1"}, Slots: 100}}
	if err := h.Register(ctx); err != nil {
		return 0, err
	}
	if _, err := h.Take(ctx); err != nil {
		return 0, err
	}
	h.Begin(phase, lease.Held{Phase: phase, Epoch: h.Held()[phase]})
	world := &idle{}
	e, err := durable.OpenShared(ctx, config, h.Executor(), &lease.Fenced{Steps: world, Holder: h}, 1<<20,
		slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	world.send = func(kind string) error {
		return e.Send(phase, cruise.Event{ID: fmt.Sprintf("%s-%d", phase, world.tries), Kind: kind})
	}
	st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})
	if err := e.Start(phase, st); err != nil {
		return 0, err
	}
	if _, err := e.Wait(phase); err != nil {
		return 0, err
	}
	n, err := recorded(ctx, db, phase)
	if err == nil && n < 3*lifeTries {
		err = fmt.Errorf("only %d steps were recorded", n)
	}
	if err != nil {
		return 0, err
	}
	// The engine looks for an end only once a second.
	return (world.last.Sub(world.start) - world.sends) / time.Duration(n), nil
}

// recorded is how many steps the lives of a phase have.
func recorded(ctx context.Context, db *sql.DB, phase string) (n int, err error) {
	err = db.QueryRowContext(ctx, `SELECT count(*) FROM dbos.operation_outputs WHERE workflow_uuid LIKE $1`,
		phase+"%").Scan(&n)
	return n, err
}

// sharing is a user with phases in a database, and machines that run them.
type sharing struct {
	*cruising
	db       *sql.DB
	envs     [][]string // of each machine
	machines []*proc.Process
	done     []func() error
}

// share makes machines and phases that wait.
func (b *bench) share(ctx context.Context, server *pgtest.Server, name string, machines, phases int) (s *sharing,
	err error) {
	s = &sharing{cruising: &cruising{bench: b, repo: filepath.Join(b.dir, name),
		data: filepath.Join(b.dir, name+"-data", "cco"), living: phases}}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.close())
		}
	}()
	address, err := server.Create(ctx)
	if err != nil {
		return s, err
	}
	if s.db, err = sql.Open("pgx", address); err != nil {
		return s, err
	}
	shared, err := store.OpenShared(ctx, s.db)
	if err != nil {
		return s, err
	}
	s.inShared = func(st *store.Store) { st.Share(shared, s.db.Close) }
	s.enqueue = func(ctx context.Context, id string) error {
		host := strings.TrimPrefix(s.fake.URL(), "http://")
		return lease.Enqueue(ctx, s.db, lease.Home{Phase: id, Account: lease.Account{Host: host, Login: "ada"},
			Version: "1"})
	}
	done, err := s.open(ctx)
	if err != nil {
		return s, err
	}
	s.done = append(s.done, done)
	config := filepath.Join(b.dir, name+"-config")
	if err := os.MkdirAll(filepath.Join(config, "cco"), 0o700); err != nil {
		return s, err
	}
	secret := filepath.Join(config, "password")
	text := fmt.Sprintf("[engine]\ndatabase = %q\npassword = {file = %q}\n[worker]\nslots = %d\n",
		strings.Replace(address, ":"+server.Password()+"@", "@", 1), secret, 1+phases/machines)
	if err := errors.Join(os.WriteFile(secret, []byte(server.Password()), 0o600),
		os.WriteFile(filepath.Join(config, "cco", "config.toml"), []byte(text), 0o600)); err != nil {
		return s, err
	}
	for i := range machines {
		env := append(append([]string{}, s.env...), "XDG_CONFIG_HOME="+config,
			"XDG_DATA_HOME="+filepath.Join(b.dir, fmt.Sprintf("%s-%d", name, i)))
		s.envs = append(s.envs, env)
		if err := s.machine(ctx, env); err != nil {
			return s, err
		}
	}
	return s, nil
}

// machine starts a worker.
func (s *sharing) machine(ctx context.Context, env []string) error {
	c := proc.Cmd{Argv: []string{s.cco, "box", "create"}, Dir: s.dir, Env: env}
	if _, err := proc.Output(ctx, c); err != nil {
		return err
	}
	s.done = append(s.done, func() error {
		_, err := proc.Output(context.WithoutCancel(ctx), proc.Cmd{Argv: []string{s.cco, "box", "destroy", "--force"},
			Dir: s.dir, Env: env})
		return err
	})
	log, err := os.Create(filepath.Join(s.dir, fmt.Sprintf("worker-%d.log", len(s.machines))))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	program := filepath.Join(filepath.Dir(s.cco), "cco-cruise")
	p, err := proc.Start(ctx, proc.Cmd{Argv: []string{program, "cruise", "worker"}, Dir: s.dir, Env: env, Stdout: log,
		Stderr: log, TiedToUs: true})
	if err != nil {
		return err
	}
	s.machines = append(s.machines, p)
	return nil
}

func (s *sharing) close() error {
	for _, m := range s.machines {
		_ = m.Signal(syscall.SIGKILL)
		<-m.Done()
	}
	var errs []error
	for i := len(s.done) - 1; i >= 0; i-- {
		errs = append(errs, s.done[i]())
	}
	return errors.Join(errs...)
}

// allWait waits until every phase waits somewhere.
func (s *sharing) allWait(ctx context.Context) error {
	return until(ctx, time.Second, func() (bool, error) {
		var n int
		err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM phases p JOIN homes h ON h.phase = p.id
			WHERE h.worker IS NOT NULL AND p.state::json->>'next_look' IS NOT NULL`).Scan(&n)
		return n == s.living, err
	})
}

// takeover measures how soon the phases of a machine that was killed have a recorded step on another one.
func (b *bench) takeover(ctx context.Context, server *pgtest.Server) (err error) {
	s, err := b.share(ctx, server, "takeover", 1, takenPhases)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.allWait(ctx); err != nil {
		return err
	}
	env := append(append([]string{}, s.envs[0]...), "XDG_DATA_HOME="+filepath.Join(b.dir, "takeover-other"))
	if err := s.machine(ctx, env); err != nil {
		return err
	}
	if err := until(ctx, 100*time.Millisecond, func() (bool, error) { // until it has been in contact for a whole lease
		var calm bool
		err := s.db.QueryRowContext(ctx, `SELECT count(*) = 2 FROM workers
			WHERE contact_since < clock_timestamp() - make_interval(secs => $1)`, lease.Term.Seconds()).Scan(&calm)
		return calm, err
	}); err != nil {
		return err
	}
	_ = s.machines[0].Signal(syscall.SIGKILL)
	died := time.Now()
	var first time.Duration
	err = until(ctx, 50*time.Millisecond, func() (bool, error) {
		var n int
		err := s.db.QueryRowContext(ctx, `SELECT count(DISTINCT h.phase) FROM homes h
			JOIN dbos.operation_outputs o ON o.workflow_uuid LIKE h.phase || '.%'
			JOIN dbos.workflow_status w ON w.workflow_uuid = o.workflow_uuid AND w.executor_id LIKE h.worker || '.%'
			WHERE h.epoch = 2`).Scan(&n)
		if n > 0 && first == 0 {
			first = time.Since(died)
		}
		return n == takenPhases, err
	})
	b.rows = append(b.rows, row{fmt.Sprintf("a machine is killed: until its first phase, and the last of its %d, has a "+
		"recorded step on another", takenPhases), ms(first) + ", " + ms(time.Since(died)), "lease " + ms(lease.Term), "",
		ms(takenWithin)})
	return err
}

// waited is what machines do in a minute in which their phases wait.
type waited struct {
	share        float64 // of a core, in percent, of the busiest
	queries, all float64 // a second, and with the beginnings and ends of transactions
	requests     int     // to the forge
	counted      int
}

// waitingMachines measures machines whose phases wait, and one that has all of them.
func (b *bench) waitingMachines(ctx context.Context, server *pgtest.Server) (err error) {
	many, err := b.waitOn(ctx, server, sharedMachines)
	if err != nil {
		return err
	}
	one, err := b.waitOn(ctx, server, 1)
	b.rows = append(b.rows,
		row{fmt.Sprintf("%d phases wait on %d machines: the busiest of them", sharedPhases, sharedMachines),
			fmt.Sprintf("%.1f %% of a core", many.share), "", "", "2 %"},
		row{"the same: queries a second of all machines, and with the beginnings and ends of transactions",
			fmt.Sprintf("%.0f, %.0f", many.queries, many.all), "", "", "60"},
		row{"the same: requests to the forge in a minute and those that count, beside one machine",
			fmt.Sprintf("%d, %d", many.requests, many.counted), fmt.Sprintf("%d, %d", one.requests, one.counted),
			fmt.Sprintf("%.2f×", float64(many.requests)/float64(one.requests)), ""})
	return err
}

func (b *bench) waitOn(ctx context.Context, server *pgtest.Server, machines int) (m waited, err error) {
	s, err := b.share(ctx, server, fmt.Sprintf("shared-by-%d", machines), machines, sharedPhases)
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, s.close()) }()
	if err := s.allWait(ctx); err != nil {
		return m, err
	}
	if _, err := s.db.ExecContext(ctx, `CREATE EXTENSION pg_stat_statements`); err != nil {
		return m, err
	}
	var before []time.Duration
	for _, m := range s.machines {
		before = append(before, cpu(m.Pid()))
	}
	if _, err := s.db.ExecContext(ctx, `SELECT pg_stat_statements_reset()`); err != nil {
		return m, err
	}
	s.fake.Reset()
	start := time.Now()
	select {
	case <-ctx.Done():
		return m, ctx.Err()
	case <-time.After(waitingWatch):
	}
	took := time.Since(start).Seconds()
	err = s.db.QueryRowContext(ctx, `SELECT sum(calls) FILTER (WHERE query !~*
			'^(begin|commit|rollback|savepoint|release)') / $1, sum(calls) / $1 FROM pg_stat_statements`, took).Scan(&m.queries,
		&m.all)
	if err != nil {
		return m, err
	}
	counts := s.fake.Counts()
	m.requests, m.counted = counts.Requests, counts.Counted+counts.Points
	for i, p := range s.machines {
		m.share = max(m.share, 100*(cpu(p.Pid())-before[i]).Seconds()/took)
	}
	return m, b.busiest(ctx, s.db)
}

// busiest says which statements are the most, if somebody wants to know.
func (b *bench) busiest(ctx context.Context, db *sql.DB) error {
	if os.Getenv("BENCH_STATEMENTS") == "" {
		return nil
	}
	rows, err := db.QueryContext(ctx, `SELECT calls, query FROM pg_stat_statements ORDER BY calls DESC LIMIT 25`)
	if err != nil {
		return err
	}
	defer func() { _ = rows.Close() }()
	for rows.Next() {
		var n int64
		var text string
		if err := rows.Scan(&n, &text); err != nil {
			return err
		}
		fmt.Fprintf(os.Stderr, "%6d %.160s\n", n, strings.Join(strings.Fields(text), " "))
	}
	return rows.Err()
}
