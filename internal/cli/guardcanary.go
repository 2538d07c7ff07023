package cli

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
)

type canaryFlags struct {
	box                            string
	undo, accept, all, yes, asJSON bool
}

func canaryCommand(a *commands) *cobra.Command {
	var f canaryFlags
	c := &cobra.Command{
		Use: "canary [ID | --box NAME]", Short: "Show what changed in your repository while agents worked in a worktree box",
		Args: AtMost(1),
		Long: `Show what changed in the repository that a worktree box shares with you, while the
agent of a session worked: refs, configuration, hooks, indexes, worktrees. A box in
which something changed that nothing ordinary explains is frozen until you have
undone or accepted it.

--undo puts things back as they were, unless they have changed again since, and
keeps what it takes away: commits below refs/cco/ID-undone/, files below
cco-undone/ID/ in .git. --accept leaves everything as it is.`,
		Example: `  cco guard canary 3f9c01aa
  cco guard canary 3f9c01aa --undo
  cco guard canary --box wt --accept --yes`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			return a.canary(ctx, s, f, args)
		}),
	}
	c.Flags().StringVar(&f.box, "box", "", "of all sessions in this box (default: the setting box.name)")
	c.Flags().BoolVar(&f.undo, "undo", false, "put back what was changed, and open the box")
	c.Flags().BoolVar(&f.accept, "accept", false, "leave what was changed, and open the box")
	c.Flags().BoolVar(&f.all, "all", false, "with --undo: also what looks like your own work")
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "don't ask")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

func (a *commands) canary(ctx context.Context, s *session.Service, f canaryFlags, args []string) error {
	id := ""
	switch {
	case f.undo && f.accept:
		return app.Usagef("give --undo or --accept, not both")
	case f.all && !f.undo:
		return app.Usagef("--all goes with --undo")
	case len(args) == 1 && f.box != "":
		return app.Usagef("give a session or --box, not both")
	case len(args) == 1:
		id = args[0]
	case f.box == "":
		cfg, err := a.Config()
		if err != nil {
			return err
		}
		f.box = cfg.Box.Name
	}
	reports, err := s.Findings(ctx, id, f.box)
	a.IO.Settle()
	if err != nil {
		return err
	}
	if !f.undo && !f.accept {
		return a.showReports(reports, f.asJSON)
	}
	return a.resolve(ctx, s, f, reports)
}

func (a *commands) showReports(reports []canary.Report, asJSON bool) error {
	if asJSON {
		return a.IO.JSON(some(reports))
	}
	if len(reports) == 0 {
		a.IO.Say("nothing was found")
	}
	for _, r := range reports {
		a.report(r)
	}
	return nil
}

// report shows everything that was found.
func (a *commands) report(r canary.Report) {
	state := "not frozen"
	switch {
	case r.Frozen:
		state = a.IO.Paint(term.Red, "frozen")
	case r.Resolved != "":
		state = string(r.Resolved)
	}
	a.IO.Printf("Session %s in box %s: %s\n", r.Session, r.Box, state)
	for _, f := range r.Findings {
		mark, colour := "!", term.Red
		if f.Ordinary {
			mark, colour = "·", term.Dim
		}
		a.IO.Printf("%s %s\n", a.IO.Paint(colour, mark), safetext.Text(f.Words))
		if f.Why != "" {
			a.IO.Printf("    %s\n", safetext.Text(f.Why))
		}
		if len(f.Detail) == 0 && f.Before != "" && f.After != "" {
			a.IO.Printf("    before: %s\n    after:  %s\n", safetext.Text(f.Before), safetext.Text(f.After))
		}
		for _, line := range f.Detail {
			a.IO.Printf("    %s\n", safetext.Text(line))
		}
	}
	if r.Frozen {
		a.IO.Say("put it back with `cco guard canary %s --undo`, or leave it with `cco guard canary %s --accept`",
			r.Session, r.Session)
	}
}

// resolve undoes or accepts what was found, after asking.
func (a *commands) resolve(ctx context.Context, s *session.Service, f canaryFlags, reports []canary.Report) error {
	var open []canary.Report
	for _, r := range reports {
		if r.Frozen || f.all && len(r.Findings) > 0 {
			open = append(open, r)
		}
	}
	if len(open) == 0 {
		a.IO.Say("nothing is frozen")
		return nil
	}
	if !f.yes {
		for _, r := range open {
			a.report(r)
		}
		question := "Leave all this as it is?"
		if f.undo {
			question = "Put all this back as it was?"
		}
		if ok, err := a.ask(question); err != nil || !ok {
			return err
		}
	}
	out := []canary.Outcome{}
	for _, r := range open {
		if f.accept {
			if err := s.AcceptFindings(ctx, r.Session); err != nil {
				return err
			}
			a.IO.Say("session %s: accepted; its own work comes with `cco box pull %s --partial`", r.Session, r.Session)
			continue
		}
		done, err := s.UndoFindings(ctx, r.Session, f.all)
		out = append(out, done...)
		if err != nil {
			return err
		}
	}
	return a.undone(out, f)
}

// undone shows the outcome of each finding. If anything was refused, the box stays frozen.
func (a *commands) undone(out []canary.Outcome, f canaryFlags) error {
	refused := 0
	for _, o := range out {
		if !o.Done {
			refused++
		}
	}
	switch {
	case f.asJSON:
		if err := a.IO.JSON(out); err != nil {
			return err
		}
	case f.undo:
		for _, o := range out {
			switch {
			case !o.Done:
				a.IO.Printf("%s %s: %s\n", a.IO.Paint(term.Red, "left"), o.Finding.What, safetext.Text(o.Refused))
			case o.Kept != "":
				a.IO.Printf("%s %s; what it was is kept at %s\n", a.IO.Paint(term.Green, "undone"), o.Finding.What,
					safetext.Text(o.Kept))
			default:
				a.IO.Printf("%s %s\n", a.IO.Paint(term.Green, "undone"), o.Finding.What)
			}
		}
	}
	if refused > 0 {
		return &refusedError{n: refused}
	}
	return nil
}

// refusedError says that an undo left something as it is.
type refusedError struct{ n int }

func (e *refusedError) Error() string {
	return fmt.Sprintf("%s could not be put back: look at them, mend them by hand and use --accept", count(e.n, "change"))
}

// WrongState marks it as something that the user can change.
func (e *refusedError) WrongState() {}
