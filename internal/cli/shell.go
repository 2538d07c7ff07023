package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/creack/pty"
	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
)

func shellCommand(a *app) *cobra.Command {
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
			if err := atMost(1)(cmd, names); err != nil {
				return err
			}
			cfg, err := a.config()
			if err != nil {
				return err
			}
			return a.shell(cmd.Context(), named(cfg, names), id, net, argv)
		},
	}
	c.Flags().StringVar(&id, "session", "", "in the home and workspace of session `ID`")
	c.Flags().BoolVar(&net, "net", false, "with a way out to what the box is allowed to reach")
	return c
}

func (a *app) shell(ctx context.Context, name, id string, net bool, argv []string) error {
	e := box.Exec{Session: id, Argv: argv}
	b, d, err := a.enter(ctx, name, &e)
	if err != nil {
		return err
	}
	if net {
		way, done, err := a.way(ctx, b, "shell")
		if err != nil {
			return err
		}
		defer done()
		if way == nil {
			return &noNetworkError{b.Name}
		}
		e.Way = way
	}
	if len(argv) == 0 {
		e.Argv = []string{"/bin/bash", "-l"}
	}
	if a.io.InTTY && a.io.OutTTY {
		err = a.onPty(ctx, e, func(e box.Exec) error { return d.Run(ctx, b, e) })
	} else {
		e.Stdin, e.Stdout, e.Stderr = a.io.In, a.io.Out, a.io.Err
		err = d.Run(ctx, b, e)
	}
	if exit, ok := errors.AsType[*proc.ExitError](err); ok {
		return &statusError{exit.Code}
	}
	return err
}

// enter finds the box that a shell is for, and refuses one that is frozen. The store is opened only where it is needed:
// it would take longer than entering the box.
func (a *app) enter(ctx context.Context, name string, e *box.Exec) (*box.Box, box.Driver, error) {
	if e.Session == "" {
		boxes, err := a.boxes()
		if err != nil {
			return nil, nil, err
		}
		b, d, err := boxes.Ready(ctx, name)
		if _, shared := d.(box.Sharer); err != nil || !shared {
			return b, d, err
		}
	}
	s, done, err := a.sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	if e.Session != "" {
		rec, err := s.Enter(ctx, e.Session)
		if err != nil {
			return nil, nil, err
		}
		name, e.Repo = rec.Box, rec.RepoKey
		if e.ReadOnly = rec.Live(); e.ReadOnly {
			a.io.Say("session %s is at work: its workspace is read-only here", rec.ID)
		}
	}
	b, d, err := s.Boxes.Ready(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return b, d, s.Thawed(ctx, b, d)
}

// onPty runs a program on a terminal of its own: it never gets the user's, into which it could push keys.
func (a *app) onPty(ctx context.Context, e box.Exec, run func(box.Exec) error) error {
	master, slave, err := pty.Open()
	if err != nil {
		return fmt.Errorf("open a terminal: %w", err)
	}
	defer func() { _ = master.Close() }()
	in, ok := a.io.In.(*os.File)
	if !ok {
		return errors.New("standard input is no terminal")
	}
	old, err := xterm.MakeRaw(int(in.Fd()))
	if err != nil {
		return fmt.Errorf("prepare the terminal: %w", err)
	}
	defer func() { _ = xterm.Restore(int(in.Fd()), old) }()
	stop := a.passSize(func(cols, rows int) {
		_ = pty.Setsize(master, &pty.Winsize{Cols: uint16(cols), Rows: uint16(rows)}) //nolint:gosec // a terminal's size fits
	})
	defer stop()
	go func() { _, _ = io.Copy(master, in) }()
	shown := make(chan struct{})
	go func() { _, _ = io.Copy(a.io.Out, master); close(shown) }()
	e.TTY = slave
	e.Env = append(e.Env, "TERM="+a.env("TERM"))
	err = run(e)
	_ = slave.Close()
	select {
	case <-shown:
	case <-ctx.Done():
	}
	return err
}
