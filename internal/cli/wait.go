package cli

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

func waitCommand(a *commands) *cobra.Command {
	var o session.WaitOptions
	var asJSON bool
	c := &cobra.Command{
		Use: "wait ID…", Short: "Wait until sessions have ended", Args: atLeast(1, "session id"),
		Long: `Wait until all of some sessions have ended, or with --any the first of them, and print
a line for each that has. A session that has a question counts as ended: it gets no
further without you. Interrupting the wait changes nothing.

The exit code tells how they ended:

  0    done, or pulled already
  1    one failed or was killed
  2    wrong usage
  3    no such session
  4    none failed, but one waits for your answer or has reached a limit
  5    the time given with --timeout is over
  130  interrupted

With --any it is about those that have ended.`,
		Example: `  cco box wait 3f9c01aa && cco box pull 3f9c01aa
  cco box wait 3f9c 77ab --timeout 1h
  cco box wait --any 3f9c 77ab 01fe --json`,
		PreRunE: func(*cobra.Command, []string) error {
			if o.Timeout < 0 {
				return app.Usagef("--timeout %s: it can't be negative", o.Timeout)
			}
			return nil
		},
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			ids, err := resolveAll(ctx, s, args)
			if err != nil {
				return err
			}
			if !asJSON {
				o.Ended = a.endedLine
			}
			list, err := s.Looking().Wait(ctx, ids, o)
			a.IO.Settle()
			if err == nil {
				err = s.Looking().Outcome(list)
			}
			if asJSON {
				err = errors.Join(a.IO.JSON(some(list)), err)
			}
			return err
		}),
	}
	c.Flags().BoolVar(&o.Any, "any", false, "until the first of them has ended")
	c.Flags().DurationVar(&o.Timeout, "timeout", 0, "wait no longer than this, like 90s or 2h (default: without end)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the sessions that have ended as JSON")
	c.ValidArgsFunction = completeAll(a.sessionIDs)
	return c
}

// resolveAll finds sessions by the beginnings of their ids, each once.
func resolveAll(ctx context.Context, s *session.Service, words []string) (ids []string, err error) {
	seen := map[string]bool{}
	for _, w := range words {
		id, err := s.Resolve(ctx, w)
		if err == nil {
			_, err = s.Get(ctx, id)
		}
		if err != nil {
			return nil, err
		}
		if !seen[id] {
			seen[id] = true
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// endedLine says how a session ended.
func (a *commands) endedLine(v store.Session) {
	took := ""
	if !v.Started.IsZero() && v.Finished.After(v.Started) {
		took = ", " + v.Finished.Sub(v.Started).Round(time.Second).String()
	}
	a.IO.Settle()
	a.IO.Printf("%s  %s  %s%s\n", v.ID, v.Agent, stateText(v), took)
}
