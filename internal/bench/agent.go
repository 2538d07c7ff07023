package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/provision"
)

// agent measures what cco adds to an agent's own time: claude by itself with a scripted model for one turn, beside the
// same command through `cco box push`, from when the keeper starts the program to when it has ended. What comes before
// and after, the clone and the bundle, is measured by push and pull.
func (b *bench) agent(ctx context.Context) error {
	on, done, err := b.onDisk(ctx)
	if err != nil {
		return err
	}
	defer done()
	program, err := on.output(ctx, on.dir, on.cco, "agent", "install", "claude")
	if err != nil {
		return err
	}
	repo := filepath.Join(on.dir, "agent")
	if err := on.quiet(ctx, on.dir, "git", "init", "-q", repo); err != nil {
		return err
	}
	if err := on.commit(ctx, repo, "plan.md", "# Nothing\n\nSay that you are done.\n"); err != nil {
		return err
	}
	model := agenttest.Start(agenttest.Say("done"))
	defer model.Close()
	on.env = append(on.env, "ANTHROPIC_BASE_URL="+model.URL, "ANTHROPIC_API_KEY=bench")
	ours := func() (time.Duration, error) { return on.turn(ctx, repo) }
	bare := func() (time.Duration, error) { return on.bareTurn(ctx, repo, strings.TrimSpace(program), model) }
	for _, warm := range []func() (time.Duration, error){ours, bare} {
		if _, err := warm(); err != nil {
			return err
		}
	}
	// In turns, and each pair is compared: a busy machine slows both of a pair, but not all pairs alike.
	var with, without, added []time.Duration
	for range 15 {
		x, err := ours()
		if err != nil {
			return err
		}
		y, err := bare()
		if err != nil {
			return err
		}
		with, without, added = append(with, x), append(without, y), append(added, x-y)
	}
	memory, err := on.turnMemory(ctx, repo, model)
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{"one scripted turn of claude in a box, from the program's start to its end (p50 of 15)", ms(median(with)),
			ms(median(without)),
			fmt.Sprintf("%+.0f ms", float64(median(added).Microseconds())/1000), "+150 ms"},
		row{"memory of cco's processes for it, their share (keeper, relay, init, the one that follows)", memory, "",
			"", "30 MB"})
	return nil
}

// onDisk is a bench with a box of its own outside of /dev/shm: boxes show nothing that is below /dev, and so no agent's
// program either.
func (b *bench) onDisk(ctx context.Context) (on *bench, done func(), err error) {
	dir, err := os.MkdirTemp("", "cco-bench-")
	if err != nil {
		return nil, nil, err
	}
	on = &bench{cco: b.cco, dir: dir}
	on.env = append(b.env[:len(b.env):len(b.env)], "XDG_DATA_HOME="+filepath.Join(dir, "data"), "XDG_CONFIG_HOME="+
		filepath.Join(dir, "config"))
	done = func() {
		_ = on.quiet(context.WithoutCancel(ctx), dir, on.cco, "box", "destroy", "--force")
		_ = os.RemoveAll(dir)
	}
	if err := on.quiet(ctx, dir, on.cco, "box", "create"); err != nil {
		done()
		return nil, nil, err
	}
	return on, done, nil
}

// turn is one push, and what its transcript says of the agent's time.
func (b *bench) turn(ctx context.Context, repo string) (time.Duration, error) {
	id, err := b.pushed(ctx, repo, "--headless", "--agent", "claude")
	if err != nil {
		return 0, err
	}
	return b.agentTime(id)
}

