package cruising

import (
	"context"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

func (t *tool) fix() *cobra.Command {
	var comment, accept string
	var asJSON *bool
	c := &cobra.Command{
		Use: "fix [ID]", Short: "Look for comments now, and run a round now", Args: cli.AtMost(1),
		Long: `Look for comments now instead of at the next poll, and run a round if there is
work. With --comment something is said without the forge; with --accept a
stranger's comment, which waits for you, or a remark becomes work.`,
		Example: `  cco cruise fix
  cco cruise fix --comment "use the helper"
  cco cruise fix 77ab01fe --accept 1234`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ev := cruise.Event{Kind: cruise.EventNews}
			switch {
			case comment != "" && accept != "":
				return app.Usagef("give --comment or --accept, not both")
			case strings.TrimSpace(comment) != "":
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
			if err != nil {
				return err
			}
			return t.tell(cmd.Context(), p.ID, *asJSON, "phase %s looks now")
		},
	}
	asJSON = cli.JSONFlag(c)
	c.Flags().StringVar(&comment, "comment", "", "say this to the fixer")
	c.Flags().StringVar(&accept, "accept", "", "let the stranger's comment `ID` through")
	return c
}

// tell says what becomes of a phase, or prints it.
func (t *tool) tell(ctx context.Context, id string, asJSON bool, format string) error {
	if asJSON {
		return t.printStatus(ctx, id, true)
	}
	t.IO.Say(format, id)
	return nil
}

// held checks that a comment is waiting to be accepted.
func (t *tool) held(ctx context.Context, id, comment string) error {
	p, st, err := t.Load(ctx, id)
	if err != nil {
		return err
	}
	waits := slices.Concat(st.Inbox.Held, st.Inbox.Remarks)
	if slices.ContainsFunc(waits, func(c cruise.Comment) bool { return c.ID == comment }) {
		return nil
	}
	return &phases.StateError{ID: p.ID, Why: fmt.Sprintf("no comment %q waits, see `cco cruise status`", comment)}
}

func (t *tool) resume() *cobra.Command {
	var all bool
	var from string
	var rounds int
	var cost float64
	var asJSON bool
	var over, take string
	var who phases.Workers
	c := &cobra.Command{
		Use: "resume [ID]", Short: "Let a phase go on", Args: cli.AtMost(1),
		Long: `Let a phase go on that was paused, that asks, or that has ended at a limit. If it
asks whether commits may be pushed, they are; --all never says that. With
--from a phase whose record is gone is taken up from the phase-state.json of its
workspace, after that was checked against the forge.`,
		Example: `  cco cruise resume
  cco cruise resume 77ab01fe --max-rounds 3
  cco cruise resume --all`,
		RunE: func(cmd *cobra.Command, args []string) error {
			ev := cruise.Event{Kind: cruise.EventResume, MoreRounds: rounds, MoreCost: cost, Over: over,
				Take: cruise.Side(take)}
			switch {
			case take != "" && take != string(cruise.Theirs) && take != string(cruise.Ours):
				return app.Usagef("--take is theirs or ours, not %q", take)
			case take != "" && (all || from != ""):
				return app.Usagef("--take needs one phase that asks about it")
			case from != "" && (all || len(args) > 0), all && len(args) > 0:
				return app.Usagef("give one of ID, --all and --from")
			case over != "" && (all || from != ""):
				return app.Usagef("--over needs one phase that has not ended")
			case from != "":
				return t.adopt(cmd.Context(), from, who, asJSON)
			case all:
				n, err := t.WatchAll(cmd.Context(), &ev)
				if err != nil {
					return err
				}
				return cli.Tell(t.IO, asJSON, map[string]int{"phases": n}, "going on: %s", unit.Count(n, "phase"))
			}
			p, err := t.Resume(cmd.Context(), named(args), ev)
			if err != nil {
				return err
			}
			return t.tell(cmd.Context(), p.ID, asJSON, "phase %s goes on")
		},
	}
	c.Flags().BoolVar(&all, "all", false, "all that were paused or ask, and those whose engine is gone")
	c.Flags().StringVar(&from, "from", "", "a `DIR` with .cruise/phase-state.json")
	c.Flags().StringVar(&who.Planner, "planner", "",
		"the agent that plans or builds, with --from (default: the setting agent.default)")
	c.Flags().StringVar(&who.Reviewer, "reviewer", "", "the agent that reviews, with --from (default: the planner's)")
	c.Flags().StringVar(&who.Fixer, "fixer", "", "the agent that answers findings, with --from (default: the planner's)")
	c.Flags().BoolVar(&asJSON, "json", false, "print the phase that goes on as JSON; with --all how many do")
	c.Flags().StringVar(&over, "over", "", "merge although `NAME` requested changes; that is said on the pull request")
	c.Flags().StringVar(&take, "take", "", "after somebody else pushed: go on from `theirs`, or put ours on top of it")
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
	if url == "" {
		t.IO.Printf("phase %s begins again: it had no pull request yet\n", id)
		return nil
	}
	t.IO.Printf("phase %s goes on with %s\n", id, url)
	return nil
}

func (t *tool) pause() *cobra.Command {
	var asJSON *bool
	c := &cobra.Command{
		Use: "pause [ID]", Short: "Pause a phase", Args: cli.AtMost(1),
		Example: "  cco cruise pause\n  cco cruise pause 77ab01fe",
		Long:    "Pause a phase until `cco cruise resume`. An agent that is at work finishes its turn first.",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := t.Send(cmd.Context(), named(args), cruise.Event{Kind: cruise.EventPause})
			if err != nil {
				return err
			}
			return t.tell(cmd.Context(), p.ID, *asJSON, "phase %s pauses")
		},
	}
	asJSON = cli.JSONFlag(c)
	return c
}

