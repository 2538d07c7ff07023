package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/creack/pty"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/vt"
)

// terminal is what a program has drawn.
type terminal struct {
	mu     sync.Mutex
	screen *vt.Screen
}

func (t *terminal) follow(from *os.File) {
	buf := make([]byte, 64<<10)
	for {
		n, err := from.Read(buf)
		if err != nil {
			return
		}
		t.mu.Lock()
		_, _ = t.screen.Write(buf[:n])
		t.mu.Unlock()
	}
}

// await waits until something is drawn.
func (t *terminal) await(ctx context.Context, words string) error {
	var lines []string
	for until := time.Now().Add(time.Minute); time.Now().Before(until) && ctx.Err() == nil; time.Sleep(time.Millisecond) {
		t.mu.Lock()
		lines = t.screen.Lines()
		t.mu.Unlock()
		if slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, words) }) {
			return nil
		}
	}
	return errors.Join(ctx.Err(), fmt.Errorf("%q was never drawn:\n%s", words, strings.Join(lines, "\n")))
}

// atWork makes records of sessions at work, whose keepers this process is.
func (b *bench) atWork(ctx context.Context, first, n int) (ids []string, done func(), err error) {
	var locks []*os.File
	done = func() {
		for _, l := range locks {
			_ = l.Close()
		}
	}
	for i := range n {
		id := fmt.Sprintf("%08x", first+i)
		if err := b.record(ctx, id, store.Running); err != nil {
			return nil, done, err
		}
		if err := os.MkdirAll(b.sessionDir(id), 0o700); err != nil {
			return nil, done, err
		}
		order := fmt.Sprintf(`{"session": %q, "plan": "/exchange/plan.md"}`, id)
		if err := os.WriteFile(filepath.Join(b.sessionDir(id), "order.json"), []byte(order), 0o600); err != nil {
			return nil, done, err
		}
		lock, err := os.OpenFile(filepath.Join(b.sessionDir(id), "keeper.lock"), os.O_CREATE|os.O_RDWR, 0o600)
		if err != nil {
			return nil, done, err
		}
		locks = append(locks, lock)
		if err := syscall.Flock(int(lock.Fd()), syscall.LOCK_EX); err != nil {
			return nil, done, err
		}
		ids = append(ids, id)
	}
	return ids, done, nil
}

// live measures what the live list costs with many sessions at work, whose agents spend money and come to their
// prompts, and how late it shows that.
func (b *bench) live(ctx context.Context) error {
	const n, rounds = 200, 40
	ids, done, err := b.atWork(ctx, 0xcc000000, n)
	defer done()
	if err != nil {
		return err
	}
	master, slave, err := pty.Open()
	if err != nil {
		return err
	}
	defer func() { _ = master.Close() }()
	if err := pty.Setsize(master, &pty.Winsize{Cols: 120, Rows: 50}); err != nil {
		return err
	}
	c := b.cmd(b.dir, filepath.Join(filepath.Dir(b.cco), "cco-cruise"))
	c.Env = append(slices.Clone(c.Env), "TERM=xterm", "CI=")
	c.Stdin, c.Stdout, c.Stderr = slave, slave, slave
	p, err := proc.Start(ctx, c)
	_ = slave.Close()
	if err != nil {
		return err
	}
	defer func() { _ = p.Signal(syscall.SIGTERM); _ = p.Wait() }()
	t := terminal{screen: vt.NewScreen(120, 50, 0, func(string) {})}
	go t.follow(master)
	if err := t.await(ctx, "at work"); err != nil {
		return err
	}
	st, err := store.Open(ctx, filepath.Join(b.data(), "cco.db"))
	if err != nil {
		return err
	}
	defer func() { _ = st.Close() }()
	before, start := used(p.Pid()), time.Now()
	late, err := b.spendAndRest(ctx, st, &t, ids, rounds)
	if err != nil {
		return err
	}
	slices.Sort(late)
	share := float64(used(p.Pid())-before) / float64(time.Since(start)) * 100
	b.rows = append(b.rows,
		row{fmt.Sprintf("the live list, %d sessions at work, a request's cost 20 times and an event twice a second", n),
			fmt.Sprintf("%.1f %% of a core", share), "", "", "3 %"},
		row{"from the record of an event to the live list's screen (p50, most)",
			ms(late[len(late)/2]) + ", " + ms(late[len(late)-1]), "", "", "100 ms"})
	return nil
}

// spendAndRest records costs all the time, and now and then that an agent has come to its prompt; it measures how long
// that takes to be drawn.
func (b *bench) spendAndRest(ctx context.Context, st *store.Store, t *terminal, ids []string,
	rounds int) (late []time.Duration, err error) {
	for i := range rounds {
		for k := range 10 {
			_, err := st.AddSpend(ctx, ids[(i*10+k)%len(ids)],
				store.Account{Day: store.Day(time.Now()), Agent: "script"}, map[string]store.Spend{"gpt-5": {Cost: 0.01}})
			if err != nil {
				return nil, err
			}
			time.Sleep(50 * time.Millisecond)
		}
		id := ids[len(ids)-1-i]
		at := time.Now()
		if _, err := st.UpdateSession(ctx, id, func(v *store.Session) error {
			v.State, v.Asked = store.Idle, time.Now()
			return nil
		}); err != nil {
			return nil, err
		}
		if err := t.await(ctx, fmt.Sprintf("  %d idle,", i+1)); err != nil {
			return nil, err
		}
		late = append(late, time.Since(at))
	}
	return late, nil
}
