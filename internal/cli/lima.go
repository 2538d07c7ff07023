package cli

import (
	"os"
	"path/filepath"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/lima"
	"github.com/cco-dev/cco/internal/guest"
)

// machines is the driver of boxes in virtual machines.
func (a *app) machines() *lima.Driver {
	return lima.New(lima.Options{
		Home: a.home, Root: os.Getuid() == 0, Getenv: a.env, Parts: machineParts, Version: guest.Version,
		Names: guest.Parts(),
	})
}

// machineParts finds cco's programs for Linux of an architecture: beside cco, or in a directory beside it where cco
// itself is for another system.
func machineParts(arch string) (string, error) {
	_, self, err := beside("cco-guest")
	if err != nil {
		return "", err
	}
	own := filepath.Dir(self)
	dirs := []string{filepath.Join(own, "cco-linux-"+arch), filepath.Join(filepath.Dir(own), "lib", "cco-linux-"+arch)}
	if runtime.GOOS == "linux" && runtime.GOARCH == arch {
		dirs = append([]string{own}, dirs...)
	}
	for _, dir := range dirs {
		if _, err := os.Stat(filepath.Join(dir, guest.Parts()[0])); err == nil {
			return dir, nil
		}
	}
	return "", &box.Unavailable{
		What: "cco in a virtual machine", Why: "cco's programs for linux/" + arch + " are not beside cco, in " + dirs[0],
		Mend: "install cco from a release archive, with all that is in it",
	}
}

func templateCommand(a *app) *cobra.Command {
	var machine machineFlags
	c := &cobra.Command{
		Use: "template [NAME]", Short: "Print the Lima template that a lima box would be made from", Args: atMost(1),
		Long: `Print the Lima template that a lima box would be made from, with the scripts that
run in it as root. Settings and flags are the same as for create.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			if err := machine.apply(&cfg.Box, "lima"); err != nil {
				return err
			}
			boxes, err := a.boxes()
			if err != nil {
				return err
			}
			spec, err := a.spec(cmd.Context(), "lima", cfg.Box)
			if err != nil {
				return err
			}
			text, err := lima.Template(&box.Box{Name: named(cfg, args), Spec: spec, Exchange: boxes.Exchange()})
			if err != nil {
				return err
			}
			a.io.Printf("%s", text)
			return nil
		},
	}
	machine.register(c)
	return c
}
