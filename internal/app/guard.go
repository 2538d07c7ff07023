package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/paths"
	"github.com/cco-dev/cco/internal/proc"
)

// HoldFirst is what install and doctor recommend first, and the docs in the same words.
const HoldFirst = "`cco guard run -- claude` holds an agent by the kernel; the hook is advice"

// workspace is a directory, or the current repository if none is named.
func (a *App) workspace(dir string) (string, error) {
	return filepath.Abs(cmp.Or(dir, RepoTop(a.Dir), a.Dir))
}

// Policy describes a workspace to the guard.
func (a *App) Policy(dir, host string) (guard.Policy, error) {
	dir, err := a.workspace(dir)
	if err != nil {
		return guard.Policy{}, err
	}
	if info, err := os.Stat(dir); err != nil {
		return guard.Policy{}, err
	} else if !info.IsDir() {
		return guard.Policy{}, Usagef("%s is not a directory", dir)
	}
	if host != "" {
		if host, err = filepath.Abs(host); err != nil {
			return guard.Policy{}, err
		}
	}
	return discover.Policy(dir, host, a.Home)
}

// Checked is what each layer says of a command beforehand.
type Checked struct {
	Hook guard.Verdict
	Cage string // what the kernel would hold of it under `cco guard run`
}

// Check says what would become of a command that an agent runs in a workspace.
func (a *App) Check(policy guard.Policy, command string) Checked {
	cwd := policy.Workspace
	if paths.Within(a.Dir, policy.Workspace) {
		cwd = a.Dir
	}
	v := guard.Decide(policy, hook.Links{}, guard.Command(cwd, command))
	return Checked{Hook: v, Cage: inCage(policy, v)}
}

// inCage says what a cage would do about a command. It needs no knowledge of the command: the rule says what the hook
// minds, and a cage is the same for every command.
func inCage(p guard.Policy, v guard.Verdict) string {
	fresh := slices.ContainsFunc([]string{"/tmp", "/var/tmp", "/dev/shm"}, func(dir string) bool {
		return paths.Within(v.Path, dir) && !paths.Within(v.Path, p.Workspace)
	})
	if fresh {
		return "held: /tmp and the like are fresh there, and gone afterwards"
	}
	held, ok := map[guard.Rule]string{
		guard.RuleDirectory: "it may go there and read, and everything in " + v.Path + " is read-only",
		guard.RuleWrite:     v.Path + " is read-only",
		guard.RulePath:      v.Path + " is read-only",
		guard.RuleGit:       "git has a repository of its own, and " + v.Path + " is read-only",
		guard.RuleSelf:      v.Path + " is read-only, or the agent writes to a layer that you never see",
		guard.RuleDeputy: "sockets of daemons, other processes and your logins are out of sight, and nothing gains rights; " +
			"the network is yours",
		guard.RuleAgent: "it would be in the same cage",
	}[v.Rule]
	if v.Allow || !ok {
		held = "whatever it does, of yours only the worktree, its branch and new branches can change"
	}
	return "held: " + held
}

// DecideBatch answers the calls in a file of JSON lines; "-" is standard input.
func (a *App) DecideBatch(policy guard.Policy, name string) error {
	in := a.IO.In
	if name != "-" {
		f, err := os.Open(name)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }() // only read
		in = f
	}
	return decideLines(policy, in, a.IO)
}

// Guard is the guard around a workspace, installed or not.
func (a *App) Guard(dir string) (settings.Installation, error) {
	dir, err := a.workspace(dir)
	if err == nil {
		dir, err = filepath.EvalSymlinks(dir)
	}
	if err != nil {
		return settings.Installation{}, err
	}
	guardBinary, err := findGuard()
	if err != nil {
		return settings.Installation{}, err
	}
	sum := sha256.Sum256([]byte(dir))
	return settings.Installation{
		Dir: dir, Guard: guardBinary, State: filepath.Join(a.Dirs.Data, "guard", hex.EncodeToString(sum[:8])),
		Places:   settings.Places{Env: a.Env, Home: a.Home, OS: runtime.GOOS, Secure: settings.OfRoot},
		Adapters: agent.Hooks(),
	}, nil
}

// findGuard finds the hook's program, beside cco or on PATH.
func findGuard() (string, error) {
	beside, _, err := Beside("cco-guard")
	if err != nil || beside != "" {
		return beside, err
	}
	name, err := proc.LookPath("cco-guard")
	if err != nil {
		return "", errors.New("find cco-guard: it is neither beside cco nor on PATH")
	}
	return filepath.Abs(name)
}

// InstallGuard puts the guard around a workspace. host is the repository that must not be touched, if it isn't a linked
// worktree's main one. The agents are those on PATH if none is named.
func (a *App) InstallGuard(dir, host string, o *settings.Options) (settings.Installation, error) {
	i, err := a.Guard(dir)
	if err != nil {
		return i, err
	}
	policy, err := a.Policy(i.Dir, host)
	if err != nil {
		return i, err
	}
	if o.Strict {
		policy.Scratch = nil
	}
	if len(o.Agents) == 0 {
		o.Agents = agentsHere(i.Known())
	}
	o.Nonce = rand.Text()
	policy.AuditLog = filepath.Join(a.Dirs.Data, audit.FileName)
	return i, i.Install(policy, *o)
}

// agentsHere are those of the agents given that are on PATH, or the default.
func agentsHere(names []string) []string {
	list := slices.DeleteFunc(names, func(name string) bool {
		a, err := agent.Find(name)
		if err == nil {
			_, err = proc.LookPath(a.Binary())
		}
		return err != nil
	})
	if len(list) == 0 {
		return []string{roster.Default}
	}
	return list
}

// CheckGuard tries the guard around a workspace, or that of the box in which this runs.
func (a *App) CheckGuard(ctx context.Context, dir string) ([]settings.Finding, error) {
	i, err := a.Guard(dir)
	if err != nil {
		return nil, err
	}
	agents, err := i.Agents()
	if err != nil {
		return nil, err
	}
	if _, err := os.Stat(hook.DefaultPolicy); err == nil && len(agents) == 0 {
		i.State, agents = filepath.Dir(hook.DefaultPolicy), i.Known()
	}
	if len(agents) == 0 {
		return []settings.Finding{{What: "installed", State: settings.Off, Detail: "the guard is not around " + i.Dir,
			Mend: HoldFirst + ", which `cco guard install` puts here"}}, nil
	}
	return i.Check(ctx, agents, a.Env), nil
}
