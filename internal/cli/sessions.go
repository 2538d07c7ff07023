package cli

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
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

func sessionsCommand(a *commands) *cobra.Command {
	var asJSON bool
	var boxName string
	c := &cobra.Command{
		Use: "sessions", Short: "List sessions, newest first", Args: AtMost(0),
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, _ []string) error {
			if boxName != "" {
				if _, err := s.Boxes.Record(boxName); err != nil {
					return err
				}
			}
			list, err := s.List(ctx, boxName)
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(some(list))
			}
			if len(list) == 0 {
				a.IO.Say("no sessions yet, start one with `cco box push`")
				return nil
			}
			rows := [][]string{{"ID", "STATE", "BOX", "AGENT", "BRANCH", "AGE", "SPENT", "PLAN"}}
			for _, v := range list {
				rows = append(rows, []string{v.ID, stateText(v), v.Box, v.Agent, v.Branch, age(time.Since(v.Created)),
					spentText(v.Spent), v.Title})
			}
			a.IO.Table(rows)
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.Flags().StringVar(&boxName, "box", "", "only those of one box")
	return c
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

func age(d time.Duration) string {
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
	var o session.PullOptions
	c := &cobra.Command{
		Use: "diff ID", Short: "Show what a session changed, before or after it is pulled", Args: exactly(1, "session id"),
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			o.Dir = a.Dir
			o.Bundle, o.Limits = bounds(cfg)
			style := git.DiffRaw // can be applied
			if a.IO.OutTTY {
				style = git.DiffPlain // can't drive a terminal
			}
			return s.Diff(ctx, a.IO.Results(), args[0], style, o)
		}),
	}
	addInto(c, &o)
	return c
}

func logsCommand(a *commands) *cobra.Command {
	var follow, asJSON bool
	c := &cobra.Command{
		Use: "logs ID", Short: "Show what a session's agent said", Args: exactly(1, "session id"),
		Long: `Show what a session's agent said. Of an agent on a terminal that is what has
scrolled off its screen and what stood on it last, as text. With --follow lines
are shown as they leave the screen, and the screen in the end; to see it as it
is now, use attach.`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			v := &view{a: a, out: a.IO.Out, asJSON: asJSON, keep: maxKept}
			if follow {
				v.keep = 0
			}
			err := s.Events(ctx, args[0], follow, func(e session.Event) error { v.show(e); return nil })
			v.close()
			return err
		}),
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the session ends")
	c.Flags().BoolVar(&asJSON, "json", false, "print the events as JSON lines")
	return c
}

func killCommand(a *commands) *cobra.Command {
	return &cobra.Command{
		Use: "kill ID", Short: "End a session's agent; its work is kept", Args: exactly(1, "session id"),
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			if err := s.Kill(ctx, args[0]); err != nil {
				return err
			}
			a.IO.Say("session %s killed; its work is kept: cco box pull %s --partial", args[0], args[0])
			return nil
		}),
	}
}
