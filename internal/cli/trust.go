package cli

import (
	"context"
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
	var asJSON *bool
	c := &cobra.Command{
		Use: "trust", Short: "Accept the present content of this repository's " + config.RepoFile, Args: AtMost(0),
		Long: `A repository's ` + config.RepoFile + ` may tighten your settings, never loosen them, until you
have accepted its present content with this command. A change of it, by an agent
or anyone, needs to be accepted again.`,
		Example: "  cco trust\n  cco trust --revoke",
		RunE: func(cmd *cobra.Command, _ []string) error {
			top := app.RepoTop(a.Dir)
			if top == "" {
				return app.Usagef("not in a repository")
			}
			file := filepath.Join(top, config.RepoFile)
			if revoke {
				if err := config.Untrust(a.Dirs.Data, file); err != nil {
					return err
				}
				return Tell(a.IO, *asJSON, trusted{file, false}, "%s is not trusted", file)
			}
			return a.trust(cmd.Context(), file, yes, *asJSON)
		},
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	asJSON = JSONFlag(c)
	c.Flags().BoolVar(&revoke, "revoke", false, "take it back")
	return c
}

// trusted says whether a repository's settings are.
type trusted struct {
	File    string `json:"file"`
	Trusted bool   `json:"trusted"`
}

func (a *commands) trust(ctx context.Context, file string, yes, asJSON bool) error {
	content, err := config.ReadRepo(file)
	if errors.Is(err, fs.ErrNotExist) {
		return app.Usagef("there is no %s", file)
	}
	if err != nil {
		return err
	}
	if !yes {
		to := a.IO.Results()
		if asJSON {
			to = a.IO.Err
		}
		a.IO.Sign(to, safetext.Text(string(content)))
		ok, err := Ask(ctx, a.IO, "Trust this content of "+file+"?")
		if err != nil {
			return err
		}
		if !ok {
			return Tell(a.IO, asJSON, trusted{file, false}, "not trusted")
		}
	}
	if err := config.Trust(a.Dirs.Data, file, content); err != nil {
		return err
	}
	return Tell(a.IO, asJSON, trusted{file, true}, "%s is trusted as it stands now", file)
}
