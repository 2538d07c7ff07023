package cruising

import (
	"context"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
)

func (t *tool) fix() *cobra.Command {
	var comment, accept string
	c := &cobra.Command{
		Use: "fix [ID]", Short: "Look for comments now, and run a round now", Args: cli.AtMost(1),
		Long: `Look for comments now instead of at the next poll, and run a round if there is
work. With --comment something is said without the forge; with --accept a
stranger's comment, which waits for you, becomes work.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ev := cruise.Event{Kind: cruise.EventNews}
			switch {
			case comment != "" && accept != "":
				return app.Usagef("give --comment or --accept, not both")
			case comment != "":
				ev.Kind, ev.Text = cruise.EventComment, comment
			case accept != "":
				ev.Kind, ev.Text = cruise.EventAccept, accept
				if err := t.held(cmd.Context(), named(args), accept); err != nil {
					return err
				}
			case cmd.Flags().Changed("comment"):
				return app.Usagef("the comment is empty")
			}
			p, err := t.Send(cmd.Context(), named(args), ev)
			if err == nil {
				t.IO.Progress("phase %s looks now", p.ID)
			}
			return err
		},
	}
	c.Flags().StringVar(&comment, "comment", "", "say this to the fixer")
	c.Flags().StringVar(&accept, "accept", "", "let the stranger's comment `ID` through")
	return c
}

// held checks that a comment is waiting to be accepted.
func (t *tool) held(ctx context.Context, id, comment string) error {
	p, st, err := t.Load(ctx, id)
	if err != nil {
		return err
	}
	for _, c := range st.Held {
		if c.ID == comment {
			return nil
		}
	}
	return &phases.StateError{ID: p.ID, Why: fmt.Sprintf("no comment %q waits, see `cco cruise status`", comment)}
}

func (t *tool) resume() *cobra.Command {
	var all bool
	var from string
	var rounds int
	var cost float64
	var asJSON bool
	var over string
	var who phases.Workers
	c := &cobra.Command{
		Use: "resume [ID]", Short: "Let a phase go on", Args: cli.AtMost(1),
		Long: `Let a phase go on that was paused, that asks, or that has ended at a limit. With
--from a phase whose record is gone is taken up from the phase-state.json of its
workspace, after that was checked against the forge.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ev := cruise.Event{Kind: cruise.EventResume, MoreRounds: rounds, MoreCost: cost, Over: over}
			switch {
			case from != "" && (all || len(args) > 0), all && len(args) > 0:
				return app.Usagef("give one of ID, --all and --from")
			case over != "" && (all || from != ""):
				return app.Usagef("--over is about one phase that lives")
			case from != "":
				return t.adopt(cmd.Context(), from, who, asJSON)
			case all:
				n, err := t.SendAll(cmd.Context(), ev)
				if err == nil {
					t.IO.Progress("%d phases go on", n)
				}
				return err
			}
			p, err := t.Send(cmd.Context(), named(args), ev)
			if err == nil {
				t.IO.Progress("phase %s goes on", p.ID)
			}
			return err
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all that were paused or ask, and those whose engine is gone")
	c.Flags().StringVar(&from, "from", "", "a `DIR` with .cruise/phase-state.json")
	c.Flags().StringVar(&who.Planner, "planner", "",
		"the agent that plans or builds, with --from (default: the setting agent.default)")
	c.Flags().StringVar(&who.Reviewer, "reviewer", "", "the agent that reviews, with --from (default: the planner's)")
	c.Flags().StringVar(&who.Fixer, "fixer", "", "the agent that answers findings, with --from (default: the planner's)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the phase that goes on as JSON, with --from")
	c.Flags().StringVar(&over, "over", "", "merge although `NAME` requested changes; that is said on the pull request")
	c.Flags().IntVar(&rounds, "max-rounds", 5, "so many more rounds, for a phase that ran out of them")
	c.Flags().Float64Var(&cost, "max-cost", 0, "so many more dollars, for a phase that ran out of them")
	return c
}

func (t *tool) adopt(ctx context.Context, dir string, who phases.Workers, asJSON bool) error {
	id, url, err := t.Adopt(ctx, dir, who)
	if err != nil {
		return err
	}
	if asJSON {
		return t.printStatus(ctx, id, true)
	}
	t.IO.Printf("phase %s goes on with %s\n", id, url)
	return nil
}

func (t *tool) pause() *cobra.Command {
	return &cobra.Command{
		Use: "pause [ID]", Short: "Let a phase stand still", Args: cli.AtMost(1),
		Long: "Let a phase stand still until `cco cruise resume`. An agent that is at work finishes its turn first.",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := t.Send(cmd.Context(), named(args), cruise.Event{Kind: cruise.EventPause})
			if err == nil {
				t.IO.Progress("phase %s pauses", p.ID)
			}
			return err
		},
	}
}

func (t *tool) cleanup() *cobra.Command {
	var force bool
	c := &cobra.Command{
		Use: "cleanup [ID]", Short: "End a phase and remove its workspace", Args: cli.AtMost(1),
		Long: `End a phase and remove its workspace, and its branch on the forge if that is
merged. It refuses while the workspace holds work that exists nowhere else;
--force saves that in the graveyard, and removes the branch in any case.`,
		RunE: func(cmd *cobra.Command, args []string) error { return t.clean(cmd.Context(), named(args), force) },
	}
	c.Flags().BoolVar(&force, "force", false, "also what is not merged; unsaved work goes to the graveyard")
	return c
}

// clean asks for the cleanup and waits for it.
func (t *tool) clean(ctx context.Context, id string, force bool) error {
	p, err := t.Send(ctx, id, cruise.Event{Kind: cruise.EventCleanup, Force: force})
	if err != nil {
		return err
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for said := cruise.Stage(""); ; {
		rec, st, err := t.Load(ctx, p.ID)
		if err != nil {
			return err
		}
		if rec.Ended && rec.Updated.After(p.Updated) {
			if st.Trouble != "" {
				return &phases.StateError{ID: p.ID, Why: safetext.Text(st.Trouble)}
			}
			t.IO.Progress("phase %s is cleaned up", p.ID)
			return nil
		}
		if st.Stage != said {
			said = st.Stage
			t.IO.Progress("phase %s: %s", p.ID, st.Stage)
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

func (t *tool) logs() *cobra.Command {
	var follow bool
	c := &cobra.Command{
		Use: "logs [ID]", Short: "Show what a phase did", Args: cli.AtMost(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			p, _, err := t.Load(cmd.Context(), named(args))
			if err != nil {
				return err
			}
			return t.showLog(cmd.Context(), p.ID, follow)
		},
	}
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the phase ends or asks")
	return c
}

func (t *tool) showLog(ctx context.Context, id string, follow bool) error {
	tick := time.NewTicker(500 * time.Millisecond)
	defer tick.Stop()
	for seen := 0; ; {
		// Read the state first: the log then has everything that led to it.
		p, st, err := t.Load(ctx, id)
		if err != nil {
			return err
		}
		lines, err := steps.ReadLog(t.Dirs.Data, id, seen)
		if err != nil {
			return err
		}
		for _, l := range lines {
			_, _ = fmt.Fprintf(t.IO.Out, "%s  %s\n", l.At.Local().Format("15:04:05"), safetext.Text(l.Text))
		}
		seen += len(lines)
		if !follow || over(p, st) {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-tick.C:
		}
	}
}

// over says whether the phase does nothing more by itself.
func over(p store.Phase, st cruise.State) bool { return p.Ended || st.Question != "" || st.Paused }
