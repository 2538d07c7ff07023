package cruising

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/editor"
)

func (t *tool) acp() *cobra.Command {
	o := editor.Options{Version: cli.Version()}
	takes := []string{editor.Ask, editor.EachTurn, editor.Never}
	c := &cobra.Command{
		Use: "acp", Short: "Be the agent of an editor that speaks the Agent Client Protocol", Args: cli.AtMost(0),
		Long: `Speak the Agent Client Protocol on standard input and output, for editors that
start an agent: Zed, JetBrains, neovim, Emacs. A conversation is a session on the
branch that is checked out, and a prompt is a turn of its agent in a box. What a
turn made passes quarantine and gate. --take says what happens then:

  ask        your editor asks whether to take it into the branch
  each-turn  it is taken, if the gate has nothing at all to say of it
  never      it stays at refs/cco/ID

What needs your consent waits for it at a terminal or on the page in any case.
See docs/editors.md.`,
		Example: `  cco acp --agent claude
  cco acp --agent codex --box work --take each-turn`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if !slices.Contains(takes, o.Take) {
				return app.Usagef("--take %s: there are %s", o.Take, strings.Join(takes, ", "))
			}
			return editor.Serve(cmd.Context(), t.App, o, t.IO.In, t.IO.Out)
		},
	}
	c.Flags().StringVar(&o.Agent, "agent", "", "the agent that works (default: the setting agent.default)")
	c.Flags().StringVar(&o.Model, "model", "", "its model (default: the setting agent.model)")
	c.Flags().StringVar(&o.Box, "box", "", "the box (default: the setting box.name)")
	c.Flags().StringVar(&o.Take, "take", editor.Ask, "what becomes of a turn's work: "+strings.Join(takes, ", "))
	return c
}
