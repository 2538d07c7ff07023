package cli

import (
	"bufio"
	"context"
	"fmt"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/session"
)

func pruneCommand(a *commands) *cobra.Command {
	var yes, asJSON, force bool
	c := &cobra.Command{
		Use: "prune", Short: "Remove what old sessions have left on disk", Args: AtMost(0),
		Long: `Remove the workspaces and exchange directories of sessions whose work has arrived,
after showing them and asking. Work that was not pulled stays; side branches,
stashes and the like are saved in the graveyard first, see ` + "`cco box graveyard`" + `.
Ignored files are not saved. With --force work that was not pulled or can't be
saved goes to the graveyard too. With --json they are only listed, unless --yes is
given too.`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, _ []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			free, kept, err := s.Remains(ctx, force)
			if err != nil {
				return err
			}
			a.IO.Settle()
			if asJSON {
				if err := a.IO.JSON(map[string][]session.Remains{"free": some(free), "kept": some(kept)}); err != nil || !yes {
					return err
				}
				_, err := s.Prune(ctx, free, cfg.Pull.MaxBundle)
				return err
			}
			return a.prune(ctx, s, free, kept, yes, cfg.Pull.MaxBundle)
		}),
	}
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	c.Flags().BoolVar(&force, "force", false, "also what was not pulled or can't be saved; it goes to the graveyard")
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

func (a *commands) prune(ctx context.Context, s *session.Service, free, kept []session.Remains, yes bool,
	limit int64) error {
	for _, r := range kept {
		a.IO.Say("session %s stays: %s", r.ID, r.Why)
	}
	if len(free) == 0 {
		a.IO.Say("nothing to remove")
		return nil
	}
	rows, sum := [][]string{{"ID", "BOX", "SIZE", "WHAT"}}, int64(0)
	var ignored session.Ignored
	for _, r := range free {
		rows, sum = append(rows, []string{r.ID, r.Box, bytesText(r.Bytes), r.What}), sum+r.Bytes
		ignored = ignored.Plus(r.Ignored)
	}
	a.IO.Table(rows)
	a.unkept(ignored)
	if !yes {
		ok, err := a.ask(fmt.Sprintf("Remove these %s (%s)?", count(len(free), "session"), bytesText(sum)))
		if err != nil {
			return err
		}
		if !ok {
			a.IO.Say("nothing was removed")
			return nil
		}
	}
	buried, err := s.Prune(ctx, free, limit)
	a.buried(buried)
	if err != nil {
		return err
	}
	a.IO.Say("removed %s", bytesText(sum))
	return nil
}

// buried says what went to the graveyard.
func (a *commands) buried(files []string) {
	for _, f := range files {
		a.IO.Say("saved %s", f)
	}
}

// unkept says how much is not saved, because git ignores it.
func (a *commands) unkept(n session.Ignored) {
	if n.Files == 0 {
		if n.More {
			a.IO.Say("ignored files are not saved; how many there are could not be found out")
		}
		return
	}
	more := ""
	if n.More {
		more = "more than "
	}
	a.IO.Say("%s%s (%s) are not saved", more, count(n.Files, "ignored file"), bytesText(n.Bytes))
}

// ask wants a yes from a person. Without a terminal it gives an error that says which flag to use.
func (a *commands) ask(question string) (bool, error) {
	if !a.IO.InTTY {
		return false, app.Usagef("%s There is no terminal to answer on: use --yes", question)
	}
	_, _ = fmt.Fprintf(a.IO.Err, "%s [y/N] ", question)
	line, err := bufio.NewReader(a.IO.In).ReadString('\n')
	if err != nil {
		return false, nil // a closed terminal is a no
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
