package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/doctor"
	"github.com/cco-dev/cco/internal/guard/settings"
)

func guardInstallCommand(a *commands) *cobra.Command {
	var o settings.Options
	var host string
	var asJSON *bool
	c := &cobra.Command{
		Use: "install [--agent AGENT] [DIR]", Short: "Put the guard around a worktree or clone", Args: AtMost(1),
		Long: `Put the guard around a worktree or clone of yours: its hook is registered with the
agents given, or with those that are on PATH. Other settings and comments stay as
they are, and ` + "`cco guard uninstall`" + ` puts back what was there.

` + app.HoldFirst + `.

With --system, which needs root, the settings are those of a box: nobody on this
machine can switch them off, and agents can work in this directory alone. It is
meant for machines that belong to an agent. With --strict, agents may not write to
the directories for temporary files either.`,
		Example: `  cco guard install
  cco guard install --agent claude,codex ../feature`,
		RunE: func(_ *cobra.Command, args []string) error {
			i, err := a.InstallGuard(first(args), host, &o)
			if err != nil {
				return err
			}
			if *asJSON {
				return a.installedJSON(i, o.Agents, o.System)
			}
			return a.installed(i, o.Agents, o.System)
		},
	}
	c.Flags().StringSliceVar(&o.Agents, "agent", nil, hooked()+" (default: those on PATH, else "+roster.Default+")")
	c.Flags().StringVar(&host, "host", "", "the repository that must not be touched (default: a linked worktree's main "+
		"one)")
	asJSON = JSONFlag(c)
	c.Flags().BoolVar(&o.Strict, "strict", false, "allow no directories for temporary files")
	c.Flags().BoolVar(&o.System, "system", false, "write the settings that hold for everybody on this machine")
	return c
}

// installed says what is guarded now, and what is not.
func (a *commands) installed(i settings.Installation, agents []string, system bool) error {
	a.IO.Say("%s", app.HoldFirst)
	a.IO.Say("the guard's hook is around %s for %s", i.Dir, strings.Join(agents, ", "))
	if system {
		return nil
	}
	for _, name := range agents {
		line, err := i.Launch(name)
		if err != nil {
			return err
		}
		a.IO.Say("%s: start it with: %s", name, line)
		if r, _ := roster.Find(name); r.Local != "" && !ignored(i.Dir, r.Local) {
			a.IO.Say("%s: keep %s out of commits: add it to .gitignore", name, r.Local)
		}
	}
	a.IO.Say("see that it is on with `cco guard doctor`; docs/guard.md says how an agent loses it all the same")
	return nil
}

// guardedAgent is an agent that the guard was put around.
type guardedAgent struct {
	Name  string `json:"name"`
	Start string `json:"start,omitempty"` // the command
}

func (a *commands) installedJSON(i settings.Installation, agents []string, system bool) error {
	list := []guardedAgent{}
	for _, name := range agents {
		g := guardedAgent{Name: name}
		if !system {
			var err error
			if g.Start, err = i.Launch(name); err != nil {
				return err
			}
		}
		list = append(list, g)
	}
	return a.IO.JSON(map[string]any{"dir": i.Dir, "agents": list})
}

// ignored says whether the repository's .gitignore covers an agent's local settings.
func ignored(dir, local string) bool {
	text, _ := os.ReadFile(filepath.Join(dir, ".gitignore"))
	return strings.Contains(string(text), filepath.Base(local)) || strings.Contains(string(text), filepath.Dir(local)+"/")
}

// hooked lists the agents that the guard can be put around, for a flag.
func hooked() string {
	return strings.Join(settings.Installation{Adapters: agent.Hooks()}.Known(), ", ")
}

func guardUninstallCommand(a *commands) *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use: "uninstall [DIR]", Short: "Take the guard away again, and put back what was there", Args: AtMost(1),
		Example: "  cco guard uninstall ../feature",
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
			return Tell(a.IO, *asJSON, map[string]any{"dir": i.Dir, "put_back": some(files)},
				"the guard is no longer around %s", i.Dir)
		},
	}
	asJSON = JSONFlag(c)
	return c
}

func guardDoctorCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "doctor [DIR]", Short: "Prove that the guard is on, by trying it", Args: AtMost(1),
		Long: `Prove that the guard is on: the hook is looked for where the agent would read it
and run as the agent would run it, with a call that must be denied and one that
must pass, and every setting that would switch it off is reported. The cage of
` + "`cco guard run`" + ` is tried as well, on a repository of its own: what must not get
out, and that a commit comes back. Exit 1 if the guard is off or the cage leaks.`,
		Example: "  cco guard doctor\n  cco guard doctor ../feature --json",
		RunE: func(cmd *cobra.Command, args []string) error {
			findings, err := a.CheckGuard(cmd.Context(), first(args))
			if err != nil {
				return err
			}
			return a.diagnosis(append(asChecks(findings), a.TryCage(cmd.Context())...), asJSON)
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
