package cli

import (
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
	var bearer, asJSON bool
	c := &cobra.Command{
		Use: "set PROVIDER", Short: "Put a model's key into the keyring", Args: exactly(1, "a provider's name"),
		Long: `Put a model's key into the system's keyring, and say in your settings that it is there.
The key is typed without being shown, or read from standard input; it is never an
argument, which every user of the machine could see, and never in a file of cco's.`,
		Example: `  cco keys set anthropic
  pass show openai | cco keys set openai`,
		RunE: func(cmd *cobra.Command, args []string) error {
			name, err := a.SetKey(cmd.Context(), args[0], bearer, func() (string, error) {
				return a.IO.Secret(cmd.Context(), "Key for "+args[0]+": ", app.MaxKey+2)
			})
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(map[string]string{"provider": args[0], "keyring": name})
			}
			a.IO.Say("the key for %s is in the keyring as %s", args[0], name)
			return nil
		},
	}
	c.Flags().BoolVar(&bearer, "bearer", false, "it is a token that travels as Authorization: Bearer")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = words(app.Providers)
	return c
}
