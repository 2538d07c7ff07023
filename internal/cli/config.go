package cli

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/safetext"
)

func configCommand(a *commands) *cobra.Command {
	c := Group("config", "Show and change settings",
		`Settings come from your own file, from a repository's `+config.RepoFile+`, which may tighten
them until you trust it, and from variables, which override both. `+"`cco help settings`"+`
says what each is for.`)
	c.AddCommand(configListCommand(a), configGetCommand(a), configSetCommand(a))
	return c
}

func configListCommand(a *commands) *cobra.Command {
	var asJSON, set bool
	c := &cobra.Command{
		Use: "list", Short: "List all settings, and where each value comes from", Args: AtMost(0),
		Example: `  cco config list
  cco config list --set
  cco config list --json`,
		RunE: func(*cobra.Command, []string) error {
			all, err := a.Settings()
			if err != nil {
				return err
			}
			rows, shown := [][]string{{"SETTING", "VALUE", "FROM"}}, []config.Setting{}
			for _, s := range all {
				if set && s.From == config.FromDefault {
					continue
				}
				rows, shown = append(rows, []string{s.Name, orDash(s.Text()), s.From}), append(shown, s)
			}
			if asJSON {
				return a.IO.JSON(shown)
			}
			a.IO.Table(rows)
			return nil
		},
	}
	c.Flags().BoolVar(&set, "set", false, "only those that are not at their default")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func configGetCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "get NAME", Short: "Print a setting's value", Args: exactly(1, "a setting's name"),
		Long: `Print a setting's value: text as it is, anything else as in a file. Where it comes
from is said beside it.`,
		Example: `  cco config get agent.default
  cco config get limits.run_cost --json`,
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.Setting(args[0])
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(s)
			}
			a.setting(s)
			a.IO.Say("from %s", s.From)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = completeFirst(a.settingNames)
	return c
}

func (a *commands) setting(s config.Setting) {
	switch v := s.Value.(type) {
	case nil:
		a.IO.Say("%s is not set", s.Name)
	case string:
		a.IO.Printf("%s\n", safetext.Text(v))
	default:
		a.IO.Printf("%s\n", safetext.Text(s.Text()))
	}
}

func configSetCommand(a *commands) *cobra.Command {
	var asJSON, back bool
	c := &cobra.Command{
		Use: "set NAME VALUE…", Short: "Change a setting in your own file",
		Long: `Change a setting in your own file, and leave the rest of it as it is, comments too.
A value is written as text or as in the file; several values are a list. What the
setting can't be, and what looks like a secret, is refused, and nothing changes.`,
		Example: `  cco config set agent.default codex
  cco config set limits.run_cost 2.50
  cco config set network.allow docs.example.com api.example.com
  cco config set push.timeout --default`,
		Args: func(cmd *cobra.Command, args []string) error {
			switch {
			case len(args) == 0:
				return app.Usagef("a setting's name is missing, see `%s --help`", cmd.CommandPath())
			case back && len(args) > 1:
				return app.Usagef("--default goes without a value")
			case !back && len(args) == 1:
				if _, err := a.Setting(args[0]); err != nil {
					return err
				}
				return app.Usagef("what should %s be? Give a value, or --default to take it back", args[0])
			}
			return nil
		},
		RunE: func(_ *cobra.Command, args []string) error {
			s, err := a.Set(args[0], args[1:])
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(s)
			}
			a.IO.Say("%s is %s now, from %s", s.Name, orDash(s.Text()), s.From)
			return nil
		},
	}
	c.Flags().BoolVar(&back, "default", false, "take the setting out of your file")
	c.Flags().BoolVar(&asJSON, "json", false, "print the setting as it is now as JSON")
	c.ValidArgsFunction = a.settingWords
	return c
}
