package cli

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// onSessions is the shape of commands that use the hand-off.
func (a *commands) onSessions(do func(context.Context, *session.Service, []string) error) func(*cobra.Command,
	[]string) error {
	return func(cmd *cobra.Command, args []string) error {
		s, done, err := a.Sessions(cmd.Context())
		if err != nil {
			return err
		}
		defer done()
		return do(cmd.Context(), s, args)
	}
}

// onSession is the shape of commands on one session, which users name by its id or the beginning of it.
func (a *commands) onSession(do func(ctx context.Context, s *session.Service, id string) error) func(*cobra.Command,
	[]string) error {
	return a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
		id, err := s.Resolve(ctx, args[0])
		if err != nil {
			return err
		}
		return do(ctx, s, id)
	})
}

func sessionsCommand(a *commands) *cobra.Command {
	var asJSON bool
	var w app.Which
	c := &cobra.Command{
		Use: "sessions", Short: "List sessions, newest first", Args: AtMost(0),
		Long: `List the sessions of the repository that you are in, newest first, or with --all
those of every repository. Outside of a repository all are listed. A reason that is too
long for a line is cut; --json has all of it.`,
		Example: `  cco box sessions
  cco box sessions --all --state done,waiting
  cco box sessions -n 5 --json`,
		RunE: func(cmd *cobra.Command, _ []string) error {
			list, others, err := a.ListSessions(cmd.Context(), w)
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(listed(list, time.Now()))
			}
			a.listSessions(list, others, w)
			return nil
		},
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().BoolVarP(&w.All, "all", "a", false, "those of every repository, not only of this one")
	c.Flags().StringVar(&w.Box, "box", "", "only those of one box")
	c.Flags().StringSliceVar(&w.States, "state", nil,
		"only those in one of these states: "+strings.Join(app.StateNames(), ", "))
	c.Flags().IntVarP(&w.Most, "number", "n", 0, "only the newest `N`")
	return c
}

// listedSession is a session in a listing.
type listedSession struct {
	store.Session
	Took unit.Seconds `json:"took_seconds"`
}

func listed(list []store.Session, now time.Time) []listedSession {
	all := []listedSession{}
	for _, v := range list {
		all = append(all, listedSession{v, unit.Seconds(v.Ran(now))})
	}
	return all
}

func (a *commands) listSessions(list []store.Session, others int, w app.Which) {
	switch {
	case len(list) == 0 && (w.Box != "" || len(w.States) > 0):
		a.IO.Say("no such sessions")
		return
	case len(list) == 0 && others > 0:
		a.IO.Say("no sessions of this repository; `cco box sessions --all` lists %s of others", count(others, "session"))
		return
	case len(list) == 0:
		a.IO.Say("no sessions yet, start one with `cco box push`")
		return
	}
	heading := []string{"ID", "STATE", "BOX", "AGENT", "BRANCH", "AGE", "TOOK", "SPENT", "PLAN"}
	if w.All {
		heading = slices.Insert(heading, 4, "REPOSITORY")
	}
	rows, now := [][]string{heading}, time.Now()
	for _, v := range list {
		row := []string{v.ID, oneLine(stateText(v), maxState), v.Box, v.Agent, v.Branch, Age(now.Sub(v.Created)),
			tookText(v, now), spentText(v.Spent), v.Title}
		if w.All {
			row = slices.Insert(row, 4, filepath.Base(v.Repo))
		}
		rows = append(rows, row)
	}
	a.IO.Lines(rows)
}

// maxState is how much of a state and its reason a listing shows.
const maxState = 60

// tookText is how long a session's agent has worked.
func tookText(v store.Session, now time.Time) string {
	if v.Started.IsZero() {
		return "-"
	}
	return Age(v.Ran(now))
}

// spentText is what a session has cost, in dollars where they are known.
func spentText(s store.Spend) string {
	switch {
	case s.Cost > 0:
		return dollarWords(s.Cost, s.Estimate)
	case s.Tokens() > 0:
		return tokenWords(s.Tokens()) + " tokens"
	}
	return "-"
}

// Age is a short form of how long ago something was.
func Age(d time.Duration) string {
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%ds", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%dm", int(d.Minutes()))
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh", int(d.Hours()))
	default:
		return fmt.Sprintf("%dd", int(d.Hours()/24))
	}
}

func diffCommand(a *commands) *cobra.Command {
	var asJSON bool
	var o session.PullOptions
	c := &cobra.Command{
		Use: "diff ID", Short: "Show what a session changed, before or after it is pulled", Args: exactly(1, "session id"),
		Example: "  cco box diff 3f9c01aa\n  cco box diff 3f9c01aa --json",
		RunE: a.onSession(func(ctx context.Context, s *session.Service, id string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			o.Dir = a.Dir
			o.Bundle, o.Limits = bounds(cfg)
			out := a.IO.Results()
			if asJSON {
				out = io.Discard
			}
			style := git.DiffRaw // can be applied
			if a.IO.OutTTY {
				style = git.DiffPlain // can't drive a terminal
			}
			r, err := s.Looking().Diff(ctx, out, id, style, o)
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(r)
			}
			a.findings(r, cfg.Pull.Policy)
			return nil
		}),
	}
	addInto(c, &o)
	c.Flags().BoolVar(&asJSON, "json", false, "print what a person must know of it as JSON, in place of the patch")
	return c
}

func killCommand(a *commands) *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use: "kill ID", Short: "End a session's agent; its work is kept", Args: exactly(1, "session id"),
		Example: "  cco box kill 3f9c01aa",
		RunE: a.onSession(func(ctx context.Context, s *session.Service, id string) error {
			if err := s.Kill(ctx, id); err != nil {
				return err
			}
			rec, err := s.Get(ctx, id)
			if err != nil {
				return err
			}
			how := "killed"
			if rec.State == store.Done { // it sat at its prompt
				how = "ended"
			}
			return Tell(a.IO, *asJSON, rec, "session %s %s; its work is kept: cco box pull %s%s", id, how, id,
				session.PartialFlag(rec))
		}),
	}
	asJSON = JSONFlag(c)
	return c
}
