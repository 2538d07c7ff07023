package cli

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

type roundFlags struct {
	pushFlags
	yes    bool
	accept []string
	agents []string
}

func runCommand(a *commands) *cobra.Command {
	var f roundFlags
	c := &cobra.Command{
		Use: "run [PLAN | - | -m TEXT]", Short: "Hand a plan to an agent, and take what it made", Args: AtMost(1),
		Long: `Hand a plan to an agent in a box, show its work, and in the end show what came and ask
whether to take it: all of it, or some files; see the difference; go on with a comment;
leave it for later; discard it, into the graveyard. If the branch has moved on meanwhile,
the work is merged, rebased or goes to a branch of its own, as you want. Each step is that of a command of its
own (` + "`cco box push`, `attach`, `diff`, `pull`, `prune`" + `), so that you can go on with
those at any time. The usual box is made or started if need be; of any other you are
asked. --create does so without a question, and --create=false never.

With --agents several agents get the same plan, a session each, and work at the same
time. --max-cost and --max-tokens are one budget for all of them. In the end they stand
side by side, as ` + "`cco box compare`" + ` shows them, and you take one; the others stay at
their refs/cco/ID. Interrupting the wait leaves them at work.

With --yes nothing is asked: what the gate only tells of is taken, and what it holds up
is left (exit 4), unless --accept names its kind. Without a terminal and without --yes
what came is shown and left.

Exit codes: 0 as you wanted it; 1 the agent failed; 2 wrong usage; 3 no such box or
session; 4 nothing was taken: nobody to ask, consent that is missing, a branch that
has diverged, an agent that waits for you; 6 no isolation here; 130 interrupted.
Whatever it is, the session and its work are kept.

` + leavingHelp,
		Example: `  cco run plan.md
  cco run -m "Make the tests pass" --yes
  cco run --continue 3f9c01aa -m "Now the docs"
  cco run plan.md --agents claude,codex,gemini --max-cost 5`,
		PreRunE: func(cmd *cobra.Command, args []string) error {
			if len(f.agents) > 0 && (f.agent != "" || f.model != "" || f.resume != "") {
				return app.Usagef("--agents goes with neither --agent, --model nor --continue")
			}
			return f.check(cmd, args)
		},
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			return a.run(ctx, s, f, args)
		}),
	}
	f.add(c)
	c.Flags().StringSliceVar(&f.agents, "agents", nil, "several `AGENTS`, apart by commas: each gets the plan")
	_ = c.RegisterFlagCompletionFunc("agents", func(*cobra.Command, []string, string) ([]string,
		cobra.ShellCompDirective) {
		return a.agentNames(), cobra.ShellCompDirectiveNoFileComp
	})
	c.Flags().BoolVarP(&f.yes, "yes", "y", false, "don't ask: take what the gate only tells of")
	addAccept(c, &f.accept)
	c.Flags().BoolVar(&f.asJSON, "json", false, "ask nothing, and print what came as JSON in the end")
	return c
}

// round is one `cco run`.
type round struct {
	*commands
	s      *session.Service
	cfg    config.Config
	f      roundFlags
	push   session.PushOptions
	pull   session.PullOptions
	asking bool // there is somebody to ask
}

func (a *commands) run(ctx context.Context, s *session.Service, f roundFlags, args []string) error {
	r := &round{commands: a, s: s, f: f, asking: a.IO.InTTY && a.IO.OutTTY && a.IO.ErrTTY && !f.yes && !f.asJSON}
	var err error
	if r.cfg, err = a.Config(); err != nil {
		return err
	}
	if r.push, err = a.pushOptions(r.cfg, f.pushFlags, args); err != nil {
		return err
	}
	r.pull, err = a.pullOptions(ctx, r.cfg, &pullFlags{accept: f.accept, asJSON: f.asJSON})
	if err != nil {
		return err
	}
	if !r.asking {
		r.pull.Gate.Ask = nil
	}
	if len(f.agents) > 0 {
		return r.several(ctx)
	}
	how := r.showing()
	rec, err := a.Push(ctx, s, r.cfg, r.push, r.making(ctx))
	if err != nil {
		return err
	}
	r.push.Interactive = r.push.Interactive && s.OnTerminal(rec.ID)
	how.interactive = r.push.Interactive
	return r.follow(ctx, rec, how)
}

