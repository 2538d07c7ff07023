//go:build !linux

package caged

import (
	"context"
	"errors"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/cage"
	"github.com/cco-dev/cco/internal/box/host"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/proc"
)

// Run runs a program in macOS' sandbox, or plainly.
func (c *Cage) Run(ctx context.Context, e box.Exec) error {
	argv, env, err := e.Argv, c.User.Env, error(nil)
	if c.Way == Seatbelt {
		argv, env, err = c.seatbelt(e)
	}
	runs := cage.Registry{Dir: filepath.Join(c.Dir, "runs")}
	if err := errors.Join(err, runs.Open()); err != nil {
		return err
	}
	return cage.Plain(ctx, runs, e, proc.Cmd{Argv: argv, Dir: e.Dir, Env: env})
}

// seatbelt is the command that runs a program in macOS' sandbox, and its environment. The policy is that of Landlock.
func (c *Cage) seatbelt(e box.Exec) (argv, env []string, err error) {
	mounts := []Mount{{Target: c.User.Home, Empty: true}}
	for _, m := range append(c.toolchains().Mounts, c.User.Shown...) {
		mounts = append(mounts, Mount{Source: m.Path, Target: m.Path})
	}
	for _, name := range host.Logins(c.User.Home, c.User.Shown, c.User.Hidden...) {
		mounts = append(mounts, Mount{Target: name, Empty: true})
	}
	mounts = append(mounts, Mount{Target: c.Data, Empty: true}, Mount{Source: c.Tool, Target: c.Tool})
	env = e.OwnEnv()
	if !c.Alone {
		extra, err := c.bareHome(e.Dir, func(m ...Mount) { mounts = append(mounts, m...) })
		if err != nil {
			return nil, nil, err
		}
		keys, reached := c.shownSockets()
		mounts = append(mounts, keys...)
		env = c.environment(slices.Concat(extra, reached, e.Env))
	}
	mounts = append(mounts, Mount{Source: c.Worktree, Target: c.Worktree, Write: !c.Alone})
	if e.TTY != nil {
		mounts = append(mounts, Mount{Source: e.TTY.Name(), Target: e.TTY.Name(), Write: true})
	}
	return append([]string{"sandbox-exec", "-p", profile(append(mounts, c.Repo...), !c.Alone)}, e.Argv...), env, nil
}

// Likely is a way that needs no trying: there is none.
func Likely(string) Way { return "" }

// Choose finds what can hold a program here. The sandbox has to be asked for by name: nobody has tried it.
func Choose(_ context.Context, _, want string) (Way, string, error) {
	if _, err := proc.LookPath("sandbox-exec"); err == nil && want == string(Seatbelt) {
		return Seatbelt, "", nil
	}
	return Nothing, unavailable().Error(), unavailable()
}

// Release has nothing to do.
func (c *Cage) Release() []string { return nil }

// Try needs Linux.
func (c *Cage) Try(context.Context, string) ([]probe.Finding, error) { return nil, unavailable() }
