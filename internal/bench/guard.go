package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/proc"
)

// safetyNet is the guard of others that ours is measured beside.
const safetyNet = "cc-safety-net@2.4.5"

// guard measures the hook as agents start it, beside a program that does nothing and beside a guard written for node.
func (b *bench) guard(ctx context.Context) error {
	dir := filepath.Join(b.dir, "guarded")
	if err := b.quiet(ctx, b.dir, "git", "init", "-q", dir); err != nil {
		return err
	}
	empty, err := b.emptyProgram(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(empty)) }()
	other, err := b.npm(ctx, safetyNet, "cc-safety-net")
	if err != nil {
		return err
	}
	if err := b.quiet(ctx, dir, b.cco, "guard", "install", "--agent", "claude"); err != nil {
		return err
	}
	hook, err := registeredHook(filepath.Join(dir, ".claude", "settings.local.json"))
	if err != nil {
		return err
	}
	call, err := json.Marshal(map[string]any{
		"session_id": "bench", "cwd": dir, "hook_event_name": "PreToolUse", "permission_mode": "bypassPermissions",
		"tool_name": "Bash",
		"tool_input": map[string]string{"command": "go build ./... && go test ./... 2>&1 | tail -n 20",
			"description": "Run the tests"},
	})
	if err != nil {
		return err
	}
	file := filepath.Join(b.dir, "call.json")
	if err := os.WriteFile(file, call, 0o600); err != nil {
		return err
	}
	run := func(argv ...string) func() (time.Duration, error) {
		return func() (time.Duration, error) { return b.hooked(dir, file, argv) }
	}
	ours, nothing, err := alternate(1000, run(hook...), run(empty))
	if err != nil {
		return err
	}
	again, theirs, err := alternate(25, run(hook...), run(other, "hook", "--claude-code"))
	if err != nil {
		return err
	}
	b.rows = append(b.rows,
		row{"the guard's hook, spawned, beside an empty static Go program (p50)", ms(ours), ms(nothing),
			ratio(ours, nothing), "1.5×"},
		row{"the guard's hook beside " + safetyNet + " (p50)", ms(again), ms(theirs),
			fmt.Sprintf("%.0f× faster", float64(theirs)/float64(again)), "20× faster"})
	return nil
}

// hooked runs a hook on a call that every guard lets pass.
func (b *bench) hooked(dir, call string, argv []string) (time.Duration, error) {
	// Files for its streams, and nothing else running: with pipes this would measure our own copying.
	in, err := os.Open(call)
	if err != nil {
		return 0, err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(os.DevNull, os.O_WRONLY, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = out.Close() }()
	env := append(b.env[:len(b.env):len(b.env)], "HOME="+b.dir) // what they write is removed with our directory
	start := time.Now()
	p, err := os.StartProcess(argv[0], argv, &os.ProcAttr{Dir: dir, Env: env, Files: []*os.File{in, out, out}})
	if err != nil {
		return 0, err
	}
	state, err := p.Wait()
	took := time.Since(start)
	if err == nil && !state.Success() {
		err = fmt.Errorf("%s: %s", argv[0], state)
	}
	return took, err
}

// emptyProgram builds a program that does nothing, as cco-guard is built, and copies it beside cco in the same way: how
// a file system stores a program affects its start more than most of what the program does.
func (b *bench) emptyProgram(ctx context.Context) (string, error) {
	src := filepath.Join(b.dir, "empty")
	if err := os.MkdirAll(src, 0o755); err != nil {
		return "", err
	}
	for name, text := range map[string]string{"main.go": "package main\n\nfunc main() {}\n",
		"go.mod": "module empty\n\ngo 1.26\n"} {
		if err := os.WriteFile(filepath.Join(src, name), []byte(text), 0o600); err != nil {
			return "", err
		}
	}
	c := b.cmd(src, "go", "build", "-trimpath", "-buildvcs=false", "-ldflags", "-s -w -buildid=", "-o", "empty", ".")
	c.Env = append(c.Env, "CGO_ENABLED=0", "GOWORK=off")
	if err := proc.Run(ctx, c); err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp(filepath.Dir(b.cco), ".bench-")
	if err != nil {
		return "", err
	}
	program := filepath.Join(dir, "empty")
	if err := b.quiet(ctx, dir, "cp", filepath.Join(src, "empty"), program); err != nil {
		_ = os.RemoveAll(dir)
		return "", err
	}
	return program, nil
}

// npm installs a package into the cache folder, once, and gives one of its programs.
func (b *bench) npm(ctx context.Context, pkg, program string) (string, error) {
	dir, err := filepath.Abs(filepath.Join(".cache", "npm", pkg))
	if err != nil {
		return "", err
	}
	bin := filepath.Join(dir, "node_modules", ".bin", program)
	if _, err := os.Stat(bin); err == nil {
		return bin, nil
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", err
	}
	if err := b.quiet(ctx, dir, "npm", "install", "--silent", "--no-audit", "--no-fund", "--prefix", dir,
		pkg); err != nil {
		return "", fmt.Errorf("install %s (needs npm): %w", pkg, err)
	}
	return bin, nil
}

// registeredHook is the command that claude would run, as argv: it has nothing in it that a shell would change.
func registeredHook(settings string) ([]string, error) {
	data, err := os.ReadFile(settings)
	if err != nil {
		return nil, err
	}
	var s struct {
		Hooks struct {
			PreToolUse []struct {
				Hooks []struct {
					Command string `json:"command"`
				} `json:"hooks"`
			} `json:"PreToolUse"`
		} `json:"hooks"`
	}
	if err := json.Unmarshal(data, &s); err != nil {
		return nil, err
	}
	for _, g := range s.Hooks.PreToolUse {
		for _, h := range g.Hooks {
			return strings.Fields(h.Command), nil
		}
	}
	return nil, fmt.Errorf("%s registers no hook", settings)
}
