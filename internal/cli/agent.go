package cli

import (
	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/app"
)

func agentCommand(a *commands) *cobra.Command {
	c := Group("agent", "The agents that can carry out a plan, and installing them",
		`The agents that can carry out a plan. Each but script is a program of somebody
else's, which cco installs from npm into its own directory in a version that it
was tried with; boxes see it there, read-only.`)
	c.AddCommand(agentListCommand(a), agentInstallCommand(a), agentCheckCommand(a), agentUpdateCommand(a),
		agentRemoveCommand(a))
	return c
}

func agentCheckCommand(a *commands) *cobra.Command {
	var asJSON, offline bool
	c := &cobra.Command{
		Use: "check [NAME…]", Short: "Try agents: their program, their key, and whether it is accepted",
		Long: `Try agents, or all that are installed: whether their program runs and the usual box
sees it, whether there is a key for their model, and whether its provider accepts the
key, which a request for its list of models shows at no cost. Exit 1 if something
does not work.`,
		Example: `  cco agent check claude
  cco agent check --offline --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			checks, err := a.CheckAgents(cmd.Context(), args, offline)
			if err != nil {
				return err
			}
			if len(checks) == 0 {
				a.IO.Say("no agent is installed, see `cco agent install --help`")
			}
			return a.diagnosis(some(checks), asJSON)
		},
	}
	c.Flags().BoolVar(&offline, "offline", false, "ask no provider")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = words(a.agentNames)
	return c
}

// agentNames are all agents, with those of the user's settings.
func (a *commands) agentNames() []string {
	own, _ := a.OwnAgents() // of settings that can't be read there are none
	return own.Names()
}

func agentUpdateCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "update [NAME…]", Short: "Bring installed agents to the versions that cco was tried with",
		Long: `Bring the agents that cco has installed, or those named, to the versions that this
cco was tried with, and remove the other versions. While a session runs an agent its
other versions stay.`,
		Example: `  cco agent update
  cco agent update claude`,
		RunE: func(cmd *cobra.Command, args []string) error {
			list, err := a.UpdateAgents(cmd.Context(), args)
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(some(list))
			}
			if len(list) == 0 {
				a.IO.Say("cco has installed no agent, see `cco agent install --help`")
			}
			for _, u := range list {
				a.IO.Printf("%s %s\n", u.Name, u.Version)
				for _, v := range u.Removed {
					a.IO.Say("removed %s %s", u.Name, v)
				}
				if u.Kept != "" {
					a.IO.Say("other versions of %s stay: %s", u.Name, u.Kept)
				}
			}
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = words(a.agentNames)
	return c
}

func agentRemoveCommand(a *commands) *cobra.Command {
	var version string
	var asJSON bool
	c := &cobra.Command{
		Use: "remove NAME", Short: "Remove what cco has installed of an agent", Args: exactly(1, "the agent's name"),
		Long: `Remove what cco has installed of an agent, for every platform, or one version of it.
A program of your own stays, and so do the agent's logins. While a session runs the
agent it is refused (exit 4).`,
		Example: `  cco agent remove codex
  cco agent remove claude --version 2.1.325`,
		RunE: func(cmd *cobra.Command, args []string) error {
			gone, err := a.RemoveAgent(cmd.Context(), args[0], version)
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(map[string]any{"name": args[0], "removed": gone})
			}
			for _, dir := range gone {
				a.IO.Say("removed %s", dir)
			}
			return nil
		},
	}
	c.Flags().StringVar(&version, "version", "", "only this one")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = words(a.agentNames)
	return c
}

func agentListCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List agents: version, login and what is missing", Args: AtMost(0),
		Example: "  cco agent list\n  cco agent list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, err := a.Agents(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(list)
			}
			a.listAgents(list)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *commands) listAgents(list []app.Agent) {
	rows := [][]string{{"AGENT", "VERSION", "TRIED WITH", "LOGIN", "PATH"}}
	for _, s := range list {
		login := "no"
		switch {
		case s.Login.Known:
			login = s.Login.How
		case s.Pinned == "":
			login = "not needed"
		}
		rows = append(rows, []string{s.Name, orDash(s.Version), orDash(s.Pinned), login, orDash(s.Path)})
	}
	a.IO.Table(rows)
	for _, s := range list {
		for _, m := range s.Missing {
			a.IO.Say("%s: %s: mend it with `%s`", s.Name, m.What, m.Mend)
		}
	}
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

func agentInstallCommand(a *commands) *cobra.Command {
	var version, platform string
	var asJSON *bool
	c := &cobra.Command{
		Use: "install NAME [--version V] [--platform OS/ARCH]", Short: "Install an agent's program into cco's own directory",
		Args: exactly(1, "the agent's name"),
		Long: `Install an agent's program from npm into cco's own directory, in the version that
cco was tried with unless another is given. Nothing else on the machine changes,
no script of a package is run, and an interrupted installation leaves nothing.

With --platform it is installed for another machine, such as that of a lima box.
A push to such a box does so by itself.`,
		Example: `  cco agent install claude
  cco agent install codex --version 0.166.0
  cco agent install claude --platform linux/arm64`,
		ValidArgsFunction: words(a.agentNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			ad, err := a.FindAgent(args[0])
			if err != nil {
				return err
			}
			at := install.Host()
			if platform != "" {
				if at, err = install.ParsePlatform(platform); err != nil {
					return err
				}
			}
			p, err := a.Install(cmd.Context(), ad, version, at)
			if err != nil {
				return err
			}
			if *asJSON {
				return a.IO.JSON(map[string]string{"name": ad.Name(), "version": p.Version, "platform": at.String(),
					"path": p.Path})
			}
			a.IO.Say("%s %s is installed for %s", ad.Name(), p.Version, at)
			a.IO.Printf("%s\n", p.Path)
			return nil
		},
	}
	c.Flags().StringVar(&version, "version", "", "another version than the one that cco was tried with")
	asJSON = JSONFlag(c)
	c.Flags().StringVar(&platform, "platform", "", "another platform than this machine's, such as linux/arm64")
	return c
}
