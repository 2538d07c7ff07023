package cli

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/lima"
)

func templateCommand(a *commands) *cobra.Command {
	var machine machineFlags
	c := &cobra.Command{
		Use: "template [NAME]", Short: "Print the Lima template that a lima box would be made from", Args: AtMost(1),
		Long: `Print the Lima template that a lima box would be made from, with the scripts that
run in it as root. Settings and flags are the same as for create.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			if err := machine.apply(cmd, &cfg.Box, "lima"); err != nil {
				return err
			}
			boxes, err := a.Boxes()
			if err != nil {
				return err
			}
			spec, err := a.Spec(cmd.Context(), "lima", cfg.Box)
			if err != nil {
				return err
			}
			text, err := lima.Template(&box.Box{Name: named(cfg, args), Spec: spec, Exchange: boxes.Exchange()})
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
