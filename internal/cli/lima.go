package cli

import "github.com/spf13/cobra"

func templateCommand(a *commands) *cobra.Command {
	var machine machineFlags
	c := &cobra.Command{
		Use: "template [NAME]", Short: "Print the Lima template that a lima box would be made from", Args: AtMost(1),
		Long: `Print the Lima template that a lima box would be made from, with the scripts that
run in it as root. Settings and flags are the same as for create.`,
		Example: "  cco box template >lima.yaml",
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			if err := machine.apply(a, cmd, &cfg.Box, "lima"); err != nil {
				return err
			}
			text, err := a.Template(named(cfg, args), cfg.Box)
			if err != nil {
				return err
			}
			a.IO.Printf("%s", text)
			return nil
		},
	}
	machine.register(c)
	return c
}
