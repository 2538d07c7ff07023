package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/session"
)

func pruneCommand(a *app) *cobra.Command {
	var yes, asJSON bool
	c := &cobra.Command{
		Use: "prune", Short: "Remove what old sessions have left on disk", Args: atMost(0),
		Long: `Remove the workspaces and exchange directories of sessions whose work has arrived,
after showing them and asking. Work that exists nowhere else is never removed.
With --json they are only listed, unless --yes is given too.`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, _ []string) error {
			free, kept, err := s.Remains(ctx)
			if err != nil {
				return err
			}
			a.io.Settle()
			if asJSON {
				if err := a.io.JSON(map[string][]session.Remains{"free": some(free), "kept": some(kept)}); err != nil || !yes {
					return err
				}
				return s.Prune(ctx, free)
			}
			return a.prune(ctx, s, free, kept, yes)
		}),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

// some makes an empty listing [] in JSON, not null.
func some[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}

func (a *app) prune(ctx context.Context, s *session.Service, free, kept []session.Remains, yes bool) error {
	for _, r := range kept {
		a.io.Say("session %s stays: %s", r.ID, r.Why)
	}
	if len(free) == 0 {
		a.io.Say("nothing to remove")
		return nil
	}
	rows, sum := [][]string{{"ID", "BOX", "SIZE", "WHAT"}}, int64(0)
	for _, r := range free {
		rows, sum = append(rows, []string{r.ID, r.Box, bytesText(r.Bytes), r.What}), sum+r.Bytes
	}
	a.io.Table(rows)
	if !yes {
		ok, err := a.ask(fmt.Sprintf("Remove these %s (%s)?", count(len(free), "session"), bytesText(sum)))
		if err != nil {
			return err
		}
		if !ok {
			a.io.Say("nothing was removed")
			return nil
		}
	}
	if err := s.Prune(ctx, free); err != nil {
		return err
	}
	a.io.Say("removed %s", bytesText(sum))
	return nil
}

// ask wants a yes from a person. Where there is none, the answer is an error that says which flag to use.
func (a *app) ask(question string) (bool, error) {
	if !a.io.InTTY {
		return false, usagef("%s There is no terminal to answer on: use --yes", question)
	}
	_, _ = fmt.Fprintf(a.io.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.io.In).ReadString('\n')
	if err != nil {
		return false, nil //nolint:nilerr // a closed terminal is a no
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