// making is that of a push, but that the usual box is always made.
func (r *round) making(ctx context.Context) app.Making {
	ask := r.commands.making(ctx, r.f.pushFlags, r.push.Box, r.asking)
	return func(missing error, plain bool) (bool, error) {
		return ask(missing, plain || r.push.Box == r.cfg.Box.Name)
	}
}

func (r *round) showing() showing {
	return showing{since: time.Now(), interactive: r.push.Interactive, bell: r.cfg.Notify.Bell, terminal: r.cfg.Terminal,
		asJSON: r.f.asJSON}
}

// follow shows a run, asks whether to take what it made, and goes on with the next if that is wanted.
func (r *round) follow(ctx context.Context, rec store.Session, how showing) error {
	for {
		now, err := r.shown(ctx, r.s, rec, how)
		if err != nil || now.Live() {
			return err
		}
		how = r.showing()
		again, next, err := r.settle(ctx, now)
		if cut(err) {
			r.kept(now)
		}
		if err != nil || !again {
			return err
		}
		rec = next
	}
}

// settle does what is to be done with a run that has ended. Again says that another has begun.
func (r *round) settle(ctx context.Context, now store.Session) (again bool, next store.Session, err error) {
	switch {
	case now.State == store.Waiting && r.asking:
		return r.answerQuestion(ctx, now)
	case now.State == store.Killed, now.State != store.Done && !r.asking, r.s.Looking().MadeNothing(now):
		return false, now, r.ended(r.s, now, r.f.asJSON)
	case r.asking:
		return r.review(ctx, now)
	case r.f.yes:
		got, err := r.s.HandOff().Pull(ctx, now.ID, r.pull)
		return false, now, r.tellPulled(got, err, r.f.asJSON)
	}
	look := r.pull
	look.DryRun = true
	got, err := r.s.HandOff().Pull(ctx, now.ID, look)
	if err = r.tellPulled(got, err, r.f.asJSON); err != nil {
		return false, now, err
	}
	return false, now, &notTakenError{"because nobody can be asked", "cco box pull " + now.ID + "`, or use `--yes"}
}

// answerQuestion lets the user answer an agent that has a question.
func (r *round) answerQuestion(ctx context.Context, now store.Session) (again bool, next store.Session, err error) {
	r.IO.Fail(r.s.Looking().Failure(now))
	answer, err := r.ask(ctx, "Your answer, or nothing to leave it:")
	if err != nil || answer == "" {
		return false, now, err
	}
	next, _, err = r.s.HandOff().Answer(ctx, now.ID, func(string) (string, error) { return answer, nil }, r.push)
	return err == nil, next, err
}

// kept says how to go on with a session that was left.
func (r *round) kept(now store.Session) {
	r.IO.Settle()
	r.IO.Say("session %s and its work are kept: `cco box pull %[1]s%[2]s` takes it, `cco run --continue %[1]s -m TEXT` "+
		"goes on, `cco box prune %[1]s --force` throws it away", now.ID, session.PartialFlag(now))
}

// notTakenError says that nobody has decided.
type notTakenError struct{ Why, Take string }

func (e *notTakenError) Error() string {
	return "nothing was taken, " + e.Why + ": take it with `" + e.Take + "`"
}

// ask asks for a line. A closed terminal says nothing.
func (a *commands) ask(ctx context.Context, question string) (string, error) {
	a.IO.Settle()
	_, _ = fmt.Fprintf(a.IO.Err, "%s ", question)
	line, err := a.IO.Line(ctx)
	if err != nil && ctx.Err() == nil {
		err = nil
	}
	return line, err
}

// cut is errors that say that the user has interrupted.
func cut(err error) bool { return errors.Is(err, context.Canceled) }