func (t *tool) cleanup() *cobra.Command {
	var force bool
	var asJSON *bool
	c := &cobra.Command{
		Use: "cleanup [ID]", Short: "End a phase and remove its workspace", Args: cli.AtMost(1),
		Long: `End a phase and remove its workspace, and its branch on the forge if that is
merged. It waits for an agent that is at work, and refuses while the workspace
holds work that exists nowhere else. --force ends the agent, moves its work to
the graveyard, and removes the branch in any case.`,
		Example: "  cco cruise cleanup\n  cco cruise cleanup 77ab01fe --force",
		RunE: func(cmd *cobra.Command, args []string) error {
			return t.clean(cmd.Context(), named(args), force, *asJSON)
		},
	}
	asJSON = cli.JSONFlag(c)
	c.Flags().BoolVar(&force, "force", false, "also what is not merged; its work goes to the graveyard")
	return c
}

// cleanupPatience is how long a cleanup waits for an agent before it says how to end it.
const cleanupPatience = 3 * time.Second

// clean asks for the cleanup and waits for it.
func (t *tool) clean(ctx context.Context, id string, force, asJSON bool) error {
	p, err := t.Send(ctx, id, cruise.Event{Kind: cruise.EventCleanup, Force: force})
	if err != nil {
		return err
	}
	begun, said, waits := time.Now(), cruise.Stage(""), !force
	return t.watch(ctx, p.ID, 100*time.Millisecond, func(rec store.Phase, st cruise.State) (over bool, err error) {
		if rec.Ended && rec.Updated.After(p.Updated) {
			if st.Waiting.Trouble != "" {
				return true, &phases.StateError{ID: p.ID, Why: safetext.Text(st.Waiting.Trouble)}
			}
			return true, t.tell(ctx, p.ID, asJSON, "phase %s is cleaned up")
		}
		if st.Stage != said {
			said = st.Stage
			t.IO.Progress("phase %s: %s", p.ID, st.Stage)
		}
		if waits && time.Since(begun) > cleanupPatience {
			waits = false
			t.IO.Say("it waits for what is at work; `cco cruise cleanup %s --force` ends that now", p.ID)
		}
		return false, nil
	})
}

func (t *tool) logs() *cobra.Command {
	var follow bool
	var asJSON *bool
	c := &cobra.Command{
		Use: "logs [ID]", Short: "Show what a phase did", Args: cli.AtMost(1),
		Example: "  cco cruise logs\n  cco cruise logs 77ab01fe --follow",
		RunE: func(cmd *cobra.Command, args []string) error {
			p, _, err := t.Load(cmd.Context(), named(args))
			if err != nil {
				return err
			}
			if follow {
				if err := t.tellUnwatched(cmd.Context()); err != nil {
					return err
				}
			}
			line := logLine(t.IO.Results())
			if *asJSON {
				line = func(l store.Line) { _ = t.IO.JSONLine(l) }
			}
			if err := t.showLog(cmd.Context(), line, p.ID, follow); err != nil || follow {
				return err
			}
			return t.tellUnwatched(cmd.Context())
		},
	}
	asJSON = cli.JSONFlag(c)
	c.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the phase ends or asks")
	return c
}

// logLine writes a line of a log for people.
func logLine(to io.Writer) func(store.Line) {
	return func(l store.Line) { _, _ = fmt.Fprintf(to, "%s  %s\n", when(l.At), safetext.Text(l.Text)) }
}

func (t *tool) showLog(ctx context.Context, show func(store.Line), id string, follow bool) error {
	seen, none := 0, ""
	// The state is read first: the log then has everything that led to it.
	return t.watch(ctx, id, 500*time.Millisecond, func(p store.Phase, st cruise.State) (bool, error) {
		lines, err := t.Log(ctx, id, seen)
		for _, l := range lines {
			show(l)
		}
		seen += len(lines)
		if err != nil || !follow || over(p, st) {
			return true, err
		}
		if now := t.nobody(p); now != none {
			if none = now; now != "" {
				t.IO.Say("%s", cut(now, maxWords))
			}
		}
		return false, nil
	})
}

// over says whether the phase does nothing more by itself.
func over(p store.Phase, st cruise.State) bool { return p.Ended || st.Ask.Question != "" || st.Paused }
