package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/install"
	"github.com/cco-dev/cco/internal/broker"
)

func agentCommand(a *commands) *cobra.Command {
	c := Group("agent", "The agents that can carry out a plan, and installing them",
		`The agents that can carry out a plan. Each but script is a program of somebody
else's, which cco installs from npm into its own directory in a version that it
was tried with; boxes see it there, read-only.`)
	c.AddCommand(agentListCommand(a), agentInstallCommand(a))
	return c
}

func agentListCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Short: "List agents: version, login and what is missing", Args: AtMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			var list []agentState
			for _, ad := range agent.All() {
				list = append(list, a.agentState(cmd.Context(), ad))
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

// agentState is an agent as it is on this machine.
type agentState struct {
	Name    string        `json:"name"`
	Ready   bool          `json:"ready"`
	Version string        `json:"version,omitempty"`
	Pinned  string        `json:"pinned,omitempty"`
	Path    string        `json:"path,omitempty"`
	Login   install.Login `json:"login"`
	Missing []missing     `json:"missing,omitempty"`
}

// missing is something that an agent needs, with what to do about it.
type missing struct {
	What string `json:"what"`
	Mend string `json:"mend"`
}

func (a *commands) agentState(ctx context.Context, ad agent.Adapter) agentState {
	s := agentState{Name: ad.Name(), Pinned: ad.Package().Version}
	if ad.Binary() == "" {
		s.Ready = true
		return s
	}
	p, err := install.Find(ctx, a.Dirs.Data, ad)
	if err != nil {
		s.Missing = append(s.Missing, missing{programWords(err), agent.Install(ad)})
	}
	s.Path, s.Version = p.Path, p.Version
	var keys []string
	if provider, err := broker.FindProvider(ad.Provider()); err == nil {
		keys = provider.KeyVars
	}
	s.Login = install.FindLogin(ad, keys, a.Env, a.Home)
	if !s.Login.Known && len(keys) > 0 {
		s.Missing = append(s.Missing, missing{"no key or login", "export " + keys[0] + "=…"})
	}
	s.Ready = len(s.Missing) == 0
	return s
}

func programWords(err error) string {
	if old, ok := errors.AsType[*install.OldError](err); ok {
		return old.Path + " is version " + old.Version + ", older than " + old.Oldest
	}
	if _, ok := errors.AsType[*install.MissingError](err); ok {
		return "not installed"
	}
	return err.Error()
}

func (a *commands) listAgents(list []agentState) {
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
	c := &cobra.Command{
		Use: "install NAME [--version V] [--platform OS/ARCH]", Short: "Install an agent's program into cco's own directory",
		Args: exactly(1, "the agent's name"),
		Long: `Install an agent's program from npm into cco's own directory, in the version that
cco was tried with unless another is given. Nothing else on the machine changes,
no script of a package is run, and an interrupted installation leaves nothing.

With --platform it is installed for another machine, such as that of a lima box.
A push to such a box does so by itself.`,
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			return agent.Names(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			ad, err := agent.Find(args[0])
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
			a.IO.Say("%s %s is installed for %s", ad.Name(), p.Version, at)
			a.IO.Printf("%s\n", p.Path)
			return nil
		},
	}
	c.Flags().StringVar(&version, "version", "", "another version than the one that cco was tried with")
	c.Flags().StringVar(&platform, "platform", "", "another platform than this machine's, such as linux/arm64")
	return c
}
