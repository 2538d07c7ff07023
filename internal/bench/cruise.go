package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/forge/githubfake"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// What is measured of phases.
const (
	waitingPhases = 200
	waitingWatch  = time.Minute
	cruiseToken   = "ghp_0123456789abcdefghijklmnopqrstuvwxyz"
)

// cruising is a user with many phases.
type cruising struct {
	*bench
	fake  *githubfake.Server
	store *store.Store
	repo  string
	head  string
	data  string

	living int // phases
}

// cruise measures an engine with many phases that wait.
func (b *bench) cruise(ctx context.Context) (err error) {
	c := &cruising{bench: b, repo: filepath.Join(b.dir, "cruise"), data: filepath.Join(b.dir, "data", "cco"),
		living: waitingPhases}
	done, err := c.open(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	log, err := os.Create(filepath.Join(b.dir, "serve.log"))
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	serve, err := c.serve(ctx, log)
	if err != nil {
		return err
	}
	defer func() {
		_ = serve.Signal(syscall.SIGKILL)
		<-serve.Done()
	}()
	if err := c.waiting(ctx, serve.Pid()); err != nil {
		return err
	}
	serve, err = c.back(ctx, serve, log)
	return err
}

func (c *cruising) serve(ctx context.Context, log *os.File) (*proc.Process, error) {
	return proc.Start(ctx, proc.Cmd{Argv: []string{c.cco, "cruise", "serve"}, Dir: c.dir, Env: c.env, Stdout: log,
		Stderr: log, TiedToUs: true, Grace: 20 * time.Second})
}

// back kills the engine, and measures until the next one has every phase.
func (c *cruising) back(ctx context.Context, serve *proc.Process, log *os.File) (*proc.Process, error) {
	_ = serve.Signal(syscall.SIGKILL)
	<-serve.Done()
	start := time.Now()
	next, err := c.serve(ctx, log)
	if err != nil {
		return serve, err
	}
	for i := range c.living {
		if err := until(ctx, 10*time.Millisecond, func() (bool, error) {
			lines, err := c.store.ReadLog(ctx, fmt.Sprintf("%08x", 0xa0000000+i), 0)
			return slices.ContainsFunc(lines, func(l store.Line) bool {
				return l.Text == steps.TakenUp && l.At.After(start)
			}), err
		}); err != nil {
			return next, err
		}
	}
	c.rows = append(c.rows, row{"the same after a kill: until the next engine has all of them", ms(time.Since(start)),
		"", "", "5 s"})
	return next, nil
}

// open opens store and forge, and prepares the phases. The returned function closes them.
func (c *cruising) open(ctx context.Context) (done func() error, err error) {
	if c.fake, err = githubfake.New(ctx, c.repo+"-forge", nil); err != nil {
		return nil, err
	}
	if c.store, err = store.Open(ctx, filepath.Join(c.data, "cco.db")); err != nil {
		c.fake.Close()
		return nil, err
	}
	env := c.env
	c.env = append(c.env, "GH_ENTERPRISE_TOKEN="+cruiseToken, "GH_HOST="+strings.TrimPrefix(c.fake.URL(), "http://"),
		"CCO_FORGE=github", "XDG_DATA_HOME="+filepath.Dir(c.data))
	done = func() error {
		c.env = env
		c.fake.Close()
		return c.store.Close()
	}
	if err := c.prepare(ctx); err != nil {
		return nil, errors.Join(err, done())
	}
	return done, nil
}

// prepare makes the repository and its pull requests, and records the phases that are about them.
func (c *cruising) prepare(ctx context.Context) error {
	c.fake.AddUser("ada", cruiseToken)
	if err := c.fake.AddRepo(ctx, "ada", "demo", "ada"); err != nil {
		return err
	}
	if err := c.quiet(ctx, c.dir, "git", "init", "-q", c.repo); err != nil {
		return err
	}
	if err := c.commit(ctx, c.repo, "README.md", "demo\n"); err != nil {
		return err
	}
	if err := c.quiet(ctx, c.repo, "git", "remote", "add", "origin", c.fake.URL()+"/ada/demo.git"); err != nil {
		return err
	}
	bare := c.fake.Dir("ada", "demo")
	if err := c.quiet(ctx, c.repo, "git", "push", "-q", bare, "HEAD:refs/heads/main"); err != nil {
		return err
	}
	if err := c.commit(ctx, c.repo, "more.txt", "more\n"); err != nil {
		return err
	}
	if err := c.quiet(ctx, c.repo, "git", "push", "-q", bare, "HEAD:refs/heads/topic"); err != nil {
		return err
	}
	head, err := c.output(ctx, c.repo, "git", "rev-parse", "HEAD")
	if err != nil {
		return err
	}
	c.head = strings.TrimSpace(head)
	for i := range c.living {
		branch := fmt.Sprintf("topic-%d", i)
		if err := c.quiet(ctx, bare, "git", "-c", "safe.directory=*", "update-ref", "refs/heads/"+branch,
			c.head); err != nil {
			return err
		}
		var p struct{ Number int }
		if err := c.call(ctx, "pulls", map[string]string{"title": branch, "head": branch, "base": "main"}, &p); err != nil {
			return err
		}
		// Their looks are spread as in practice: about 40 of them in a minute.
		if err := c.save(ctx, fmt.Sprintf("%08x", 0xa0000000+i), branch, p.Number, 20+i*280/c.living); err != nil {
			return err
		}
	}
	return nil
}

// save records a phase. A waiting one has waited for a while, and has a long ledger.
func (c *cruising) save(ctx context.Context, id, branch string, pr, wait int) error {
	w := cruise.Worker{Agent: "script"}
	st := cruise.NewState(cruise.Spec{
		Task: "Wait", Kind: cruise.Planning, Repo: c.repo, Box: "cco-sandbox", Planner: w, Reviewer: w, Fixer: w,
		Domains:   cruise.Domains(),
		MaxRounds: 5, MaxCost: 20, Timeout: 24 * time.Hour, Checks: cruise.ChecksNone,
	})
	now := time.Now().UTC()
	st.Stage, st.Meta, st.Head.Commit = cruise.StageEnded, reading.Metadata{Title: branch, Branch: branch}, c.head
	st.Started, st.LastActivity, st.Looks.Backoff = now, now, cruise.Backoff{Secs: wait}
	if pr > 0 {
		st.Stage = cruise.StageWatch
		st.PR = &cruise.PullRequest{Number: pr, URL: fmt.Sprintf("%s/ada/demo/pull/%d", c.fake.URL(), pr)}
	}
	for i := range 20 {
		st.Ledger.Findings = append(st.Ledger.Findings, cruise.Finding{
			ID: fmt.Sprintf("%012x", i), Domain: "Security", Path: "more.txt", Text: strings.Repeat("words ", 30),
			State: cruise.Fixed, Commit: c.head,
		})
	}
	rec, err := steps.Record(id, st, now)
	if err != nil {
		return err
	}
	return c.store.SavePhase(ctx, rec)
}

func (c *cruising) call(ctx context.Context, path string, body, out any) error {
	data, err := json.Marshal(body)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.fake.URL()+"/api/v3/repos/ada/demo/"+path,
		bytes.NewReader(data))
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+cruiseToken)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	if resp.StatusCode != http.StatusCreated {
		return fmt.Errorf("%s: %s", path, resp.Status)
	}
	return json.NewDecoder(resp.Body).Decode(out)
}

