package cli

import (
	"context"
	"slices"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
)

type canaryFlags struct {
	box, worktree string
	anew, asJSON  bool
}

func canaryCommand(a *commands) *cobra.Command {
	var f canaryFlags
	c := &cobra.Command{
		Use:   "canary [ID | --box NAME | --worktree DIR]",
		Short: "Show what changed in your repository while an agent could write to it", Args: AtMost(1),
		Long: `Show what changed in your repository while an agent could write to it: refs, HEAD,
configuration, hooks, index, worktrees, alternates, links and special files anywhere
in .git. It is compared for each session in a worktree box without the kernel's
isolation, and for a linked worktree since ` + "`cco guard install`" + ` or --anew.

What you did yourself meanwhile is shown too: nothing in a repository says who did
what. Below each change are the commands that undo it. cco runs none of them. A change
is shown for as long as it is there, also when the session is pruned or its box gone,
until you take it as it is with --anew.

The exit code is 7 if anything has changed, and 0 if nothing has or things are only
new, such as a branch.`,
		Example: `  cco guard canary 3f9c01aa
  cco guard canary --box wt --json
  cco guard canary 3f9c01aa --anew
  cco guard canary --worktree ../feature --anew`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if f.anew && f.worktree == "" && len(args) == 0 {
				return app.Usagef("--anew goes with a session or --worktree")
			}
			if f.worktree != "" {
				if len(args) > 0 || f.box != "" {
					return app.Usagef("give a session, --box or --worktree")
				}
				return a.worktreeCanary(cmd.Context(), f)
			}
			return a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
				return a.canary(ctx, s, f, args)
			})(cmd, args)
		},
	}
	c.Flags().StringVar(&f.box, "box", "", "of the sessions in this box (default: all, and guarded worktrees)")
	c.Flags().StringVar(&f.worktree, "worktree", "", "of a linked worktree that the guard is around")
	c.Flags().BoolVar(&f.anew, "anew", false, "from now on show only what changes after this")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

func (a *commands) worktreeCanary(ctx context.Context, f canaryFlags) error {
	r, err := a.CompareWorktree(ctx, f.worktree)
	if err != nil {
		return err
	}
	if f.anew {
		if err := a.WatchWorktree(ctx, f.worktree); err != nil {
			return err
		}
	}
	return a.showReports([]canary.Report{r}, f.asJSON)
}

func (a *commands) canary(ctx context.Context, s *session.Service, f canaryFlags, args []string) error {
	id := first(args)
	if id != "" && f.box != "" {
		return app.Usagef("give a session or --box, not both")
	}
	if id != "" {
		whole, err := s.Resolve(ctx, id)
		if err != nil {
			return err
		}
		id = whole
	}
	reports, err := s.Findings(ctx, id, f.box, f.anew)
	a.IO.Settle()
	if err != nil {
		return err
	}
	if id == "" && f.box == "" {
		worktrees, err := a.CompareWorktrees(ctx)
		if err != nil {
			return err
		}
		reports = append(reports, worktrees...)
	}
	return a.showReports(reports, f.asJSON)
}

func (a *commands) showReports(reports []canary.Report, asJSON bool) error {
	reports = slices.DeleteFunc(reports, func(r canary.Report) bool { return len(r.Findings) == 0 })
	switch {
	case asJSON:
		if err := a.IO.JSON(some(reports)); err != nil {
			return err
		}
	case len(reports) == 0:
		a.IO.Say("nothing has changed")
	default:
		for _, r := range reports {
			a.report(r)
		}
	}
	if slices.ContainsFunc(reports, func(r canary.Report) bool { return len(r.Changed()) > 0 }) {
		return &statusError{exitDenied}
	}
	return nil
}

// report shows everything that was found: changes with an exclamation mark, what is only new with a plus.
func (a *commands) report(r canary.Report) {
	if r.Session != "" {
		a.IO.Printf("Session %s in box %s: ", r.Session, r.Box)
	} else {
		a.IO.Printf("Worktree %s: ", safetext.Line(r.Worktree))
	}
	a.IO.Printf("%s, since %s\n", canary.Count(r), r.Since.Local().Format("2006-01-02 15:04:05"))
	for _, f := range r.Findings {
		mark, colour := "!", term.Red
		if f.New {
			mark, colour = "+", term.Green
		}
		a.IO.Printf("%s %s\n", a.IO.Paint(colour, mark), safetext.Text(f.Words))
		for _, line := range f.Detail {
			a.IO.Printf("    %s\n", safetext.Text(line))
		}
		for _, line := range f.Undo {
			a.IO.Printf("    undo: %s\n", safetext.Text(line))
		}
		if f.Kind == canary.KindOdd {
			a.IO.Printf("    run no git in this repository before that is gone: it would write or wait there\n")
		}
	}
}
