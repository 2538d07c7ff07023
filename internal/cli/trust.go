package cli

import (
	"errors"
	"io/fs"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/safetext"
)

func trustCommand(a *commands) *cobra.Command {
	var yes, revoke bool
	c := &cobra.Command{
		Use: "trust", Short: "Accept the present content of this repository's " + config.RepoFile, Args: AtMost(0),
		Long: `A repository's ` + config.RepoFile + ` may tighten your settings, never loosen them, until you
have accepted its present content with this command. A change of it, by an agent
or anyone, needs to be accepted again.`,
		RunE: func(*cobra.Command, []string) error {
			top := app.RepoTop(a.Dir)
			if top == "" {
				return app.Usagef("not in a repository")
			}
			file := filepath.Join(top, config.RepoFile)
			if revoke {
				if err := config.Untrust(a.Dirs.Data, file); err != nil {
					return err
				}
				a.IO.Say("%s is not trusted", file)
				return nil
			}
			return a.trust(file, yes)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	c.Flags().BoolVar(&revoke, "revoke", false, "take it back")
	return c
}

func (a *commands) trust(file string, yes bool) error {
	content, err := config.ReadRepo(file)
	if errors.Is(err, fs.ErrNotExist) {
		return app.Usagef("there is no %s", file)
	}
	if err != nil {
		return err
	}
	if !yes {
		a.IO.Printf("%s\n", safetext.Text(string(content)))
		ok, err := a.ask("Trust this content of " + file + "?")
		if err != nil {
			return err
		}
		if !ok {
			a.IO.Say("not trusted")
			return nil
		}
	}
	if err := config.Trust(a.Dirs.Data, file, content); err != nil {
		return err
	}
	a.IO.Say("%s is trusted as it stands now", file)
	return nil
}
