package cruising

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/delegate"
)

func (t *tool) mcp() *cobra.Command {
	o := delegate.Options{Version: cli.Version()}
	c := &cobra.Command{
		Use: "mcp", Short: "Let an agent on this machine hand work into a box", Args: cli.AtMost(0),
		Long: `Speak the Model Context Protocol on standard input and output, for an agent that
works outside of a box: it hands tasks to another that works in one. Its tools are
delegate, status, answer, diff and take. They reach the repository in which this
was started and the sessions that it started, and all of those together may cost
what the settings mcp.cost and mcp.tokens say. What comes back is bounded, cleaned
and marked as untrusted. take only asks: you decide at a terminal or on the page,
and limits and consents are yours alone. See docs/editors.md.`,
		Example: `  claude mcp add cco -- cco mcp --agent codex
  codex mcp add cco -- cco mcp`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return delegate.Serve(cmd.Context(), t.App, o, t.IO.In, t.IO.Out)
		},
	}
	c.Flags().StringVar(&o.Agent, "agent", "", "the agent that works if none is named (default: the setting agent.default)")
	c.Flags().StringVar(&o.Box, "box", "", "the box (default: the setting box.name)")
	return c
}
