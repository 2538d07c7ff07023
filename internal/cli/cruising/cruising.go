// Package cruising is the part of the command line that needs an engine or a forge: `cco cruise` and its like.
package cruising

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Commands are those that cco-cruise adds to cco's own.
func Commands(a *app.App) []*cobra.Command { return Variant{}.Commands(a) }

// Variant is cco-cruise with a difference, for tests that put trouble into it.
type Variant struct {
	// Steps stands between the engine and what phases do.
	Steps func(cruise.Steps) cruise.Steps
	// Quiet is how long comments are waited for that belong together; 0 is the usual time.
	Quiet time.Duration
}

// Commands are those of the variant.
func (v Variant) Commands(a *app.App) []*cobra.Command {
	if v.Steps == nil {
		v.Steps = func(s cruise.Steps) cruise.Steps { return s }
	}
	t := &tool{App: a, variant: v}
	return []*cobra.Command{t.cruise(), t.pr()}
}

// tool is what the commands are wired to.
type tool struct {
	*app.App
	variant Variant
}

func (t *tool) cruise() *cobra.Command {
	c := cli.Group("cruise", "Carry a task from a plan to a reviewed pull request",
		`A phase carries a task through a plan, a pull request, reviews by another model
and rounds of fixes, in one workspace, until it is approved, merged, closed, out
of rounds or money, or idle for too long. It goes on after every crash.

Without an id, commands mean the phase of the branch that is checked out.

  cco cruise start "Add a --force flag"      plan it, open a pull request, have it reviewed
  cco cruise status                          where it stands
  cco cruise fix --comment "use the helper"  say something without the forge, and have it done now`)
	c.AddCommand(t.start(), t.status(), t.list(), t.fix(), t.resume(), t.pause(), t.cleanup(), t.logs(), t.serve(),
		t.commands())
	return c
}

// client talks to the engine.
func (t *tool) client() *serve.Client {
	return &serve.Client{Data: t.Dirs.Data, Launch: t.launch, Report: t.IO.Progress}
}

// launch starts the engine, detached, until it has had nothing to do for a while.
func (t *tool) launch() error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if err := os.MkdirAll(t.Dirs.Data, 0o700); err != nil {
		return err
	}
	log, err := os.OpenFile(filepath.Join(t.Dirs.Data, "cruise.log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	_, err = proc.Detach(proc.Cmd{
		Argv: []string{cli.Companion, "cruise", "serve", "--until-idle", "10m"}, Path: self, Dir: t.Dirs.Data, Stdout: log,
		Stderr: log,
	})
	return err
}

func (t *tool) newPhase(ctx context.Context) (string, error) {
	st, err := t.Store(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = st.Close() }()
	return drawPhase(ctx, st, session.NewID)
}

// drawPhase gives an id that no phase has, with a workspace that no session has: either would be taken for the new
// one's.
func drawPhase(ctx context.Context, st *store.Store, draw func() string) (string, error) {
	const most = 100
	for range most {
		id := draw()
		_, phaseErr := st.Phase(ctx, id)
		_, sessionErr := st.Session(ctx, steps.SessionOf(id))
		_, noPhase := errors.AsType[*store.PhaseNotFoundError](phaseErr)
		_, noSession := errors.AsType[*store.NotFoundError](sessionErr)
		switch {
		case noPhase && noSession:
			return id, nil
		case phaseErr != nil && !noPhase:
			return "", phaseErr
		case sessionErr != nil && !noSession:
			return "", sessionErr
		}
	}
	return "", fmt.Errorf("no free id of a phase in %d draws", most)
}

// phase finds the phase that is meant: the named one, or that of the branch that is checked out.
func (t *tool) phase(ctx context.Context, st *store.Store, args []string) (store.Phase, error) {
	if len(args) > 0 {
		return st.Phase(ctx, args[0])
	}
	repo, err := git.Open(ctx, t.Dir)
	if err != nil {
		return store.Phase{}, err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return store.Phase{}, err
	}
	p, err := st.PhaseOf(ctx, repo.Top, head.Branch)
	if _, none := errors.AsType[*store.PhaseNotFoundError](err); none {
		return t.only(ctx, st, repo.Top, err)
	}
	return p, err
}

// only gives the one living phase of a repository, where there is just one: its branch need not be checked out.
func (t *tool) only(ctx context.Context, st *store.Store, repo string, none error) (store.Phase, error) {
	list, err := st.Phases(ctx, 1000)
	if err != nil {
		return store.Phase{}, err
	}
	var found []store.Phase
	for _, p := range list {
		if p.Repo == repo && !p.Ended {
			found = append(found, p)
		}
	}
	if len(found) != 1 {
		return store.Phase{}, none
	}
	return st.Phase(ctx, found[0].ID)
}

// send gives a phase an event.
func (t *tool) send(ctx context.Context, args []string, ev cruise.Event) (store.Phase, error) {
	st, err := t.Store(ctx)
	if err != nil {
		return store.Phase{}, err
	}
	defer func() { _ = st.Close() }()
	p, err := t.phase(ctx, st, args)
	if err != nil {
		return p, err
	}
	if ev.ID == "" {
		ev.ID = session.NewID() + session.NewID()
	}
	ev.At = time.Now().UTC()
	return p, t.client().Send(ctx, p.ID, ev)
}
