package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/term"
)

func pruneCommand(a *commands) *cobra.Command {
	var yes, asJSON bool
	var older string
	var o keeping.PruneOptions
	c := &cobra.Command{
		Use: "prune [ID…]", Short: "Remove what old sessions have left on disk",
		Long: `Remove the workspaces and exchange directories of sessions whose work has arrived,
after showing them and asking. Workspaces move to the graveyard as they are, with side
branches, stashes and ignored files, and stay there for a while: see ` + "`cco box graveyard`" + `.
Work that was not pulled stays, or with --force goes there too. With ids only these
sessions are meant. With --json they are only listed, unless --yes is given too.

A session of which nothing is left is forgotten 30 days after it ended; what it cost
stays on record. With --refs the refs below refs/cco of pulled sessions go too, where
a branch, a tag or a remote has their commits. Others are named and stay.`,
		Example: `  cco box prune
  cco box prune --refs --yes
  cco box prune --older 7d --json
  cco box prune 3f9c01aa --force`,
		RunE: a.withPhases(a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			if o.IDs, err = a.atRest(ctx, s, args); err != nil {
				return err
			}
			o.Dir = a.Dir
			if o.Older, err = parseSpan(older); err != nil {
				return app.Usagef("--older: %w", err)
			}
			free, kept, err := keeping.Of(s).Remains(ctx, o)
			if err != nil {
				return err
			}
			a.IO.Settle()
			if asJSON {
				if err := a.IO.JSON(map[string][]keeping.Remains{"free": some(free), "kept": some(kept)}); err != nil || !yes {
					return err
				}
				_, err := keeping.Of(s).Prune(ctx, free)
				return err
			}
			return a.prune(ctx, s, free, kept, yes, cfg.Graveyard.Days)
		})),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	c.Flags().BoolVar(&o.Refs, "refs", false, "also refs/cco/* of pulled sessions")
	c.Flags().StringVar(&older, "older", "30d", "forget sessions that ended so long ago")
	c.Flags().BoolVar(&o.Force, "force", false, "also what was not pulled; it goes to the graveyard")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.ValidArgsFunction = completeAll(a.sessionIDs)
	return c
}

// atRest finds sessions, of which nothing may be running.
func (a *commands) atRest(ctx context.Context, s *session.Service, words []string) ([]string, error) {
	ids, err := resolveAll(ctx, s, words)
	for _, id := range ids {
		if v, err := s.Get(ctx, id); err != nil || v.Live() {
			return nil, cmp.Or(err, error(&session.StateError{ID: id, State: v.State, Why: "end it first, with `cco box kill " +
				id + "`"}))
		}
	}
	return ids, err
}

// some makes an empty listing [] in JSON, not null.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (a *commands) prune(ctx context.Context, s *session.Service, free, kept []keeping.Remains, yes bool,
	days int) error {
	for _, r := range kept {
		a.IO.Say("%s stays: %s", r.Subject(), r.Why)
	}
	if len(free) == 0 {
		a.IO.Say("nothing to remove")
		return nil
	}
	rows, sum := [][]string{{"ID", "BOX", "SIZE", "WHAT"}}, int64(0)
	for _, r := range free {
		size := bytesText(r.Bytes)
		if r.Least {
			size = "over " + size
		}
		rows, sum = append(rows, []string{r.ID, r.Box, size, r.What}), sum+r.Bytes
	}
	a.IO.Table(rows)
	if !yes {
		ok, err := Ask(ctx, a.IO, fmt.Sprintf("Remove all of this (%s)?", bytesText(sum)))
		if err != nil {
			return err
		}
		if !ok {
			a.IO.Say("nothing was removed")
			return nil
		}
	}
	buried, err := keeping.Of(s).Prune(ctx, free)
	a.buried(buried, days)
	if err != nil {
		return err
	}
	a.IO.Say("removed all of it (%s)", bytesText(sum))
	return nil
}

// buried says what went to the graveyard, and for how long.
func (a *commands) buried(dirs []string, days int) {
	for _, dir := range dirs {
		a.IO.Say("moved to %s", dir)
	}
	if len(dirs) > 0 && days > 0 {
		a.IO.Say("it stays for %s (graveyard.days), see `cco box graveyard`", count(days, "day"))
	}
}

// Ask wants a yes from a person. Without a terminal it gives an error that says which flag to use.
func Ask(ctx context.Context, streams *term.Streams, question string) (bool, error) {
	if !streams.InTTY {
		return false, app.Usagef("%s There is no terminal to answer on: use --yes", question)
	}
	streams.Settle()
	_, _ = fmt.Fprintf(streams.Err, "%s [y/N] ", question)
	line, err := streams.Line(ctx)
	if errors.Is(err, io.EOF) {
		return false, nil // a closed terminal is a no
	}
	if err != nil {
		return false, err
	}
	answer := strings.ToLower(strings.TrimSpace(line))
	return answer == "y" || answer == "yes", nil
}

func bytesText(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/unit, 0
	for f >= unit && i < 3 {
		f, i = f/unit, i+1
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGT"[i])
}
