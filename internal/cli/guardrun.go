package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/proc"
)

func guardRunCommand(a *commands) *cobra.Command {
	var worktree string
	var accept []string
	c := &cobra.Command{
		Use: "run [--worktree DIR] -- AGENT…", Short: "Start an agent, or any command, in a cage on your own worktree",
		Long: `Start an agent, or any command, on your own worktree, in a cage that the kernel holds:
your machine is read-only, and only the worktree, temporary files and caches of the
cage's own can be written. Git works on a private repository. What is committed comes
to your branch by itself, also while the agent works; tags, stash and other branches
that you have stay as they are. Of your home only toolchains, programs on your PATH and
your settings of git are in sight, and the agent's own login: guard.show names more.

What starts something later can't be changed: hooks, git's configuration, and the
settings of agents in the worktree.

Without user namespaces Landlock alone holds it, which is told: that holds less, and
what changed of hooks and settings in the worktree is put back at the end.

The network and the terminal are yours. The exit status is the command's.`,
		Example: `  cco guard run -- claude
  cco guard run --worktree ../feature -- codex exec "fix the tests"
  cco guard run -- make test`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if cmd.ArgsLenAtDash() != 0 || len(args) == 0 {
				return app.Usagef("give the command after --: cco guard run -- claude")
			}
			for _, mode := range accept {
				if mode != app.AcceptNoKernel {
					return app.Usagef("--accept %s: there is %s", mode, app.AcceptNoKernel)
				}
			}
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			err = a.Caged(cmd.Context(), worktree, accept, args, a.onOurStreams(cmd.Context(), cfg))
			if exit, ok := errors.AsType[*proc.ExitError](err); ok && exit.Stderr != "" { // it has not even started
				a.IO.Warn("%s; docs/guard.md says what of your machine is in a cage", exit.Stderr)
			}
			return itsStatus(err)
		},
	}
	c.Flags().StringVar(&worktree, "worktree", "", "the worktree (default: the repository that you are in)")
	c.Flags().StringSliceVar(&accept, "accept", nil, "accept a weaker mode: "+app.AcceptNoKernel+" runs it uncaged "+
		"where nothing can hold it")
	return c
}
