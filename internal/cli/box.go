package cli

import (
	"cmp"
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
)

func boxCommand(a *commands) *cobra.Command {
	c := Group("box", "Make boxes, hand work to agents in them, and bring it back",
		`A box is an isolated place where agents run. Its backend is one of

`+app.BackendHelp()+`
A session is one hand-off of a plan to an agent in a box. Commands that take a
box name mean `+"`"+box.DefaultName+"`"+` when none is given.`)
	onBoxes := []*cobra.Command{
		startCommand(a), stopCommand(a), destroyCommand(a), statusCommand(a), provisionCommand(a), shellCommand(a),
		verifyCommand(a),
	}
	onSessions := []*cobra.Command{pullCommand(a), diffCommand(a), logsCommand(a), attachCommand(a), killCommand(a)}
	a.completions(onBoxes, onSessions)
	c.AddCommand(createCommand(a), templateCommand(a), listCommand(a), pruneCommand(a), pushCommand(a), sessionsCommand(a))
	c.AddCommand(netCommand(a), graveyardCommand(a), restoreCommand(a))
	c.AddCommand(onBoxes...)
	c.AddCommand(onSessions...)
	return c
}

// named is the box that a command means.
func named(c config.Config, args []string) string {
	return cmp.Or(first(args), c.Box.Name)
}

func createCommand(a *commands) *cobra.Command {
	var backend string
	var accept []string
	var kernel bool
	var network string
	var machine machineFlags
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Make a box and leave it running", Args: AtMost(1),
		Long: `Make a box and leave it running. A box that exists is started instead.

What the isolation needs and this machine lacks is named, and the box is refused
(exit 6), unless the weaker mode is accepted by name with --accept. A worktree box
goes without the kernel where that is not available, and says so, unless it is required.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			if backend != "" {
				cfg.Box.Backend = backend
			}
			cfg.Box.Accept = append(cfg.Box.Accept, accept...)
			if network != "" {
				cfg.Network.Mode = network
			}
			if err := machine.apply(cmd, &cfg.Box, cmp.Or(cfg.Box.Backend, app.DefaultBackend())); err != nil {
				return err
			}
			name := named(cfg, args)
			created, err := a.Create(cmd.Context(), name, cfg, kernel)
			if err != nil {
				return err
			}
			created.Tell(a.IO)
			if created.Made || network == "" {
				return nil
			}
			if err := a.SetNetwork(cmd.Context(), name, network); err != nil {
				return err
			}
			a.IO.Say("box %s: network %s, for what starts from now on", name, network)
			app.WarnOpen(a.IO, name, network)
			return nil
		},
	}
	c.Flags().StringVar(&backend, "backend", "", app.BackendNames()+" (default: what suits this machine)")
	c.Flags().StringSliceVar(&accept, "accept", nil, "accept a weaker mode by the name that the refusal gives")
	c.Flags().StringVar(&network, "network", "",
		"what may leave it, through cco: none, allowlist (the default: its model and what you allow) or open")
	c.Flags().BoolVar(&kernel, "require-kernel", false, "refuse a worktree box that the kernel can't stand around")
	machine.register(c)
	return c
}

func startCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "start [NAME]", Short: "Start a box that was stopped, or stands from before a reboot", Args: AtMost(1),
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			if err := boxes.Start(ctx, name, a.IO.Progress); err != nil {
				return err
			}
			a.IO.Say("box %s is running", name)
			return nil
		}),
	}
}

func stopCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "stop [NAME]", Short: "End everything that runs in a box; workspaces stay", Args: AtMost(1),
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			if err := boxes.Stop(ctx, name); err != nil {
				return err
			}
			a.IO.Say("box %s is stopped", name)
			return nil
		}),
	}
}

func provisionCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "provision [NAME]", Short: "Put cco's instructions and skill into a box, and run its setup commands",
		Args: AtMost(1),
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			if err := boxes.Provision(ctx, name, a.IO.Progress); err != nil {
				return err
			}
			a.IO.Say("box %s is provisioned", name)
			return nil
		}),
	}
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
	c := &cobra.Command{
		Use: "destroy [NAME]", Short: "Remove a box and the workspaces in it", Args: AtMost(1),
		Long: `Remove a box and the workspaces in it. While it holds commits or changes that
were not pulled and exist nowhere else, or something that can't be saved, it is
refused (exit 4); with --force they are saved in the graveyard of cco's data
directory first. Side branches, stashes and the like are always saved there, and
come back with ` + "`cco box restore`" + `. Ignored files are not saved.`,
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
			gone, err := s.DestroyBox(cmd.Context(), name, force, cfg.Pull.MaxBundle)
			a.buried(gone.Buried)
			if err != nil {
				return err
			}
			a.unkept(gone.Ignored)
			a.IO.Say("box %s is gone", name)
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "end what runs in it, and save what exists nowhere else in the graveyard")
	return c
}

func statusCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status [NAME]", Short: "Show a box: whether it runs, and what isolates it", Args: AtMost(1),
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
