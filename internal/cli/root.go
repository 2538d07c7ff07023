// Package cli is cco's command line: each command parses, makes one call and prints. All wiring is in internal/app.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/inside/tool"
	"github.com/cco-dev/cco/internal/term"
)

// Main runs cco on the process's own arguments and streams, and gives its exit code.
func Main(more ...Extension) int {
	if tool.Is(os.Args[0]) {
		return tool.Start(os.Args)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return Run(ctx, term.System(), os.Args[1:], more...)
}

// Run runs one command.
func Run(ctx context.Context, io *term.Streams, args []string, more ...Extension) int {
	wired, err := app.New(io)
	if err != nil {
		io.Fail(err)
		return exitWrong
	}
	a := &commands{wired}
	root := rootCommand(a)
	if len(more) == 0 {
		root.AddCommand(forwarders()...)
	}
	for _, m := range more {
		root.AddCommand(m(wired)...)
	}
	root.SetArgs(args)
	err = a.mistaken(ctx, root.ExecuteContext(ctx))
	io.Settle()
	code := ExitCode(err)
	switch quiet := (*statusError)(nil); {
	case err == nil, errors.As(err, &quiet):
	case errors.Is(err, context.Canceled):
		io.Fail(errors.New("interrupted"))
	default:
		io.Fail(err)
	}
	return code
}

// mistaken gives a better error if a session's id was used as a box's name.
func (a *commands) mistaken(ctx context.Context, err error) error {
	missing, ok := errors.AsType[*box.NotFoundError](err)
	if !ok {
		return err
	}
	s, done, openErr := a.Sessions(ctx)
	if openErr != nil {
		return err
	}
	defer done()
	if _, getErr := s.Get(ctx, missing.Name); getErr != nil {
		return err
	}
	return &notABoxError{ID: missing.Name}
}

// notABoxError says that a session was named instead of a box.
type notABoxError struct{ ID string }

func (e *notABoxError) Error() string {
	return fmt.Sprintf("%s is a session, not a box: `cco box shell --session %s` enters it, see `cco box --help`",
		e.ID, e.ID)
}

// commands is what every command shares.
type commands struct{ *app.App }

func rootCommand(a *commands) *cobra.Command {
	c := Group("cco", "Hand work to coding agents in isolated boxes, and bring commits back",
		`cco hands work to coding agents and brings commits back. An agent runs in an
isolated box with a clone of your repository; it can't reach the rest of your
machine. What it commits comes back as a git bundle that is examined before a
branch moves.

  cco box create               make a box
  cco box push plan.md         hand a plan to an agent in it
  cco box pull ID              bring its commits back
  cco cruise start "TASK"      carry a task to a reviewed pull request
  cco attention                see what waits for you`)
	c.Version = version()
	c.SetVersionTemplate("cco {{.Version}}\n")
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetIn(a.IO.In)
	c.SetOut(a.IO.Out)
	c.SetErr(a.IO.Err)
	c.PersistentFlags().BoolVarP(&a.IO.Quiet, "quiet", "q", false, "say only results, warnings and errors")
	c.PersistentFlags().BoolVar(&a.IO.Verbose, "verbose", false, "say more")
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return app.Usagef("%w, see `%s --help`", err, cmd.CommandPath())
	})
	c.AddCommand(boxCommand(a), agentCommand(a), attentionCommand(a), answerCommand(a), guardCommand(a), doctorCommand(a),
		trustCommand(a), keeperCommand(a))
	return c
}

// Group is a command that only holds others: alone it prints its help, with an unknown word it is a usage error.
func Group(use, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return app.Usagef("unknown command %q for %q, see `%s --help`", args[0], cmd.CommandPath(), cmd.CommandPath())
			}
			return cmd.Help()
		},
	}
}

// AtMost allows up to n arguments before a "--".
func AtMost(n int) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) > n {
			return app.Usagef("too many arguments: %q, see `%s --help`", args[n:], cmd.CommandPath())
		}
		return nil
	}
}

// exactly wants n arguments, described by what.
func exactly(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return app.Usagef("%s missing, see `%s --help`", what, cmd.CommandPath())
		}
		return AtMost(n)(cmd, args)
	}
}
