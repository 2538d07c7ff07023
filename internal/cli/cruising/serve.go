package cruising

import (
	"time"

	"github.com/spf13/cobra"
)

func (t *tool) serve() *cobra.Command {
	var idle time.Duration
	var hook string
	c := &cobra.Command{
		Use: "serve", Short: "Run the phases of this machine in the foreground", Args: cobra.NoArgs,
		Long: `Run the engine of phases in the foreground, for a service manager. Other commands
talk to it when it runs, and start one when it doesn't. There is one for each
data directory. Webhooks are a faster way to see comments: point the forge's at
the address of --webhook, with the secret in CCO_WEBHOOK_SECRET.`,
		Example: "  cco cruise serve --webhook 127.0.0.1:8181",
		RunE:    func(cmd *cobra.Command, _ []string) error { return t.Serve(cmd.Context(), idle, hook) },
	}
	c.Flags().DurationVar(&idle, "until-idle", 0, "end when no phase has been alive for so long")
	c.Flags().StringVar(&hook, "webhook", "", "take webhooks on this `ADDRESS`, such as 127.0.0.1:8181")
	return c
}
