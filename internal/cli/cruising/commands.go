package cruising

import (
	"errors"
	"os"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/commands"
	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
)

func (t *tool) commands() *cobra.Command {
	c := cli.Group("commands", "Slash commands for interactive agents",
		"Slash commands by which an interactive agent can talk to phases.")
	var force bool
	var asJSON *bool
	own, _ := roster.Find(roster.Default)
	install := &cobra.Command{
		Use: "install [DIR]", Short: "Install the slash commands", Args: cli.AtMost(1),
		Long: `Put /cruise-fix, /cruise-cleanup and /cruise-resume into DIR, by default
~/` + own.Commands + `. Files of those names that differ stay, unless --force is given.`,
		Example: "  cco cruise commands install\n  cco cruise commands install .claude/commands --force",
		RunE: func(_ *cobra.Command, args []string) error {
			dir := filepath.Join(t.Home, own.Commands)
			if len(args) == 1 {
				dir = args[0]
			}
			return t.install(dir, force, *asJSON)
		},
	}
	asJSON = cli.JSONFlag(install)
	install.Flags().BoolVar(&force, "force", false, "replace files that differ")
	c.AddCommand(install)
	return c
}

func (t *tool) install(dir string, force, asJSON bool) error {
	if err := os.MkdirAll(dir, 0o755); err != nil { // commands are no secret
		return err
	}
	entries, err := commands.Files.ReadDir(".")
	if err != nil {
		return err
	}
	written := []string{}
	for _, e := range entries {
		data, err := commands.Files.ReadFile(e.Name())
		if err != nil {
			return err
		}
		path := filepath.Join(dir, e.Name())
		old, err := os.ReadFile(path)
		switch {
		case err == nil && string(old) == string(data):
			continue
		case err == nil && !force:
			return &phases.StateError{Why: path + " is there and differs: replace it with --force"}
		case err != nil && !errors.Is(err, os.ErrNotExist):
			return err
		}
		if err := os.WriteFile(path, data, 0o644); err != nil { // see above
			return err
		}
		if written = append(written, path); !asJSON {
			t.IO.Printf("%s\n", path)
		}
	}
	return cli.Tell(t.IO, asJSON, map[string]any{"dir": dir, "written": written},
		"%d written, %d were there already, in %s", len(written), len(entries)-len(written), dir)
}
