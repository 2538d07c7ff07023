package cli

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
)

// machineFlags are the flags by which backends are configured.
type machineFlags struct{ memory string }

func (m *machineFlags) register(c *cobra.Command) {
	f := c.Flags()
	f.StringVar(&m.memory, "memory", "", "such as 4GiB: of the virtual machine, or the limit of what runs in another box")
	for _, b := range app.BackendFlags() {
		switch b.Kind {
		case box.Count:
			f.Int(b.Flag, 0, b.Help)
		case box.Switch:
			f.Bool(b.Flag, false, b.Help)
		default:
			f.String(b.Flag, "", b.Help)
		}
	}
}

// apply lets flags override the settings. It refuses a flag that the backend does not use.
func (m *machineFlags) apply(a *commands, c *cobra.Command, b *config.Box, backend string) error {
	given := map[string]string{}
	for _, f := range app.BackendFlags() {
		if c.Flags().Changed(f.Flag) {
			given[f.Flag] = c.Flags().Lookup(f.Flag).Value.String()
		}
	}
	if err := a.SetFlags(b, backend, given); err != nil {
		return err
	}
	if m.memory == "" {
		return nil
	}
	if err := app.SetMemory(b, backend, m.memory); err != nil {
		return app.Usagef("--memory: %w", err)
	}
	return nil
}
