//go:build heavy

package durable

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
)

func TestOnPostgres(t *testing.T) {
	server := pgtest.Start(t)
	fresh := func(t *testing.T) *pgxpool.Config { return must.Get(pgxpool.ParseConfig(server.Database(t)))(t) }
	machine := func(t *testing.T, pool *pgxpool.Config, name string, c *calm) (*Engine, error) {
		return openShared(t.Context(), pool, name, c, 0, slog.New(slog.DiscardHandler), sealer("of all"))
	}
	carries(t, func(t *testing.T) place {
		pool := fresh(t)
		return place{
			open: func(c *calm) (*Engine, error) { return machine(t, pool, "one", c) },
			exec: func(stmt string) error {
				c, err := pgx.ConnectConfig(t.Context(), pool.ConnConfig)
				if err != nil {
					return err
				}
				defer func() { _ = c.Close(t.Context()) }()
				_, err = c.Exec(t.Context(), "SET search_path = dbos")
				if err == nil {
					_, err = c.Exec(t.Context(), stmt)
				}
				return err
			},
		}
	})
	t.Run("machines start at once, and each has its own phases", func(t *testing.T) {
		pool := fresh(t)
		both := [2]*Engine{}
		calms := [2]*calm{{saved: make(chan cruise.State, 1000)}, {saved: make(chan cruise.State, 1000)}}
		var wg sync.WaitGroup
		for i, name := range []string{"one", "two"} {
			wg.Go(func() {
				var err error
				if both[i], err = machine(t, pool, name, calms[i]); err != nil {
					t.Error(err)
				}
			})
		}
		wg.Wait()
		if t.Failed() {
			return
		}
		defer func() { _ = both[1].Close() }()
		st := cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})
		must.Do(t, both[0].Start("aaaaaaaa", st))
		calms[0].await(t, "asking", func(s cruise.State) bool { return s.Question != "" })
		must.Do(t, both[0].Close())
		// What another machine had begun is neither replayed nor given up here, also by an engine that starts now.
		again := must.Get(machine(t, pool, "two", calms[1]))(t)
		if dead, err := again.Dead(); err != nil || len(dead) > 0 || calms[1].named.Load() > 0 {
			t.Errorf("dead %v, %v, named %d times", dead, err, calms[1].named.Load())
		}
		must.Do(t, again.Send("aaaaaaaa", cruise.Event{ID: "e1", Kind: cruise.EventCleanup})) // from any machine
		must.Do(t, again.Close())
		back := must.Get(machine(t, pool, "one", calms[0]))(t)
		defer func() { _ = back.Close() }()
		end, err := back.Wait("aaaaaaaa")
		if err != nil || end.End != cruise.EndCleanup || !slices.Equal(end.Seen, []string{"e1"}) {
			t.Errorf("%+v, %v", end, err)
		}
	})
	t.Run("a phase goes on after the database was away", func(t *testing.T) {
		pool := fresh(t)
		c := &calm{saved: make(chan cruise.State, 1000)}
		e := must.Get(machine(t, pool, "one", c))(t)
		defer func() { _ = e.Close() }()
		must.Do(t, e.Start("aaaaaaaa", cruise.NewState(cruise.Spec{Task: "x", Kind: cruise.Planning, Timeout: time.Hour})))
		c.await(t, "asking", func(s cruise.State) bool { return s.Question != "" })
		must.Do(t, server.Stop())
		must.Do(t, server.Again(t.Context()))
		must.Do(t, e.Send("aaaaaaaa", cruise.Event{ID: "e1", Kind: cruise.EventCleanup}))
		if end, err := e.Wait("aaaaaaaa"); err != nil || end.End != cruise.EndCleanup {
			t.Errorf("%+v, %v", end, err)
		}
	})
}
