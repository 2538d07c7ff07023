package cli

import (
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/inside/gitwrap"
)

func guardEnvCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "env [DIR]", Short: "Print the git environment that binds git to a worktree", Args: AtMost(1),
		Long: `Print the git environment that binds git to a worktree, for eval in a shell:

  eval "$(cco guard env path/to/worktree)"

GIT_DIR breaks git init and git clone in test fixtures, and git inside
submodules. In boxes without isolation a git wrapper frees such calls from it, unless
the settings say guard.git_env = "plain", which sets them in every box.`,
		Example: "  cco guard env ../feature --json",
		RunE: a.onPolicy(func(p guard.Policy) error {
			gitDir := ""
			if p.Linked() {
				gitDir = p.GitDir
			}
			env := gitwrap.Bind(gitDir, p.Workspace)
			if asJSON {
				values := map[string]string{}
				for _, e := range env {
					name, value, _ := strings.Cut(e, "=")
					values[name] = value
				}
				return a.IO.JSON(values)
			}
			for _, line := range envLines(env, os.Environ()) {
				a.IO.Printf("%s\n", line)
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// envLines are the lines of shell that set env, and unset git's other variables.
func envLines(env, now []string) []string {
	var set, unset []string
	for _, e := range env {
		name, value, _ := strings.Cut(e, "=")
		set = append(set, "export "+name+"='"+strings.ReplaceAll(value, "'", `'\''`)+"'")
	}
	for _, e := range now {
		name, _, _ := strings.Cut(e, "=")
		if isGitVariable(name) && !slices.ContainsFunc(env, func(o string) bool { return strings.HasPrefix(o, name+"=") }) {
			unset = append(unset, "unset "+name)
		}
	}
	slices.Sort(unset)
	return append(unset, set...)
}

// isGitVariable says whether a name is one of git's variables that a shell can unset.
func isGitVariable(name string) bool {
	rest, ok := strings.CutPrefix(name, "GIT_")
	return ok && rest != "" && strings.Trim(rest, "ABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_") == ""
}
