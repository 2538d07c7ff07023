package cli

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
)

// Extension adds commands that need heavy libraries: the engine of phases, the clients of forges. They are linked into
// cco-cruise alone, because every start of cco would pay for them.
type Extension func(*app.App) []*cobra.Command

// forwarders stand in for the companion's commands if those are not linked in: they replace this process by it.
func forwarders() []*cobra.Command {
	var list []*cobra.Command
	for _, c := range []struct{ use, short string }{
		{"cruise", "Carry a task from a plan to a reviewed pull request"},
		{"view", "Serve a page on which you see, decide and steer"},
		{"acp", "Be the agent of an editor that speaks the Agent Client Protocol"},
		{"mcp", "Let an agent on this machine hand work into a box"},
	} {
		list = append(list, &cobra.Command{
			Use: c.use, Short: c.short, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return become() },
			// The companion knows the completions: it gets the shell's own request.
			ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
				_ = become() // returns only if there is none
				return nil, cobra.ShellCompDirectiveError
			},
		})
	}
	return list
}

// withPhases lets a command that reads phases do so in the companion if machines share them: this program can't ask
// others.
func (a *commands) withPhases(do func(*cobra.Command, []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := a.ConfigIn(app.RepoTop(a.Dir))
		if err != nil {
			return err
		}
		if cfg.Engine.Temporal != "" && a.Mirror == nil {
			return become()
		}
		return do(cmd, args)
	}
}

// become replaces this process by the companion, with the same arguments.
func become() error {
	path, self, err := app.Beside(app.Companion)
	if err != nil {
		return err
	}
	if path == "" {
		return errors.New(app.Companion + " is not beside " + filepath.Base(self) +
			": install cco as a whole, with `make install`")
	}
	return syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
}
