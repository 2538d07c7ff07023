package cruising

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/cli"
)

func (t *tool) service() *cobra.Command {
	c := cli.Group("service", "Have the system keep the engine running",
		`Have systemd (as a user unit) or launchd run the engine of phases: when you log in,
and again when it has died.`)
	var installed, removed *bool
	install := &cobra.Command{
		Use: "install", Short: "Run the engine now and always", Args: cobra.NoArgs,
		Long: `Run the engine now and always. A service has no shell's environment, so tokens and
keys that are only in variables of this shell are refused, by name.`,
		Example: "  cco cruise service install",
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, notes, err := t.InstallService(cmd.Context())
			if err != nil {
				return err
			}
			for _, n := range notes {
				t.IO.Warn("%s", n)
			}
			return cli.Tell(t.IO, *installed, map[string]any{"file": file, "notes": notes},
				"the system runs the engine: %s", file)
		},
	}
	installed = cli.JSONFlag(install)
	remove := &cobra.Command{
		Use: "remove", Short: "Let the system run it no more", Args: cobra.NoArgs,
		Example: "  cco cruise service remove",
		RunE: func(cmd *cobra.Command, _ []string) error {
			file, err := t.RemoveService(cmd.Context())
			if err != nil {
				return err
			}
			return cli.Tell(t.IO, *removed, map[string]string{"file": file},
				"the system runs the engine no more: %s is removed", file)
		},
	}
	removed = cli.JSONFlag(remove)
	c.AddCommand(install, remove)
	return c
}
