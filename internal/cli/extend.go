package cli

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"syscall"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

// Extension adds commands that need heavy libraries: the engine of phases, the clients of forges. They are linked into
// cco-cruise alone, because every start of cco would pay for them.
type Extension func(Kit) []*cobra.Command

// Kit is what the commands of an extension are wired to.
type Kit struct{ a *app }

// Streams are the process's own.
func (k Kit) Streams() *term.Streams { return k.a.io }

// Env reads a variable.
func (k Kit) Env(name string) string { return k.a.env(name) }

// Home is the user's home directory, Data cco's own, and Dir where the command was given.
func (k Kit) Home() string { return k.a.home }

// Data is where cco keeps what it knows.
func (k Kit) Data() string { return k.a.dirs.Data }

// Dir is where the command was given.
func (k Kit) Dir() string { return k.a.cwd }

// Config reads the settings that hold here.
func (k Kit) Config() (config.Config, error) { return k.a.config() }

// Sessions gives the hand-off, whose store stays open until done is called.
func (k Kit) Sessions(ctx context.Context) (s *session.Service, done func(), err error) {
	return k.a.sessions(ctx)
}

// RunOptions are the settings of an agent's run.
func (k Kit) RunOptions(cfg config.Config) session.PushOptions { return k.a.runOptions(cfg) }

// CreateBox makes sure of a box, as `push --create` does.
func (k Kit) CreateBox(ctx context.Context, name string, cfg config.Config) error {
	_, err := k.a.create(ctx, name, cfg)
	return err
}

// Model is the way to an agent's model from the host itself.
func (k Kit) Model(ctx context.Context, rec store.Session) (broker.Upstream, error) {
	s, done, err := k.a.sessions(ctx)
	if err != nil {
		return broker.Upstream{}, err
	}
	defer done()
	b, _, err := s.Boxes.Find(rec.Box)
	if err != nil {
		return broker.Upstream{}, err
	}
	c, err := k.a.door(ctx, rec, b)
	if err != nil {
		return broker.Upstream{}, err
	}
	if len(c.Models) == 0 {
		return broker.Upstream{}, errors.New("agent " + rec.Agent + " has no model")
	}
	return c.Models[0], nil
}

// Group is a command that only holds others.
func Group(use, short, long string) *cobra.Command { return group(use, short, long) }

// Usage is an error for a command line that makes no sense.
func Usage(format string, args ...any) error { return usagef(format, args...) }

// AtMost allows so many arguments.
func AtMost(n int) cobra.PositionalArgs { return atMost(n) }

// Companion is the program with the heavy commands.
const Companion = "cco-cruise"

// forwarders stand for the commands of the companion where they are not linked in, and become it.
func forwarders() []*cobra.Command {
	var list []*cobra.Command
	for _, c := range []struct{ use, short string }{
		{"cruise", "Carry a task from a plan to a reviewed pull request"},
		{"pr", "Look at the pull request of the current branch, and answer on it"},
	} {
		list = append(list, &cobra.Command{
			Use: c.use, Short: c.short, DisableFlagParsing: true,
			RunE: func(*cobra.Command, []string) error { return become() },
		})
	}
	return list
}

// become replaces this process by the companion, with the same arguments.
func become() error {
	path, self, err := beside(Companion)
	if err != nil {
		return err
	}
	if path == "" {
		return errors.New(Companion + " is not beside " + filepath.Base(self) +
			": install cco as a whole, with `make install`")
	}
	return syscall.Exec(path, append([]string{path}, os.Args[1:]...), os.Environ())
}
