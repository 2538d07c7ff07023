package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git"
)

func boxCommand(a *app) *cobra.Command {
	c := group("box", "Make boxes, hand work to agents in them, and bring it back",
		`A box is an isolated place where agents run. Its backend is one of

  native     Linux kernel isolation built into cco: no daemon, no root (default on Linux)
  container  podman or docker, hardened as far as the engine can
  lima       a virtual machine of Lima's (default on macOS)
  worktree   git worktrees of one repository, which share its .git; on Linux the
             kernel keeps everything else of the machine read-only

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
	if len(args) > 0 {
		return args[0]
	}
	return c.Box.Name
}

func createCommand(a *app) *cobra.Command {
	var backend string
	var accept []string
	var kernel bool
	var network string
	var machine machineFlags
	c := &cobra.Command{
		Use: "create [NAME]", Short: "Make a box and leave it running", Args: atMost(1),
		Long: `Make a box and leave it running. A box that exists is started instead.

What the isolation needs and this machine lacks is named, and the box is refused
(exit 6), unless the weaker mode is accepted by name with --accept. A worktree box
goes without the kernel where it can't be had, and says so, unless it is required.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
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
			if err := machine.apply(&cfg.Box, cmp.Or(cfg.Box.Backend, defaultBackend())); err != nil {
				return err
			}
			made, err := a.createAs(cmd.Context(), named(cfg, args), cfg, kernel)
			if err == nil && !made && network != "" {
				err = a.setNetwork(cmd.Context(), named(cfg, args), network)
			}
			return err
		},
	}
	c.Flags().StringVar(&backend, "backend", "", "native, container, lima or worktree (default: what suits this machine)")
	c.Flags().StringSliceVar(&accept, "accept", nil, "accept a weaker mode by the name that the refusal gives")
	c.Flags().StringVar(&network, "network", "",
		"what may leave it, through cco: none, allowlist (the default: its model and what you allow) or open")
	c.Flags().BoolVar(&kernel, "require-kernel", false, "refuse a worktree box that the kernel can't stand around")
	machine.register(c)
	return c
}

// create makes a box as the settings want it.
func (a *app) create(ctx context.Context, name string, cfg config.Config) (made bool, err error) {
	return a.createAs(ctx, name, cfg, false)
}

func (a *app) createAs(ctx context.Context, name string, cfg config.Config, kernel bool) (made bool, err error) {
	boxes, err := a.boxes()
	if err != nil {
		return false, err
	}
	backend := cfg.Box.Backend
	if backend == "" {
		backend = defaultBackend()
	}
	spec, err := a.spec(ctx, backend, cfg.Box)
	if err != nil {
		return false, err
	}
	spec.RequireKernel = kernel
	if hook, _, err := beside("cco-guard"); err != nil {
		return false, err
	} else if hook == "" && backend != "lima" && !slices.Contains(spec.Accept, box.AcceptNoGuard) {
		return false, box.NoGuard()
	}
	if spec.Network, err = networkMode(cfg.Network.Mode); err != nil {
		return false, err
	}
	made, err = boxes.Create(ctx, name, backend, spec, a.io.Progress)
	a.io.Settle()
	if _, missing := errors.AsType[*box.Unavailable](err); missing && backend == "native" {
		return made, fmt.Errorf("%w\na weaker box can be had knowingly: `cco box create %s --backend worktree --accept "+
			"no-kernel`", err, name)
	}
	if err != nil {
		return made, err
	}
	if !made {
		a.io.Say("box %s is there and running (%s)", name, backend)
		return made, nil
	}
	a.io.Say("box %s created and running (%s)", name, backend)
	a.warnOpen(name, spec.Network)
	st, err := boxes.Status(ctx, name)
	for _, l := range st.Layers {
		if !l.Active {
			a.io.Warn("%s: %s", l.Name, l.Detail)
		}
	}
	return made, err
}

