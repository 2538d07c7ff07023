package cli

import (
	"context"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
)

func netCommand(a *commands) *cobra.Command {
	c := Group("net", "Say what may leave a box, and see what did",
		`Programs in a box reach the network through cco alone. With the mode allowlist,
the default, an agent reaches its model, with a key that never enters the box, and
the hosts that you allow: in your settings, for all boxes, or here, for one.

A host is a name (example.com), all names below one (*.example.com), an address or
a range of them, each with a port if it is not 443 or 80. Names that lead to private
addresses are refused unless the address is allowed too.`)
	c.AddCommand(netAllowCommand(a), netDenyCommand(a), netListCommand(a), netLogCommand(a))
	return c
}

// boxFlag adds the flag that names the box of a command under net.
func boxFlag(c *cobra.Command, a *commands) func() (config.Config, string, error) {
	var name string
	c.Flags().StringVar(&name, "box", "", "the box `NAME` (default: the one that commands mean)")
	return func() (config.Config, string, error) {
		cfg, err := a.Config()
		if name == "" {
			name = cfg.Box.Name
		}
		return cfg, name, err
	}
}

func netAllowCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use: "allow HOST[:PORT]…", Short: "Let a box reach a host, from now on and in sessions that run", Args: someHosts,
		Long: `Let a box reach a host, from now on and in sessions that are at work.

Instead of a host it can be the name of a set: go, npm, pip, cargo or debian, which
is the hosts of this tool's public registry. Allow a mirror by its own name. A set
through which data could leave says how.`,
		Example: `  cco box net allow example.com
  cco box net allow '*.example.com' 192.168.1.20:5432
  cco box net allow npm --box web`,
	}
	which, asJSON := boxFlag(c, a), JSONFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, name, err := which()
		if err != nil {
			return err
		}
		if err := a.netAllow(cmd.Context(), name, args); err != nil || !*asJSON {
			return err
		}
		return a.reachJSON(cmd.Context(), cfg, name)
	}
	return c
}

func someHosts(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return app.Usagef("host missing, see `%s --help`", cmd.CommandPath())
	}
	return nil
}

func (a *commands) netAllow(ctx context.Context, name string, args []string) error {
	mode, sets, err := a.Allow(ctx, name, args)
	if err != nil {
		return err
	}
	for _, s := range sets {
		a.IO.Say("%s: %v", s.Name, s.Hosts)
		if s.Caution != "" {
			a.IO.Warn("%s: %s", s.Name, s.Caution)
		}
	}
	for _, what := range args {
		a.IO.Say("box %s may reach %s", name, what)
	}
	if mode == box.NetworkNone {
		a.IO.Warn("box %s was made with --network none, so nothing leaves it", name)
	}
	return nil
}

func netDenyCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use: "deny HOST[:PORT]…", Short: "Take back what was allowed for a box", Args: someHosts,
		Long: `Take back what was allowed for a box, from now on and in sessions that are at work.
Connections that are open stay open. What your settings allow is taken back there.`,
		Example: "  cco box net deny example.com\n  cco box net deny npm --box web",
	}
	which, asJSON := boxFlag(c, a), JSONFlag(c)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, name, err := which()
		if err != nil {
			return err
		}
		rules, err := a.Deny(cmd.Context(), name, cfg, args)
		if err != nil {
			return err
		}
		for _, r := range rules {
			a.IO.Say("box %s may no longer reach %s", name, r)
		}
		if *asJSON {
			return a.reachJSON(cmd.Context(), cfg, name)
		}
		return nil
	}
	return c
}

// reachJSON prints what a box may reach now.
func (a *commands) reachJSON(ctx context.Context, cfg config.Config, name string) error {
	l, err := a.Reach(ctx, cfg, name)
	if err != nil {
		return err
	}
	return a.IO.JSON(l)
}

func netListCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List what a box may reach, and who allowed it",
		Args: AtMost(0), Example: "  cco box net list --box web"}
	which := boxFlag(c, a)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, name, err := which()
		if err != nil {
			return err
		}
		l, err := a.Reach(cmd.Context(), cfg, name)
		if err != nil {
			return err
		}
		if asJSON {
			return a.IO.JSON(l)
		}
		a.IO.Printf("%s: %s\n", l.Box, modeWords(l.Mode))
		if len(l.Allowed) == 0 {
			return nil
		}
		rows := [][]string{{"ALLOWED", "BY"}}
		for _, p := range l.Allowed {
			rows = append(rows, []string{p.Rule, p.From})
		}
		a.IO.Table(rows)
		return nil
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func modeWords(mode string) string {
	return map[string]string{
		box.NetworkNone:      "none: nothing leaves it",
		box.NetworkAllowlist: "allowlist: nothing leaves it but what is allowed",
		box.NetworkOpen:      "open: every public host can be reached, and beyond these what is allowed",
	}[mode]
}
