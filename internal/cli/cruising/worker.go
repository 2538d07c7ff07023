package cruising

import (
	"github.com/spf13/cobra"
)

func (t *tool) worker() *cobra.Command {
	drain := false
	c := &cobra.Command{
		Use: "worker", Short: "Run phases on this machine that machines share", Args: cobra.NoArgs,
		Long: `Run phases of the Temporal service (the setting engine.temporal) in the foreground:
those whose account this machine has a token of, whose box and agents it has, and
whose label (` + "`cco cruise start --on`" + `) is among its worker.labels, at most
worker.slots at a time. When a machine dies, others go on with its phases.

Ctrl-C and SIGTERM give them back at once. --drain, from elsewhere on the machine,
has it take nothing new and give each back when no turn of it is under way.

` + "`cco cruise service install`" + ` has systemd or launchd run it: where machines share
phases, the service is a worker.`,
		Example: "  cco cruise worker\n  cco cruise worker --drain",
		RunE: func(cmd *cobra.Command, _ []string) error {
			if drain {
				return t.Drain(cmd.Context())
			}
			return t.Work(cmd.Context())
		},
	}
	c.Flags().BoolVar(&drain, "drain", false, "end the worker that runs here, when its turns have ended")
	return c
}
