package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/doctor"
	"github.com/cco-dev/cco/internal/guard/settings"
)

func guardInstallCommand(a *commands) *cobra.Command {
	var o settings.Options
	var host string
	c := &cobra.Command{
		Use: "install [--agent AGENT] [DIR]", Short: "Put the guard around a worktree or clone", Args: AtMost(1),
		Long: `Put the guard around a worktree or clone of yours: its hook is registered with the
agents given, or with those that are on PATH. Other settings and comments stay as
they are, and ` + "`cco guard uninstall`" + ` puts back what was there.

With --system, which needs root, the settings are those of a box: nobody on this
machine can switch them off, and agents can work in this directory alone. It is
meant for machines that belong to an agent.`,
		RunE: func(_ *cobra.Command, args []string) error {
			i, err := a.InstallGuard(first(args), host, &o)
			if err != nil {
				return err
			}
			a.installed(i, o.Agents, o.System)
			return nil
		},
	}
	c.Flags().StringSliceVar(&o.Agents, "agent", nil, "claude, codex or gemini (default: those on PATH, else claude)")
	c.Flags().StringVar(&host, "host", "", "the repository that must not be touched (default: a linked worktree's main "+
		"one)")
	c.Flags().BoolVar(&o.System, "system", false, "write the settings that hold for everybody on this machine")
	return c
}

// installed says what is guarded now, and what is not.
func (a *commands) installed(i settings.Installation, agents []string, system bool) {
	a.IO.Say("the guard is around %s for %s", i.Dir, strings.Join(agents, ", "))
	if system {
		return
	}
	for _, agent := range agents {
		a.IO.Say("%s: start it with: %s", agent, i.Launch(agent))
		for _, gap := range settings.Gaps(agent) {
			a.IO.Say("%s: not held: %s", agent, gap)
		}
	}
	if slices.Contains(agents, "claude") && !ignored(i.Dir) {
		a.IO.Say("claude: keep .claude/settings.local.json out of commits: add it to .gitignore")
	}
	a.IO.Say("see that it is on with `cco guard doctor`")
}

// ignored says whether the repository's .gitignore covers claude's local settings.
func ignored(dir string) bool {
	text, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
	return strings.Contains(string(text), "settings.local.json") || strings.Contains(string(text), ".claude/")
}

func guardUninstallCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "uninstall [DIR]", Short: "Take the guard away again, and put back what was there", Args: AtMost(1),
		RunE: func(_ *cobra.Command, args []string) error {
			i, err := a.Guard(first(args))
			if err != nil {
				return err
			}
			files, err := i.Uninstall()
			for _, f := range files {
				a.IO.Say("put back %s", f)
			}
			if err != nil {
				return fmt.Errorf("%s: %w", i.Dir, err)
			}
			a.IO.Say("the guard is no longer around %s", i.Dir)
			return nil
		},
	}
}

func guardDoctorCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor [DIR]", Short: "Prove that the guard is on, by trying it", Args: AtMost(1),
		Long: `Prove that the guard is on: the hook is looked for where the agent would read it
and run as the agent would run it, with a call that must be denied and one that
must pass, and every setting that would switch it off is reported. Exit 1 if it
is off.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			findings, err := a.CheckGuard(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			return a.diagnosis(asChecks(findings), asJSON)
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func asChecks(findings []settings.Finding) []doctor.Check {
	levels := map[settings.State]doctor.Level{settings.Off: doctor.Fail, settings.Loose: doctor.Warn,
		settings.On: doctor.OK}
	var checks []doctor.Check
	for _, f := range findings {
		name := f.What
		if f.Agent != "" {
			name = f.Agent + " " + name
		}
		checks = append(checks, doctor.Check{Name: name, Level: levels[f.State], Detail: f.Detail, Mend: f.Mend})
	}
	return checks
}
