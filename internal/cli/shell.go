package cli

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/vt"
)

func shellCommand(a *commands) *cobra.Command {
	var id string
	var net bool
	c := &cobra.Command{
		Use: "shell [NAME] [-- CMD…]", Short: "Run a shell or a command in a box",
		Long: `Run a shell, or the command after --, in a box. It has a home of its own that is
thrown away in the end. With --session it sees that session's home and workspace.

It has no network. With --net it reaches, through cco, what the box is allowed to,
but no model.

The exit status is the command's.`,
		Example: `  cco box shell
  cco box shell -- git --version
  cco box shell --session 3f9c01aa -- git log --oneline`,
		RunE: func(cmd *cobra.Command, args []string) error {
			names, argv := args, []string(nil)
			if n := cmd.ArgsLenAtDash(); n >= 0 {
				names, argv = args[:n], args[n:]
			}
			if err := AtMost(1)(cmd, names); err != nil {
				return err
			}
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			return a.shell(cmd.Context(), cfg, named(cfg, names), id, net, argv)
		},
	}
	c.Flags().StringVar(&id, "session", "", "in the home and workspace of session `ID`")
	c.Flags().BoolVar(&net, "net", false, "with a way out to what the box is allowed to reach")
	return c
}

func (a *commands) shell(ctx context.Context, cfg config.Config, name, id string, net bool, argv []string) error {
	if len(argv) == 0 {
		argv = []string{"/bin/bash", "-l"}
	}
	return itsStatus(a.Enter(ctx, name, net, box.Exec{Session: id, Argv: argv}, a.onOurStreams(ctx, cfg)))
}

// onOurStreams gives a program a terminal of its own if we have one, and our streams otherwise.
func (a *commands) onOurStreams(ctx context.Context, cfg config.Config) func(box.Exec, func(box.Exec) error) error {
	return func(e box.Exec, run func(box.Exec) error) error {
		if a.IO.InTTY && a.IO.OutTTY {
			return a.onPty(ctx, cfg, e, run)
		}
		var done func()
		e.Stdin = a.IO.In
		e.Stdout, e.Stderr, done = a.tamed()
		defer done()
		return run(e)
	}
}

// itsStatus ends us with the status of a program that has ended.
func itsStatus(err error) error {
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		return &statusError{exit.Code}
	}
	return err
}

// onPty runs a program on a terminal of its own: it never gets the user's, where it could inject keys.
func (a *commands) onPty(ctx context.Context, cfg config.Config, e box.Exec, run func(box.Exec) error) error {
	master, slave, err := term.OpenPty()
	if err != nil {
		return err
	}
	c, err := a.console(cfg.Terminal, func(cols, rows int) {
		master.Resize(uint16(cols), uint16(rows)) // a terminal's size fits
	})
	if err != nil {
		return errors.Join(err, master.Close(), slave.Close())
	}
	defer func() {
		_ = master.Close() // nothing may be shown after the terminal was given back
		c.giveBack()
	}()
	go readKeys(c.tty, &vt.Keys{}, c.read, func(t vt.Typed) bool { master.Type(t.Bytes); return true })
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		buf := make([]byte, 32<<10)
		for {
			n, err := master.Read(buf)
			c.show(buf[:n], false)
			if err != nil {
				return
			}
		}
	}()
	e.TTY = slave
	e.Env = append(e.Env, "TERM="+a.Env("TERM"))
	err = run(e)
	_ = slave.Close()
	select {
	case <-shown:
	case <-ctx.Done():
	}
	return err
}
