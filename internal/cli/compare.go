package cli

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/compare"
	"github.com/cco-dev/cco/internal/store"
)

func compareCommand(a *commands) *cobra.Command {
	var f pullFlags
	var check, take string
	c := &cobra.Command{
		Use: "compare ID…", Short: "Show what sessions made side by side, and take one", Args: atLeast(1, "session id"),
		Long: `Show side by side what sessions made that have ended: commits, files, lines, what the
gate found, cost and time. With --check a command is run on what each has committed,
in a clone in its box, with no network and a home that is thrown away, and never on
this machine itself; its output is shown where it fails.

--take ID pulls that session, as ` + "`cco box pull`" + ` does, and brings the others to their
refs/cco/ID, where they stay. No branch moves for them.

Exit codes: 0 compared, or taken; 1 one could not be compared; 2 wrong usage; 3 no such
session; 4 one is still at work, or what was to be taken is held up.`,
		Example: `  cco box compare 3f9c 77ab
  cco box compare 3f9c 77ab 01fe --check "go test ./..."
  cco box compare 3f9c 77ab --take 77ab`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			ids, err := resolveAll(ctx, s, args)
			if err != nil {
				return err
			}
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			o, err := a.pullOptions(ctx, cfg, &f)
			if err != nil {
				return err
			}
			if take != "" {
				return a.takeOne(ctx, s, ids, take, o, f.asJSON)
			}
			list, err := a.compare(ctx, s, ids, check, o)
			if f.asJSON {
				return errors.Join(a.IO.JSON(some(list)), err)
			}
			a.sideBySide(list, cfg.Pull.Policy)
			return err
		}),
	}
	c.Flags().StringVar(&check, "check", "", "run `CMD` on the commits of each, in its box")
	c.Flags().StringVar(&take, "take", "", "pull session `ID`, and bring the others to their refs")
	c.Flags().BoolVar(&f.Partial, "partial", false, "with --take: also what a failed or killed agent has committed")
	addInto(c, &f.PullOptions)
	addAccept(c, &f.accept)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	c.MarkFlagsMutuallyExclusive("check", "take")
	c.ValidArgsFunction = completeAll(a.sessionIDs)
	_ = c.RegisterFlagCompletionFunc("take", completeFirst(a.sessionIDs))
	return c
}

// compare gathers what sessions made. One that can't be compared is among them, with the reason, and is an error.
func (a *commands) compare(ctx context.Context, s *session.Service, ids []string, check string,
	o session.PullOptions) (list []compare.Made, err error) {
	var errs []error
	for _, id := range ids {
		c, err := compare.Look(ctx, s, id, o)
		if err == nil && check != "" {
			a.IO.Progress("checking what session %s made", id)
			err = compare.Check(ctx, s, &c, check)
		}
		if ctx.Err() != nil {
			return list, ctx.Err()
		}
		if err != nil {
			c.Session.ID, c.Stopped = id, err.Error()
			errs = append(errs, err)
		}
		list = append(list, c)
	}
	a.IO.Settle()
	return list, errors.Join(errs...)
}

// sideBySide shows sessions in a table, and below it what does not fit in there.
func (a *commands) sideBySide(list []compare.Made, p gate.Policy) {
	checked := slices.ContainsFunc(list, func(c compare.Made) bool { return c.Check != nil })
	head := []string{"ID", "AGENT", "STATE", "COMMITS", "FILES", "LINES"}
	if checked {
		head = append(head, "CHECK")
	}
	rows := [][]string{append(head, "COST", "TIME", "GATE")}
	for _, c := range list {
		if c.Stopped != "" {
			continue
		}
		row := []string{c.Session.ID, c.Session.Agent, string(c.Session.State), fmt.Sprint(c.Commits), fmt.Sprint(c.Files),
			fmt.Sprintf("+%d -%d", c.Added, c.Deleted)}
		if checked {
			row = append(row, checkWord(c.Check))
		}
		took := time.Duration(c.Seconds * float64(time.Second)).Round(time.Second)
		rows = append(rows, append(row, spentText(c.Session.Spent), took.String(), gateWords(c.Gate, p)))
	}
	if len(rows) > 1 {
		a.IO.Table(rows)
	}
	for _, c := range list {
		if c.Check != nil && c.Check.Status != 0 && c.Check.Output != "" {
			a.IO.Say("the check of session %s says:\n%s", c.Session.ID, safetext.Text(c.Check.Output))
		}
	}
}

func checkWord(c *compare.Checked) string {
	switch {
	case c == nil:
		return "-"
	case c.Status == 0:
		return "ok"
	}
	return fmt.Sprintf("exit %d", c.Status)
}

// gateWords names the kinds that were found, those that are held up with a mark.
func gateWords(r gate.Report, p gate.Policy) string {
	var words []string
	for _, g := range r.Groups {
		mark := ""
		if p.Of(g) != gate.Tell {
			mark = "!"
		}
		words = append(words, fmt.Sprintf("%s%s %d", mark, g.Kind, g.Count))
	}
	if len(words) == 0 {
		return "-"
	}
	return strings.Join(words, ", ")
}

// takeOne pulls one session and brings the others to their refs.
func (a *commands) takeOne(ctx context.Context, s *session.Service, ids []string, take string, o session.PullOptions,
	asJSON bool) error {
	id, err := s.Resolve(ctx, take)
	if err != nil {
		return err
	}
	if !slices.Contains(ids, id) {
		return app.Usagef("--take %s: it is none of the sessions that are compared", take)
	}
	for _, other := range ids {
		if v, err := s.Get(ctx, other); err != nil || !session.Settled(v) {
			return errors.Join(err, &session.StateError{ID: other, State: v.State, Why: "it is still at work: wait with `cco " +
				"box wait " + other + "`"})
		}
	}
	r, err := s.HandOff().Pull(ctx, id, o)
	if err = a.tellPulled(r, err, asJSON); err != nil {
		return err
	}
	return a.aside(ctx, s, slices.DeleteFunc(slices.Clone(ids), func(v string) bool { return v == id }), o)
}

// aside brings sessions to their refs, and moves no branch for them.
func (a *commands) aside(ctx context.Context, s *session.Service, ids []string, o session.PullOptions) error {
	o.Stay, o.Partial, o.Only, o.Branch, o.Gate.Show, o.Gate.Ask = true, true, nil, "", nil, nil
	for _, id := range ids {
		v, err := s.Get(ctx, id)
		if err != nil {
			return err
		}
		if v.State == store.Pulled {
			continue
		}
		r, err := s.HandOff().Pull(ctx, id, o)
		a.IO.Settle()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil: // it stays in its box
			first, _, _ := strings.Cut(err.Error(), "\n")
			a.IO.Warn("session %s stays in its box: %s", id, safetext.Text(first))
		case r.Ref != "":
			a.IO.Say("session %s is at %s", id, r.Ref)
		}
	}
	return nil
}
