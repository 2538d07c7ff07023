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

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/proc"
)

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
		Places: settings.Find(a.Env, a.Home, runtime.GOOS),
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
	if len(o.Agents) == 0 {
		o.Agents = agentsHere()
	}
	o.Nonce = rand.Text()
	return i, i.Install(policy, *o)
}

func agentsHere() []string {
	list := slices.DeleteFunc(settings.Agents(), func(name string) bool {
		_, err := proc.LookPath(name)
		return err != nil
	})
	if len(list) == 0 {
		return []string{"claude"}
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
		i.State, agents = filepath.Dir(hook.DefaultPolicy), settings.Agents()
	}
	if len(agents) == 0 {
		return []settings.Finding{{What: "installed", State: settings.Off, Detail: "the guard is not around " + i.Dir,
			Mend: "cco guard install"}}, nil
	}
	return i.Check(ctx, agents, a.Env), nil
}