// until repeats a check until it succeeds.
func until(ctx context.Context, every time.Duration, ok func() (bool, error)) error {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Minute)
	defer cancel()
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if done, err := ok(); err != nil || done {
			return err
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (c *cruising) state(ctx context.Context, id string) (st cruise.State, err error) {
	p, err := c.store.Phase(ctx, id)
	if err != nil {
		return st, err
	}
	return st, json.Unmarshal(p.State, &st)
}

// waiting measures the engine while all its phases wait.
func (c *cruising) waiting(ctx context.Context, pid int) error {
	for i := range waitingPhases {
		if err := until(ctx, 100*time.Millisecond, func() (bool, error) {
			st, err := c.state(ctx, fmt.Sprintf("%08x", 0xa0000000+i))
			return !st.Looks.Next.IsZero(), err
		}); err != nil {
			return err
		}
	}
	before, start := used(pid), time.Now()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(waitingWatch):
	}
	share := 100 * (used(pid) - before).Seconds() / time.Since(start).Seconds()
	c.rows = append(c.rows,
		row{fmt.Sprintf("%d phases wait in one process: memory", waitingPhases), fmt.Sprintf("%d MB", heldBy(pid)>>20), "",
			"", "80 MB"},
		row{"the same: of a core", fmt.Sprintf("%.1f %%", share), "", "", "1 %"})
	return nil
}

func heldBy(pid int) int {
	data, _ := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	_, rest, _ := strings.Cut(string(data), "VmRSS:")
	kb, _ := strconv.Atoi(strings.Fields(rest + " 0")[0])
	return kb << 10
}