func (a *app) spec(ctx context.Context, backend string, c config.Box) (box.Spec, error) {
	s := box.Spec{
		Accept: c.Accept, Caches: c.Caches, Env: c.Env, Setup: c.Setup,
		Limits: box.Limits{Memory: c.Limits.Memory, Procs: c.Limits.Procs, Time: c.Limits.Time},
	}
	for _, m := range c.Mounts {
		s.Mounts = append(s.Mounts, box.Mount{Path: m.Path, Write: m.Write})
	}
	if err := a.machineSpec(backend, c, &s); err != nil {
		return s, err
	}
	if backend != "worktree" {
		return s, nil
	}
	repo, err := git.Open(ctx, a.cwd)
	if err != nil {
		return s, fmt.Errorf("a worktree box belongs to a repository: %w", err)
	}
	s.Repo = repo.Top
	return s, nil
}

func startCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "start [NAME]", Short: "Start a box that was stopped, or stands from before a reboot", Args: atMost(1),
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			if err := boxes.Start(ctx, name, a.io.Progress); err != nil {
				return err
			}
			a.io.Say("box %s is running", name)
			return nil
		}),
	}
}

func stopCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "stop [NAME]", Short: "End everything that runs in a box; workspaces stay", Args: atMost(1),
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			if err := boxes.Stop(ctx, name); err != nil {
				return err
			}
			a.io.Say("box %s is stopped", name)
			return nil
		}),
	}
}

func provisionCommand(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "provision [NAME]", Short: "Put cco's instructions and skill into a box, and run its setup commands",
		Args: atMost(1),
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			if err := boxes.Provision(ctx, name, a.io.Progress); err != nil {
				return err
			}
			a.io.Say("box %s is provisioned", name)
			return nil
		}),
	}
}

// onBox is the shape of commands that do one thing to one box.
func (a *app) onBox(do func(context.Context, *box.Boxes, string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		cfg, err := a.config()
		if err != nil {
			return err
		}
		boxes, err := a.boxes()
		if err != nil {
			return err
		}
		return do(cmd.Context(), boxes, named(cfg, args))
	}
}

func destroyCommand(a *app) *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "destroy [NAME]", Short: "Remove a box and the workspaces in it", Args: atMost(1),
		Long: `Remove a box and the workspaces in it. While it holds commits or changes that
were not pulled and exist nowhere else, or something that can't be saved, it is
refused (exit 4); with --force they are saved in the graveyard of cco's data
directory first. Side branches, stashes and the like are always saved there, and
come back with ` + "`cco box restore`" + `. Ignored files are not saved.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.config()
			if err != nil {
				return err
			}
			s, done, err := a.sessions(cmd.Context())
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
			a.io.Say("box %s is gone", name)
			return nil
		},
	}
	c.Flags().BoolVar(&force, "force", false, "end what runs in it, and save what exists nowhere else in the graveyard")
	return c
}

func statusCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "status [NAME]", Short: "Show a box: whether it runs, and what isolates it", Args: atMost(1),
		RunE: a.onBox(func(ctx context.Context, boxes *box.Boxes, name string) error {
			st, err := boxes.Status(ctx, name)
			if err != nil {
				return err
			}
			if asJSON {
				return a.io.JSON(st)
			}
			a.io.Printf("%s: %s (%s)\n", st.Name, st.State, st.Backend)
			if st.Detail != "" {
				a.io.Printf("  %s\n", st.Detail)
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

func (a *app) layer(l box.Layer) {
	mark := "yes"
	if !l.Active {
		mark = "NO"
	}
	a.io.Printf("  %-16s %-4s %s\n", l.Name, mark, l.Detail)
	if !l.Active && l.Mend != "" {
		a.io.Printf("  %-21s %s\n", "", strings.ReplaceAll(l.Mend, "\n", "\n"+strings.Repeat(" ", 24)))
	}
}

func listCommand(a *app) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "list", Aliases: []string{"ls"}, Short: "List all boxes", Args: atMost(0),
		RunE: func(cmd *cobra.Command, _ []string) error {
			boxes, err := a.boxes()
			if err != nil {
				return err
			}
			list, err := boxes.List(cmd.Context())
			if err != nil {
				return err
			}
			if asJSON {
				return a.io.JSON(list)
			}
			if len(list) == 0 {
				a.io.Say("no boxes yet, make one with `cco box create`")
				return nil
			}
			rows := [][]string{{"NAME", "BACKEND", "STATE", "CREATED"}}
			for _, st := range list {
				rows = append(rows, []string{st.Name, st.Backend, st.State, st.Created.Local().Format("2006-01-02 15:04")})
			}
			a.io.Table(rows)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}
