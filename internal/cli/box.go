package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session/keeping"
)

func boxCommand(commands []*cobra.Command) *cobra.Command {
	c := Group("box", "Make boxes, hand work to agents in them, and bring it back",
		`A box is an isolated place where agents run. Its backend is one of

`+app.BackendHelp()+`
A session is one hand-off of a plan to an agent in a box. Commands that take a
box name mean `+"`"+box.DefaultName+"`"+` when none is given.`)
	c.AddCommand(commands...)
	return c
}

// ofBox makes the command of box's that has a name, or all of them if none has it.
func (a *commands) ofBox(name string) (list []*cobra.Command) {
	onBoxes, onSessions := completeFirst(a.boxNames), completeFirst(a.sessionIDs)
	for _, c := range []struct {
		name     string
		make     func(*commands) *cobra.Command
		complete cobra.CompletionFunc
	}{
		{"start", startCommand, onBoxes}, {"stop", stopCommand, onBoxes}, {"destroy", destroyCommand, onBoxes},
		{"status", statusCommand, onBoxes}, {"provision", provisionCommand, onBoxes}, {"shell", shellCommand, onBoxes},
		{"verify", verifyCommand, onBoxes},
		{"pull", pullCommand, onSessions}, {"diff", diffCommand, onSessions}, {"logs", logsCommand, onSessions},
		{"attach", attachCommand, onSessions}, {"say", sayCommand, onSessions}, {"kill", killCommand, onSessions},
		{"create", createCommand, nil}, {"template", templateCommand, nil}, {"list", listCommand, nil},
		{"prune", pruneCommand, nil}, {"push", pushCommand, nil}, {"sessions", sessionsCommand, nil},
		{"wait", waitCommand, nil}, {"compare", compareCommand, nil}, {"net", netCommand, nil},
		{"graveyard", graveyardCommand, nil}, {"restore", restoreCommand, nil},
	} {
		if name != "" && name != c.name {
			continue
		}
		made := c.make(a)
		if c.complete != nil {
			made.ValidArgsFunction = c.complete
		}
		list = append(list, made)
	}
	return list
}

// named is the box that a command means.
func named(c config.Config, args []string) string {
	return cmp.Or(first(args), c.Box.Name)
}

func createCommand(a *commands) *cobra.Command {
	var asJSON *bool
	var backend string
	var accept []string
	var want app.Wanted
	var machine machineFlags
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Make a box and leave it running", Args: AtMost(1),
		Long: `Make a box and leave it running. A box that exists is started instead.

What the isolation needs and this machine lacks is named, and the box is refused
(exit 6), unless the weaker mode is accepted by name with --accept. A worktree box
goes without the kernel where that is not available, and says so, unless it is required.`,
		Example: `  cco box create
  cco box create web --backend container --image debian
  cco box create offline --network none --json`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			if backend != "" {
				cfg.Box.Backend = backend
			}
			cfg.Box.Accept = append(cfg.Box.Accept, accept...)
			if err := machine.apply(a, cmd, &cfg.Box, cmp.Or(cfg.Box.Backend, app.DefaultBackend())); err != nil {
				return err
			}
			if _, err = a.Create(cmd.Context(), named(cfg, args), cfg, want); err != nil || !*asJSON {
				return err
			}
			return a.boxJSON(cmd.Context(), named(cfg, args))
		},
	}
	asJSON = JSONFlag(c)
	c.Flags().StringVar(&backend, "backend", "", app.BackendNames()+" (default: what suits this machine)")
	c.Flags().StringSliceVar(&accept, "accept", nil, "accept a weaker mode by the name that the refusal gives")
	c.Flags().StringVar(&want.Network, "network", "",
		"what may leave it, through cco: none, allowlist (the default: its model and what you allow) or open")
	c.Flags().BoolVar(&want.Kernel, "require-kernel", false, "refuse a worktree box that the kernel can't isolate")
	machine.register(c)
	return c
}

func startCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use: "start [NAME]", Short: "Start a box that was stopped, or that a reboot ended", Args: AtMost(1),
		Example: "  cco box start\n  cco box start web",
	}
	a.changes(c, "is running", func(ctx context.Context, boxes *box.Boxes, name string) error {
		return boxes.Start(ctx, name, a.IO.Progress)
	})
	return c
}

func stopCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use: "stop [NAME]", Short: "End everything that runs in a box; workspaces stay", Args: AtMost(1),
		Example: "  cco box stop web",
	}
	a.changes(c, "is stopped", func(ctx context.Context, boxes *box.Boxes, name string) error {
		return boxes.Stop(ctx, name)
	})
	return c
}

