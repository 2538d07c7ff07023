// Package tool is the program cco-box: cco's work inside a box or a virtual machine, one subcommand each.
package tool

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"

	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/box/probe"
	"github.com/cco-dev/cco/internal/guest"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/inside/gitwrap"
	"github.com/cco-dev/cco/internal/inside/relay"
	"github.com/cco-dev/cco/internal/inside/script"
)

// Name is the name of the program. cco itself acts as cco-box when it is started under this name.
const Name = "cco-box"

// Is says whether the program was started under a name that this package handles.
func Is(argv0 string) bool {
	return filepath.Base(argv0) == Name || filepath.Base(argv0) == gitwrap.Name
}

// Start runs the program for the name that it was started under: as git it is the wrapper of git.
func Start(argv []string) int {
	if filepath.Base(argv[0]) == gitwrap.Name {
		return gitwrap.Main(argv)
	}
	return Main(argv[1:])
}

// Main runs one subcommand and returns the exit code.
func Main(args []string) int {
	if len(args) == 0 {
		return fail(2, errors.New("it is started by cco, inside a box"))
	}
	switch args[0] {
	case "init":
		return jail.Main()
	case "hold":
		return jail.Hold()
	case "contain":
		if len(args) != 2 {
			return fail(2, errors.New("contain needs one socket"))
		}
		return jail.Contain(args[1])
	case "probe":
		return probe.Main(args[1:], os.Stdin, os.Stdout)
	case "receive":
		return onJob(inside.Receive)
	case "lend":
		return onJob(inside.Lend)
	case "publish":
		return onJob(inside.Publish)
	case "furnish":
		return do(func(ctx context.Context) error { return inside.Furnish(ctx, os.Stdin) })
	case "aside":
		return do(func(ctx context.Context) error { return inside.Aside(ctx, os.Stdin, os.Stdout) })
	case "record":
		if len(args) != 2 {
			return fail(2, errors.New("record needs one pattern"))
		}
		return do(func(ctx context.Context) error { return inside.Record(ctx, args[1], os.Stdout) })
	case "git":
		return gitwrap.Main(args)
	case "guest":
		return guest.Main(args[1:])
	case "relay":
		return relay.Main(args[1:])
	case "script":
		return runScript(args[1:])
	default:
		return fail(2, fmt.Errorf("unknown command %q", args[0]))
	}
}

func fail(code int, err error) int {
	fmt.Fprintf(os.Stderr, "%s: %v\n", Name, err)
	return code
}

// errStopped says that a script's plan was not carried out to its end because somebody stopped it.
var errStopped = errors.New("stopped")

// do carries out one step until it is done, or until a signal.
func do(step func(context.Context) error) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	err := step(ctx)
	switch {
	case err == nil:
		return 0
	case errors.Is(err, inside.ErrLacks):
		return fail(inside.LacksStatus, err)
	case errors.Is(err, errStopped):
		return fail(130, err)
	}
	return fail(1, err)
}

func onJob(step func(context.Context, inside.Job) error) int {
	job, err := inside.ReadJob(os.Stdin)
	if err != nil {
		return fail(2, err)
	}
	return do(func(ctx context.Context) error { return step(ctx, job) })
}

// runScript is the script agent: the plan is its argument, the rest is in the environment that every agent gets.
func runScript(args []string) int {
	workspace, exchange := os.Getenv("CCO_WORKSPACE"), os.Getenv("CCO_EXCHANGE")
	if len(args) != 1 || workspace == "" || exchange == "" {
		return fail(2, errors.New("script needs one plan, CCO_WORKSPACE and CCO_EXCHANGE"))
	}
	return do(func(ctx context.Context) error {
		err := script.Run(ctx, script.Options{
			Plan: args[0], Workspace: filepath.Clean(workspace), Exchange: exchange, Out: os.Stdout, Err: os.Stderr,
			Env: os.Environ(), Leave: os.Getenv("CCO_ROLE") != "",
		})
		if err != nil && ctx.Err() != nil {
			return errStopped
		}
		return err
	})
}
