package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/session"
)

func graveyardCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "graveyard", Short: "List what was saved when workspaces were removed", Args: AtMost(0),
		Long: `List what was saved when workspaces were removed, or work was pulled:

  work       commits and uncommitted work, removed with --force
  beside     side branches, stashes and what else was beside a session's branch
  workspace  a workspace as the agent left it, where no bundle could be made

` + "`cco box restore ID`" + ` brings it back. Nothing here is ever removed by cco itself.`,
		Example: "  cco box graveyard\n  cco box restore 3f9c01aa",
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, _ []string) error {
			list, err := s.Graveyard(ctx, "")
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(list)
			}
			if len(list) == 0 {
				a.IO.Say("the graveyard is empty")
				return nil
			}
			rows := [][]string{{"ID", "WHAT", "SIZE", "AGE", "BRANCH", "FILE", "PLAN"}}
			for _, g := range list {
				rows = append(rows, []string{g.ID, g.What, bytesText(g.Bytes), Age(time.Since(g.Buried)), g.Branch,
					g.File, g.Title})
			}
			a.IO.Table(rows)
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
}

func restoreCommand(a *commands) *cobra.Command {
	var asJSON bool
	var accept []string
	var o session.PullOptions
	c := &cobra.Command{
		Use: "restore ID", Short: "Bring back what was saved of a session in the graveyard", Args: exactly(1, "session id"),
		Long: `Bring back what was saved of a session in the graveyard: work that was removed with
--force, side branches, stashes and what else was beside its branch. It is unpacked
in quarantine and examined like everything that comes from a box, and written to refs
below refs/cco/ID/ (below refs/cco/ID-kept/ where the session was pulled, because
refs/cco/ID is a ref then). No branch of yours moves, and the graveyard keeps it.`,
		Example: `  cco box graveyard
  cco box restore 3f9c01aa
  git log refs/cco/3f9c01aa/head`,
		RunE: a.onSession(func(ctx context.Context, s *session.Service, id string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			o.Dir = a.Dir
			o.Bundle, o.Limits = bounds(cfg)
			if o.Gate, err = a.gateOf(ctx, cfg, accept); err != nil {
				return err
			}
			r, err := s.Restore(ctx, id, o)
			a.IO.Settle()
			if asJSON && err == nil {
				return a.IO.JSON(r)
			}
			a.restored(r, cfg.Pull.Policy)
			if held, ok := errors.AsType[*gate.HeldError](err); ok && len(held.Refused) == 0 {
				err = fmt.Errorf("%w\nread what is said of it, then take it with `cco box restore %s %s`", err, id, held.Flag())
			}
			return err
		}),
	}
	c.Flags().StringVar(&o.Into, "into", "", "the repository is the one in `DIR`: a checkout of what was pushed")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	addAccept(c, &accept)
	c.ValidArgsFunction = completeFirst(a.graves)
	return c
}

func (a *commands) restored(r session.Restored, p gate.Policy) {
	for _, ref := range r.Refs {
		a.IO.Printf("%s\n", ref)
	}
	a.findings(r.Gate, p)
	for _, k := range r.Kept {
		a.IO.Say("what a ref held before is kept at %s", k)
	}
	for _, dir := range r.Workspaces {
		a.IO.Warn("%s is a workspace as the agent left it: nobody has examined it, and it can't come back as commits", dir)
	}
}
