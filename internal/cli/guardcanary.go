package cli

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
)

type canaryFlags struct {
	box            string
	forget, asJSON bool
}

func canaryCommand(a *commands) *cobra.Command {
	var f canaryFlags
	c := &cobra.Command{
		Use:   "canary [ID | --box NAME]",
		Short: "Show what moved in your repository while an agent ran that nothing held", Args: AtMost(1),
		Long: `Show what moved in your repository while an agent ran in a worktree box without the
kernel's isolation: refs and configuration, before and after. Where the kernel holds,
in any other box and in a cage, nothing can move, and nothing is compared.

What you did yourself meanwhile is shown too: nothing in a repository says who did
what. It is shown, also when the session is pruned or its box gone, until you take it
as it is with --forget.

The exit code is 7 if anything moved, and 0 if nothing did or there are only more
refs, such as a branch.`,
		Example: `  cco guard canary 3f9c01aa
  cco guard canary --box wt --json
  cco guard canary 3f9c01aa --forget`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			return a.canary(ctx, s, f, first(args))
		}),
	}
	c.Flags().StringVar(&f.box, "box", "", "of the sessions in this box (default: all)")
	c.Flags().BoolVar(&f.forget, "forget", false, "show it once more, and then never again")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

func (a *commands) canary(ctx context.Context, s *session.Service, f canaryFlags, id string) error {
	switch {
	case f.forget && id == "":
		return app.Usagef("--forget goes with a session")
	case id != "" && f.box != "":
		return app.Usagef("give a session or --box, not both")
	case id != "":
		whole, err := s.Resolve(ctx, id)
		if err != nil {
			return err
		}
		id = whole
	}
	reports, err := s.Findings(ctx, id, f.box, f.forget)
	a.IO.Settle()
	switch {
	case f.asJSON:
		err = errors.Join(err, a.IO.JSON(some(reports)))
	case len(reports) == 0 && err == nil:
		a.IO.Say("nothing has moved")
	}
	moved := false
	for _, r := range reports {
		moved = moved || slices.ContainsFunc(r.Moved, func(m canary.Moved) bool { return !m.New() })
		if !f.asJSON {
			a.report(r)
		}
	}
	if err == nil && moved {
		return &statusError{exitDenied}
	}
	return err
}

// report shows everything that moved with an exclamation mark, and what is only new with a plus.
func (a *commands) report(r canary.Report) {
	a.IO.Printf("Session %s in box %s: %s, since %s\n", r.Session, r.Box, r.Count(),
		r.Since.Local().Format("2006-01-02 15:04:05"))
	for _, m := range r.Moved {
		mark, colour := "!", term.Red
		if m.New() {
			mark, colour = "+", term.Green
		}
		a.IO.Printf("%s %s\n", a.IO.Paint(colour, mark), m.Words())
		for _, v := range []struct{ when, value string }{{"was", m.Was}, {"is", m.Is}} {
			if v.value != "" {
				a.IO.Printf("    %s: %s\n", v.when, safetext.Line(strings.TrimSuffix(v.value, "\n")))
			}
		}
	}
}
