// Package cruising is the part of the command line that needs an engine or a forge: `cco cruise` and its like.
package cruising

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cli/live"
)

// Commands are those that cco-cruise adds to cco's own.
func Commands(a *app.App) []*cobra.Command { return For(&phases.Phases{App: a}) }

// For gives the commands with a given engine.
func For(p *phases.Phases) []*cobra.Command {
	p.App.Mirror, p.App.Waiting = p.Mirror, p.Waiting
	p.Live = func(ctx context.Context) (bool, error) { return live.Run(ctx, p.App) }
	t := &tool{p}
	return []*cobra.Command{t.cruise(), t.view(), t.acp(), t.mcp()}
}

// tool is what the commands are wired to.
type tool struct{ *phases.Phases }

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
		t.service(), t.worker(), t.key(), t.commands())
	return c
}

// named is the phase that a command names, "" for that of the current branch.
func named(args []string) string {
	if len(args) == 0 {
		return ""
	}
	return args[0]
}
