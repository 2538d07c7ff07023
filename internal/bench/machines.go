package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

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

// takeover measures how soon the phases of a machine that was killed are saved on another one.
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
		err := s.db.QueryRowContext(ctx, `SELECT count(*) FROM homes h JOIN phases p ON p.id = h.phase
			WHERE h.epoch = 2 AND p.updated_at >= $1`, died.UnixMilli()).Scan(&n)
		if n > 0 && first == 0 {
			first = time.Since(died)
		}
		return n == takenPhases, err
	})
	b.rows = append(b.rows, row{fmt.Sprintf("a machine is killed: until its first phase, and the last of its %d, is "+
		"saved on another", takenPhases), ms(first) + ", " + ms(time.Since(died)), "lease " + ms(lease.Term), "",
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
		before = append(before, used(m.Pid()))
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
		m.share = max(m.share, 100*(used(p.Pid())-before[i]).Seconds()/took)
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