// agentTime reads when the agent was started, and when the keeper went on after its end.
func (b *bench) agentTime(id string) (time.Duration, error) {
	f, err := os.Open(filepath.Join(b.dir, "data", "cco", "sessions", id, "transcript.jsonl"))
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }()
	var begin, end time.Time
	for s := bufio.NewScanner(f); s.Scan(); {
		var e struct {
			At         time.Time
			Kind, Text string
		}
		if json.Unmarshal(s.Bytes(), &e) != nil {
			continue
		}
		switch {
		case e.Kind == "agent":
			begin = e.At
		case e.Kind == "step" && e.Text == "keeping what it did":
			end = e.At
		}
	}
	if begin.IsZero() || end.IsZero() {
		return 0, fmt.Errorf("session %s: its transcript does not say when the agent ran", id)
	}
	return end.Sub(begin), nil
}

// bareTurn runs the same command without cco, in a new home like a session's.
func (b *bench) bareTurn(ctx context.Context, repo, program string, model *agenttest.Server) (time.Duration, error) {
	home, err := os.MkdirTemp(b.dir, "home-")
	if err != nil {
		return 0, err
	}
	for _, f := range provision.Files() {
		path := filepath.Join(home, f.Path)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			return 0, err
		}
		if err := os.WriteFile(path, f.Data, f.Mode); err != nil {
			return 0, err
		}
	}
	claude, err := agent.Find("claude")
	if err != nil {
		return 0, err
	}
	cmd := claude.Command(agent.Task{Plan: "plan.md", Session: "00000000", Workspace: repo, Exchange: home, Home: home,
		State:   home,
		Program: program, Door: strings.TrimPrefix(model.URL, "http://"), Token: "bench"})
	env := append([]string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=dumb", "LANG=C.UTF-8", "TMPDIR=" +
		home}, cmd.Env...)
	start := time.Now()
	_, err = proc.Output(ctx, proc.Cmd{Argv: cmd.Argv, Dir: repo, Env: env})
	return time.Since(start), err
}

// turnMemory adds up cco's processes while the model lets a run wait.
func (b *bench) turnMemory(ctx context.Context, repo string, model *agenttest.Server) (string, error) {
	before := model.Turns()
	model.FailNext(agenttest.Fault{Hang: agenttest.AtStart})
	done := make(chan error, 1)
	go func() {
		_, err := b.pushed(ctx, repo, "--headless", "--agent", "claude")
		done <- err
	}()
	for model.Turns() == before {
		select {
		case err := <-done:
			return "", fmt.Errorf("it ended before it asked its model: %w", err)
		case <-time.After(20 * time.Millisecond):
		}
	}
	kb := b.ownMemory()
	model.Release()
	return fmt.Sprintf("%.1f MB", float64(kb)/1024), <-done
}

// ownMemory is the share of memory of our processes, in kilobytes: those that know this bench's directories, and what
// they have started in the box, except the agent.
func (b *bench) ownMemory() (kb int) {
	parent, ours := map[string]string{}, map[string]bool{}
	procs, _ := filepath.Glob("/proc/[0-9]*")
	for _, p := range procs {
		pid := filepath.Base(p)
		env, _ := os.ReadFile(filepath.Join(p, "environ"))
		ours[pid] = strings.Contains(string(env), "XDG_DATA_HOME="+b.dir)
		stat, _ := os.ReadFile(filepath.Join(p, "stat"))
		if f := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])); len(f) > 1 {
			parent[pid] = f[1]
		}
	}
	for _, p := range procs {
		pid := filepath.Base(p)
		for pid != "" && !ours[pid] {
			pid = parent[pid]
		}
		exe, _ := os.Readlink(filepath.Join(p, "exe"))
		switch name := strings.TrimSuffix(filepath.Base(exe), " (deleted)"); {
		case pid == "", name != "cco" && name != "cco-box" && name != "cco-guard":
			continue
		}
		rollup, _ := os.ReadFile(filepath.Join(p, "smaps_rollup"))
		for line := range strings.Lines(string(rollup)) {
			if f := strings.Fields(line); len(f) == 3 && f[0] == "Pss:" {
				n, _ := strconv.Atoi(f[1])
				kb += n
			}
		}
	}
	return kb
}
