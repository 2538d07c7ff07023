package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/durable"
	"github.com/cco-dev/cco/internal/proc"
)

const (
	weekPhases = 100
	// weekLooks is how often each phase looks: a little less than a life has steps for. A week has over a hundred times as
	// many, and the record of a life that is over is removed, so that this is as large as it gets.
	weekLooks = 16
)

// week measures the record of many phases that have looked for a week, and how long an engine that was killed takes to
// come back with it.
func (b *bench) week(ctx context.Context) (err error) {
	c := &cruising{bench: b, repo: filepath.Join(b.dir, "week"), data: filepath.Join(b.dir, "week-data", "cco"),
		living: weekPhases}
	done, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	steps, size, err := c.look(ctx)
	if err != nil {
		return err
	}
	back, err := c.back(ctx)
	if err != nil {
		return err
	}
	c.rows = append(c.rows,
		row{fmt.Sprintf("record of %d phases of a week, %d steps in each life", weekPhases, steps),
			fmt.Sprintf("%d MB", size>>20), "", "", "60 MB"},
		row{"the same after a kill: until all phases have looked again", ms(back), "", "", "15 s"})
	return nil
}

// looking is a forge without news, and a store that needs no more than it has.
type looking struct {
	cruise.Steps
	head string

	mu    sync.Mutex
	looks map[string]chan struct{}
}

func (l *looking) Look(_ context.Context, in cruise.LookIn) (cruise.News, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	select {
	case l.looks[in.Phase] <- struct{}{}:
	default:
	}
	return cruise.News{Mark: in.Mark, State: cruise.PullOpen, Head: l.head, Base: "main", Updated: time.Now()}, nil
}

func (l *looking) Save(context.Context, cruise.SaveIn) (cruise.Saved, error) {
	return cruise.Saved{}, nil
}

// look has the phases look in the real engine until their lives are nearly full, and leaves the record as a kill would.
func (c *cruising) look(ctx context.Context) (steps int, size int64, err error) {
	l := &looking{head: c.head, looks: map[string]chan struct{}{}}
	var ids []string
	for i := range weekPhases {
		id := fmt.Sprintf("%08x", 0xa0000000+i)
		ids = append(ids, id)
		l.looks[id] = make(chan struct{}, 1)
	}
	live := filepath.Join(c.dir, "week-record")
	if err := os.MkdirAll(live, 0o700); err != nil {
		return 0, 0, err
	}
	e, err := durable.Open(ctx, filepath.Join(live, "cruise.db"), l, 0, slog.New(slog.DiscardHandler))
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, e.Close()) }()
	failed := make(chan error, weekPhases)
	for _, id := range ids {
		go func() { failed <- c.drive(ctx, e, l.looks[id], id) }()
	}
	for range ids {
		err = errors.Join(err, <-failed)
	}
	if err != nil {
		return 0, 0, err
	}
	for _, name := range []string{"cruise.db", "cruise.db-wal"} {
		data, err := os.ReadFile(filepath.Join(live, name))
		if err != nil {
			return 0, 0, err
		}
		size += int64(len(data))
		if err := os.WriteFile(filepath.Join(c.data, name), data, 0o600); err != nil {
			return 0, 0, err
		}
	}
	steps, err = stepsIn(ctx, filepath.Join(live, "cruise.db"))
	return steps, size, err
}

// drive has one phase look.
func (c *cruising) drive(ctx context.Context, e *durable.Engine, looked <-chan struct{}, id string) error {
	st, err := c.state(ctx, id)
	if err != nil {
		return err
	}
	if err := e.Start(id, st); err != nil {
		return err
	}
	for n := range weekLooks {
		select {
		case <-looked:
		case <-ctx.Done():
			return ctx.Err()
		}
		ev := cruise.Event{ID: fmt.Sprintf("%s%x", id, n), Kind: cruise.EventWake, At: time.Now().UTC()}
		if err := e.Send(id, ev); err != nil {
			return err
		}
	}
	return nil
}

// stepsIn counts the steps of the longest life.
func stepsIn(ctx context.Context, file string) (n int, err error) {
	db, err := sql.Open("sqlite", "file:"+file)
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, db.Close()) }()
	err = db.QueryRowContext(ctx, "SELECT count(*) FROM operation_outputs GROUP BY workflow_uuid ORDER BY 1 DESC LIMIT 1").
		Scan(&n)
	return n, err
}

// back starts an engine with the record, and waits until every phase has looked again.
func (c *cruising) back(ctx context.Context) (time.Duration, error) {
	log, err := os.Create(filepath.Join(c.dir, "week.log"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = log.Close() }()
	begun := time.Now()
	serve, err := proc.Start(ctx, proc.Cmd{Argv: []string{c.cco, "cruise", "serve"}, Dir: c.dir, Env: c.env, Stdout: log,
		Stderr: log, TiedToUs: true, Grace: 20 * time.Second})
	if err != nil {
		return 0, err
	}
	defer func() {
		_ = serve.Signal(syscall.SIGKILL)
		<-serve.Done()
	}()
	err = until(ctx, 20*time.Millisecond, func() (bool, error) {
		list, err := c.store.Phases(ctx, weekPhases)
		for _, p := range list {
			if p.Updated.Before(begun) {
				return false, err
			}
		}
		return len(list) == weekPhases, err
	})
	return time.Since(begun), err
}
