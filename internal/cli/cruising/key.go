package cruising

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/forge"
)

func (t *tool) key() *cobra.Command {
	c := cli.Group("key", "The key by which your programs of cco know each other's words",
		`What cco says on a forge carries a marker that only a program with your key can
make. The key is random, in the data directory, and made when it is first needed.
Carry it to your other machines, so that no phase there takes the words of one
here for work:

  cco cruise key show | ssh other cco cruise key set`)
	var shown, changed *bool
	show := &cobra.Command{
		Use: "show", Short: "Print the key, which is a secret", Args: cobra.NoArgs,
		Example: "  cco cruise key show | ssh other cco cruise key set",
		RunE: func(*cobra.Command, []string) error {
			k, err := forge.OpenKey(t.Dirs.Data)
			if err != nil {
				return err
			}
			if *shown {
				return t.IO.JSON(map[string]string{"key": k.Reveal()})
			}
			t.IO.Printf("%s\n", k.Reveal())
			return nil
		},
	}
	shown = cli.JSONFlag(show)
	set := &cobra.Command{
		Use: "set", Short: "Read the key of another machine from standard input", Args: cobra.NoArgs,
		Long: `Read the key of another machine from standard input, and use it from now on. What
was said before is still known by its records.`,
		Example: "  ssh other cco cruise key show | cco cruise key set",
		RunE: func(cmd *cobra.Command, _ []string) error {
			text, err := readAll(t.IO.In)
			if err != nil {
				return err
			}
			k, err := forge.ParseKey(string(text))
			if err != nil {
				return app.Usagef("%v", err)
			}
			if err := t.SetKey(cmd.Context(), k); err != nil {
				return err
			}
			return cli.Tell(t.IO, *changed, map[string]bool{"set": true}, "the key is set")
		},
	}
	changed = cli.JSONFlag(set)
	c.AddCommand(show, set)
	return c
}