func provisionCommand(a *commands) *cobra.Command {
	c := &cobra.Command{
		Use: "provision [NAME]", Short: "Put cco's instructions and skill into a box, and run its setup commands",
		Args:    AtMost(1),
		Example: "  cco box provision",
	}
	a.changes(c, "is provisioned", func(ctx context.Context, boxes *box.Boxes, name string) error {
		return boxes.Provision(ctx, name, a.IO.Progress)
	})
	return c
}

// changes is the shape of commands that change a box and say how it is now.
func (a *commands) changes(c *cobra.Command, is string, do func(context.Context, *box.Boxes, string) error) {
	asJSON := JSONFlag(c)
	c.RunE = a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
		if err := do(ctx, boxes, name); err != nil {
			return err
		}
		if *asJSON {
			return a.boxJSON(ctx, name)
		}
		a.IO.Say("box %s %s", name, is)
		return nil
	})
}

func (a *commands) boxJSON(ctx context.Context, name string) error {
	boxes, err := a.Boxes()
	if err != nil {
		return err
	}
	st, err := boxes.Status(ctx, name)
	if err != nil {
		return err
	}
	return a.IO.JSON(st)
}

// onBox is the shape of commands that do one thing to one box.
func (a *commands) onBox(do func(context.Context, *box.Boxes, string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := a.Config()
		if err != nil {
			return err
		}
		boxes, err := a.Boxes()
		if err != nil {
			return err
		}
		return do(cmd.Context(), boxes, named(cfg, args))
	}
}

func destroyCommand(a *commands) *cobra.Command {
	var force bool
	var asJSON *bool
	c := &cobra.Command{
		Use: "destroy [NAME]", Short: "Remove a box and the workspaces in it", Args: AtMost(1),
		Long: `Remove a box, and move the workspaces in it to the graveyard, where they stay for a
while as they are: see ` + "`cco box graveyard`" + `. While it holds commits or changes that were
not pulled and exist nowhere else, it is refused (exit 4); with --force they move too.`,
		Example: `  cco box destroy
  cco box destroy web --force`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			s, done, err := a.Sessions(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			name := named(cfg, args)
			gone, err := keeping.Of(s).DestroyBox(cmd.Context(), name, force)
			a.buried(gone.Buried, gone.Days)
			if err != nil {
				return err
			}
			if *asJSON {
				return a.IO.JSON(struct {
					Name string `json:"name"`
					keeping.Destroyed
				}{name, gone})
			}
			a.IO.Say("box %s is gone", name)
			return nil
		},
	}
	asJSON = JSONFlag(c)
	c.Flags().BoolVar(&force, "force", false, "end what runs in it, and move what exists nowhere else too")
	return c
}

func statusCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status [NAME]", Short: "Show a box: whether it runs, and what isolates it", Args: AtMost(1),
		Example: "  cco box status\n  cco box status web --json",
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			st, err := boxes.Status(ctx, name)
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(st)
			}
			a.IO.Printf("%s: %s (%s)\n", st.Name, st.State, st.Backend)
			if st.Detail != "" {
				a.IO.Printf("  %s\n", st.Detail)
			}
			for _, l := range st.Layers {
				a.layer(l)
			}
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func (a *commands) layer(l box.Layer) {
	mark := "yes"
	if !l.Active {
		mark = "NO"
	}
	a.IO.Printf("  %-16s %-4s %s\n", l.Name, mark, l.Detail)
	if !l.Active && l.Mend != "" {
		a.IO.Printf("  %-21s %s\n", "", strings.ReplaceAll(l.Mend, "\n", "\n"+strings.Repeat(" ", 24)))
	}
}

func listCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List all boxes", Args: AtMost(0),
		Example: "  cco box list\n  cco box list --json",
		RunE: func(cmd *cobra.Command, _ []string) error {
			boxes, err := a.Boxes()
			if err != nil {
				return err
			}
			list, err := boxes.List(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(list)
			}
			if len(list) == 0 {
				a.IO.Say("no boxes yet, make one with `cco box create`")
				return nil
			}
			rows := [][]string{{"NAME", "BACKEND", "STATE", "CREATED"}}
			for _, st := range list {
				rows = append(rows, []string{st.Name, st.Backend, st.State, st.Created.Local().Format("2006-01-02 15:04")})
			}
			a.IO.Table(rows)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
