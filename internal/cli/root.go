// Package cli is cco's command line: each command parses, makes one call and prints. All wiring is in internal/app.
package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
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
	a, root, err := tree(io, args, more)
	if err != nil {
		io.Fail(err)
		return exitWrong
	}
	root.SetArgs(args)
	if len(args) > 0 && strings.HasPrefix(args[0], cobra.ShellCompRequestCmd) {
		a.completeFlags(root)
	}
	err = a.withMeant(ctx, a.mistaken(ctx, root.ExecuteContext(ctx)))
	io.Settle()
	code := ExitCode(err)
	if err != nil && wantsJSON(args) {
		io.FailJSON(failure(err, code))
	}
	switch quiet := (*statusError)(nil); {
	case err == nil, errors.As(err, &quiet):
	case errors.Is(err, context.Canceled):
		io.Fail(errors.New("interrupted"))
	default:
		io.Fail(err)
	}
	return code
}

// Root gives all commands, to be looked at.
func Root(io *term.Streams, more ...Extension) (*cobra.Command, error) {
	_, root, err := tree(io, nil, more)
	return root, err
}

// tree makes the commands. If the arguments name one of box's, it makes that alone: the others take a millisecond.
func tree(io *term.Streams, args []string, more []Extension) (*commands, *cobra.Command, error) {
	wired, err := app.New(io)
	if err != nil {
		return nil, nil, err
	}
	a := &commands{wired}
	root := rootCommand(a)
	if len(args) > 1 && args[0] == "box" {
		if one := a.ofBox(args[1]); len(one) == 1 && !one[0].HasSubCommands() {
			root.AddCommand(boxCommand(one))
			return a, root, nil
		}
	}
	root.AddCommand(runCommand(a), boxCommand(a.ofBox("")), agentCommand(a), attentionCommand(a), answerCommand(a),
		costCommand(a), guardCommand(a), configCommand(a), keysCommand(a), doctorCommand(a), trustCommand(a),
		keeperCommand(a))
	root.AddCommand(a.topics()...)
	ownCommands(root)
	if len(more) == 0 {
		root.AddCommand(forwarders()...)
	}
	for _, m := range more {
		root.AddCommand(m(wired)...)
	}
	return a, root, nil
}

// wantsJSON says whether the user wants to read the result with a program.
func wantsJSON(args []string) bool {
	if i := slices.Index(args, "--"); i >= 0 {
		args = args[:i]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

// failed is an error in JSON.
type failed struct {
	Error string `json:"error"`
	Code  int    `json:"exit_code"`
	Means string `json:"means,omitempty"`
}

func failure(err error, code int) failed {
	f := failed{Error: err.Error(), Code: code}
	for _, e := range exits {
		if e.code == code {
			f.Means = e.means
		}
	}
	if f.Error == "" {
		f.Error = f.Means
	}
	return f
}

// JSONFlag adds the flag with which a command's result can be read by a program.
func JSONFlag(c *cobra.Command) *bool { return c.Flags().Bool("json", false, "print JSON") }

// Tell says what a command has done: as JSON if that is wanted, otherwise in words.
func Tell(io *term.Streams, asJSON bool, v any, format string, args ...any) error {
	if asJSON {
		return io.JSON(v)
	}
	io.Say(format, args...)
	return nil
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

  cco run plan.md              hand a plan to an agent, and take what it made
  cco box push plan.md         only hand it over
  cco box pull                 bring the commits back
  cco cruise start "TASK"      carry a task to a reviewed pull request
  cco attention                see what waits for you`)
	asked := c.Flags().BoolP("version", "v", false, "version for cco")
	help := c.RunE
	c.RunE = func(cmd *cobra.Command, args []string) error {
		if *asked { // cobra's own flag would need a template, and bring text/template into every keeper
			a.IO.Printf("cco %s\n", Version())
			return nil
		}
		if shown, err := a.live(cmd.Context(), args); shown || err != nil {
			return err
		}
		return help(cmd, args)
	}
	c.SilenceErrors, c.SilenceUsage = true, true
	c.SetIn(a.IO.In)
	c.SetOut(a.IO.Out)
	c.SetErr(a.IO.Err)
	c.PersistentFlags().BoolVarP(&a.IO.Quiet, "quiet", "q", false, "say only results, warnings and errors")
	c.PersistentFlags().BoolVar(&a.IO.Verbose, "verbose", false, "say more")
	c.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		return app.Usagef("%w%s", err, advice(append(nearFlags(cmd, err), withUnits(err)...), cmd.CommandPath()))
	})
	c.SetHelpFunc(withExits(a.IO, c.HelpFunc()))
	return c
}

// live shows the live list where a person looks at a terminal, if there is anything to list. The companion has it.
func (a *commands) live(ctx context.Context, args []string) (shown bool, err error) {
	terminal := a.IO.InTTY && a.IO.OutTTY && a.Env("TERM") != "" && a.Env("TERM") != "dumb" && a.Env("CI") == ""
	if _, err := os.Stat(filepath.Join(a.Dirs.Data, "cco.db")); len(args) > 0 || !terminal || err != nil {
		return false, nil //nolint:nilerr // nothing was ever recorded
	}
	if a.Live != nil {
		return a.Live(ctx)
	}
	if path, _, err := app.Beside(app.Companion); err != nil || path == "" {
		return false, err
	}
	return true, become()
}

// Group is a command that only holds others: alone it prints its help, with an unknown word it is a usage error.
func Group(use, short, long string) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long,
		Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				return app.Usagef("unknown command %q for %q%s", args[0], cmd.CommandPath(),
					advice(nearCommands(cmd, args[0]), cmd.CommandPath()))
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

// atLeast wants n arguments or more, described by what.
func atLeast(n int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		if len(args) < n {
			return app.Usagef("%s missing, see `%s --help`", what, cmd.CommandPath())
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

// helpWith is cobra's help, and an error where it would show another command's help for a wrong word.
func helpWith(usual func(*cobra.Command, []string)) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		about, rest, err := cmd.Root().Find(args)
		if err == nil && len(rest) > 0 && about.HasSubCommands() {
			err = app.Usagef("unknown command %q for %q%s", rest[0], about.CommandPath(),
				advice(nearCommands(about, rest[0]), about.CommandPath()))
		}
		if err == nil {
			usual(cmd, args)
		}
		return err
	}
}

// ownCommands makes the commands that cobra adds by itself, so that they have help like all others.
func ownCommands(root *cobra.Command) {
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	for _, c := range root.Commands() {
		switch c.Name() {
		case "help":
			c.Example = "  cco help box push\n  cco help settings"
			c.RunE = helpWith(c.Run)
		case "completion":
			for _, shell := range c.Commands() {
				shell.Example = "  cco completion " + shell.Name()
			}
		}
	}
}
