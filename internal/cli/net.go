package cli

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/broker/sets"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/safetext"
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
	_ = c.RegisterFlagCompletionFunc("box", func(cmd *cobra.Command, _ []string, begun string) ([]string,
		cobra.ShellCompDirective) {
		return completeFirst(a.boxNames)(cmd, nil, begun)
	})
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
is the hosts that this tool uses on your machine, as its own settings name them. A
set through which data could leave says how.`,
		Example: `  cco box net allow example.com
  cco box net allow '*.example.com' 192.168.1.20:5432
  cco box net allow npm --box web`,
	}
	which := boxFlag(c, a)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		_, name, err := which()
		if err != nil {
			return err
		}
		return a.netAllow(cmd.Context(), name, args)
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
	rules, named, err := readRules(args)
	if err != nil {
		return err
	}
	known := &app.SetCache{}
	for _, name := range named {
		s, err := known.Load(ctx, name)
		if err != nil {
			return err
		}
		a.IO.Say("%s: %v", s.Name, s.Rules)
		for _, note := range s.Notes {
			a.IO.Say("%s: %s", s.Name, safetext.Text(note))
		}
		if s.Caution != "" {
			a.IO.Warn("%s: %s", s.Name, s.Caution)
		}
	}
	boxes := &box.Boxes{Data: a.Dirs.Data}
	mode := ""
	err = boxes.Change(ctx, name, func(spec *box.Spec) error {
		mode = spec.Mode()
		for _, r := range rules {
			spec.Allow = with(spec.Allow, r)
		}
		for _, name := range named {
			spec.Sets = with(spec.Sets, name)
		}
		return nil
	})
	if err != nil {
		return err
	}
	for _, what := range args {
		a.IO.Say("box %s may reach %s", name, what)
	}
	if mode == box.NetworkNone {
		a.IO.Warn("box %s was made with --network none: nothing leaves it all the same", name)
	}
	return nil
}

// with adds what is not there yet.
func with(list []string, s string) []string {
	if slices.Contains(list, s) {
		return list
	}
	return append(list, s)
}

// readRules tells hosts from sets, and puts each host into its one normal form.
func readRules(args []string) (rules, named []string, err error) {
	for _, arg := range args {
		if slices.Contains(sets.Names(), arg) {
			named = append(named, arg)
			continue
		}
		r, err := broker.ParseRule(arg)
		if err != nil {
			return nil, nil, app.Usagef("%w", err)
		}
		rules = append(rules, r.String())
	}
	return rules, named, nil
}

// notAllowedError says that there is nothing to take back.
type notAllowedError struct{ host, box, why string }

func (e *notAllowedError) Error() string {
	return fmt.Sprintf("%s is not allowed for box %s by name%s, see `cco box net list`", e.host, e.box, e.why)
}

func netDenyCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use: "deny HOST[:PORT]…", Short: "Take back what was allowed for a box", Args: someHosts,
		Long: `Take back what was allowed for a box, from now on and in sessions that are at work.
Connections that are open stay open. What your settings allow is taken back there.`,
	}
	which := boxFlag(c, a)
	c.RunE = func(cmd *cobra.Command, args []string) error {
		cfg, name, err := which()
		if err != nil {
			return err
		}
		rules, named, err := readRules(args)
		if err != nil {
			return err
		}
		rules = append(rules, named...)
		boxes := &box.Boxes{Data: a.Dirs.Data}
		err = boxes.Change(cmd.Context(), name, func(spec *box.Spec) error {
			for _, r := range rules {
				if !slices.Contains(spec.Allow, r) && !slices.Contains(spec.Sets, r) {
					return &notAllowedError{r, name, inSettings(cfg, r)}
				}
				is := func(s string) bool { return s == r }
				spec.Allow, spec.Sets = slices.DeleteFunc(spec.Allow, is), slices.DeleteFunc(spec.Sets, is)
			}
			return nil
		})
		if err != nil {
			return err
		}
		for _, r := range rules {
			a.IO.Say("box %s may no longer reach %s", name, r)
		}
		return nil
	}
	return c
}

// inSettings says that a rule is in the settings, if it is.
func inSettings(cfg config.Config, rule string) string {
	same := func(s string) bool {
		r, err := broker.ParseRule(s)
		return s == rule || err == nil && r.String() == rule
	}
	if slices.ContainsFunc(cfg.Network.Allow, same) || slices.Contains(cfg.Network.Sets, rule) {
		return ", but by your settings"
	}
	return ""
}

// netListing is what a box may reach.
type netListing struct {
	Box     string       `json:"box"`
	Mode    string       `json:"mode"`
	Allowed []app.Permit `json:"allowed"`
}

func netListCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{Use: "list", Aliases: []string{"ls"}, Short: "List what a box may reach, and on whose word",
		Args: AtMost(0)}
	which := boxFlag(c, a)
	c.RunE = func(cmd *cobra.Command, _ []string) error {
		cfg, name, err := which()
		if err != nil {
			return err
		}
		l, err := a.netListing(cmd.Context(), cfg, name)
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

func (a *commands) netListing(ctx context.Context, cfg config.Config, name string) (netListing, error) {
	boxes := &box.Boxes{Data: a.Dirs.Data}
	b, err := boxes.Record(name)
	if err != nil {
		return netListing{}, err
	}
	mode, err := a.Mode(b, app.RepoTop(a.Dir), cfg)
	if err != nil {
		return netListing{}, err
	}
	l := netListing{Box: name, Mode: mode.String(), Allowed: []app.Permit{}}
	if mode == broker.ModeNone {
		return l, nil
	}
	for _, ag := range agent.All() {
		if p, err := broker.FindProvider(ag.Provider()); err == nil {
			base := p.Base
			if u, err := url.Parse(a.Env(p.BaseVar)); err == nil && u.Host != "" {
				base = u.Redacted()
			}
			l.Allowed = append(l.Allowed, app.Permit{
				Rule: base, From: "the model of " + ag.Name() + ", with your key added on the way",
			})
		}
	}
	more, err := a.Permits(ctx, b.Spec, cfg, &app.SetCache{})
	l.Allowed = append(l.Allowed, more...)
	return l, err
}
