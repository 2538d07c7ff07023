package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
)

func keysCommand(a *commands) *cobra.Command {
	c := Group("keys", "Keep the keys of models",
		`The keys of models stay on this machine: cco adds them to requests on their way out of a
box. They come from variables such as ANTHROPIC_API_KEY, or from where the settings keys.*
say: a variable, a file, the system's keyring, or a command that prints them.`)
	c.AddCommand(keysSetCommand(a))
	return c
}

func keysSetCommand(a *commands) *cobra.Command {
	var bearer, inFile, asJSON bool
	c := &cobra.Command{
		Use: "set PROVIDER", Short: "Keep a model's key in the keyring, or in a file", Args: exactly(1, "a provider's name"),
		Long: `Put a model's key into the system's keyring, and say in your settings that it is there.
Where there is none, and with --file, it is kept in a file that only you can read
(mode 0600), in keys beside your settings. The key is typed without being shown, or read
from standard input; it is never an argument, which every user of the machine could see.`,
		Example: `  cco keys set anthropic
  cco keys set gemini --file
  pass show openai | cco keys set openai`,
		RunE: func(cmd *cobra.Command, args []string) error {
			at, err := a.SetKey(cmd.Context(), args[0], bearer, inFile, a.offerFile(cmd.Context()), func() (string, error) {
				return a.IO.Secret(cmd.Context(), "Key for "+args[0]+": ", app.MaxKey+2)
			})
			if err != nil {
				return err
			}
			switch {
			case asJSON:
				return a.IO.JSON(at)
			case at.File != "":
				a.IO.Say("the key for %s is in %s, which only you can read", at.Provider, at.File)
			default:
				a.IO.Say("the key for %s is in the keyring as %s", at.Provider, at.Keyring)
			}
			return nil
		},
	}
	c.Flags().BoolVar(&bearer, "bearer", false, "it is a token that travels as Authorization: Bearer")
	c.Flags().BoolVar(&inFile, "file", false, "keep it in a file that only you can read, not in the keyring")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = words(app.Providers)
	return c
}

// offerFile asks whether a key is to be kept in a file, where there is no keyring.
func (a *commands) offerFile(ctx context.Context) func(app.KeyPlace, error) (bool, error) {
	return func(at app.KeyPlace, missing error) (bool, error) {
		if !a.IO.InTTY || !a.IO.ErrTTY {
			return false, fmt.Errorf("%w: `cco keys set %s --file` keeps the key in a file that only you can read, and Debian "+
				"has secret-tool in libsecret-tools", missing, at.Provider)
		}
		a.IO.Say("%v", missing)
		return Ask(ctx, a.IO, "Keep the key in "+at.File+", which only you can read?")
	}
}
