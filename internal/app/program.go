package app

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

// Install installs an agent's program, and shows how far it is.
func (a *App) Install(ctx context.Context, ad agent.Adapter, version string,
	at install.Platform) (install.Program, error) {
	what := fmt.Sprintf("installing %s %s for %s", ad.Name(), cmp.Or(version, ad.Package().Version), at)
	a.IO.Progress("%s", what)
	defer a.IO.Settle()
	said := time.Duration(0)
	return install.Install(ctx, a.Dirs.Data, ad, version, at, func(bytes int64, took time.Duration) {
		words := fmt.Sprintf("%s: %d MB, %s", what, bytes>>20, took.Round(time.Second))
		if a.IO.Live("%s", words); took-said >= sayEvery {
			said = took
			a.IO.Progress("%s", words)
		}
	})
}

// sayEvery is how often progress is told where no line can be rewritten.
const sayEvery = 10 * time.Second

// program finds an agent's program for a session, and the directories that its box must see. A program that isn't on
// the host may still be in the box.
func (a *App) program(ctx context.Context, ad agent.Adapter, b *box.Box, d box.Driver) (path string, dirs []string,
	err error) {
	if m, ok := d.(box.Machine); ok {
		return a.machineProgram(ctx, ad, b, d, m)
	}
	p, err := install.Find(ctx, a.Dirs.Data, ad)
	if _, ok := errors.AsType[*install.MissingError](err); ok || err == nil && p.Dir == "" {
		return "", nil, nil
	}
	return p.Path, []string{p.Dir}, err
}

// machineProgram is program for a box that is a machine of its own: it takes what is installed for its platform, else
// what the machine has, else the pinned version, which it installs now.
func (a *App) machineProgram(ctx context.Context, ad agent.Adapter, b *box.Box, d box.Driver,
	m box.Machine) (path string, dirs []string, err error) {
	goos, arch, err := m.Platform(ctx, b)
	if err != nil {
		return "", nil, err
	}
	at := install.Platform{OS: goos, Arch: arch}
	p, ok := install.Installed(a.Dirs.Data, ad, at)
	if !ok {
		if own, err := machineHas(ctx, ad, b, d); own || err != nil {
			return "", nil, err
		}
		if p, err = a.Install(ctx, ad, "", at); err != nil {
			return "", nil, err
		}
	}
	return p.Path, []string{p.Dir}, nil
}

// askTime is how long a program in an emulated machine may take to say its version.
const askTime = 2 * time.Minute

// machineHas asks a machine whether it has an agent's program, in a version that cco can drive.
func machineHas(ctx context.Context, ad agent.Adapter, b *box.Box, d box.Driver) (bool, error) {
	said := &proc.Tail{Max: 4096}
	err := d.Run(ctx, b, box.Exec{Argv: []string{ad.Binary(), "--version"}, Stdout: said,
		Limits: box.Limits{Time: askTime}})
	if _, late := errors.AsType[*box.LimitError](err); late || proc.Code(err) > 0 {
		return false, nil
	}
	return err == nil && install.Compare(install.Version([]byte(said.String())), ad.Package().Oldest) >= 0, err
}
