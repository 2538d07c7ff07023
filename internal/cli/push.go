package cli

import (
	"context"
	"errors"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	xterm "golang.org/x/term"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

type pushFlags struct {
	message, box, agent, model, resume, again string
	headless, detach, asJSON                  bool
	create, createSet                         bool // --create, and that it was given
	depth                                     int
	run                                       runFlags
}

func pushCommand(a *commands) *cobra.Command {
	var f pushFlags
	c := &cobra.Command{
		Use: "push [PLAN | - | -m TEXT]", Short: "Hand a plan to an agent in a box", Args: AtMost(1),
		Long: `Hand a plan, a file, standard input (-) or the text given with -m, to an agent in
a box. Only committed work travels; a plan that isn't committed is sent along as
a file. The agent works in a clone of its own, on the branch that is checked out.
The usual box is made or started if need be where that needs no question (native);
of any other you are asked on a terminal. --create does so without a question, and
--create=false never.

On a terminal the agent runs on one that you watch and can type into. With
--headless, with --detach or without a terminal, its output is printed, and
Ctrl-C asks it to stop and keeps its work; a second one kills it. Typed on a
terminal, one more comes first, which only says so, and Ctrl-] leaves the agent at
work. Closing the terminal changes nothing.

` + leavingHelp,
		Example: `  cco box push docs/plan.md
  cco box push -m "Make the tests pass" --agent claude --detach
  git show other:plan.md | cco box push -
  cco box push --continue 3f9c01aa
  cco box push --again 3f9c01aa --agent codex`,
		PreRunE: f.check,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			return a.push(ctx, s, f, args)
		}),
	}
	f.add(c)
	c.Flags().BoolVarP(&f.detach, "detach", "d", false, "return when the agent has started")
	c.Flags().StringVar(&f.again, "again", "", "the plan and the commits that session `ID` began with, in a new session")
	_ = c.RegisterFlagCompletionFunc("again", completeFirst(a.sessionIDs))
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the session as JSON in the end; the agent's output goes to stderr")
	return c
}

// add adds the flags that every command has which hands a plan over.
func (f *pushFlags) add(c *cobra.Command) {
	c.Flags().StringVarP(&f.message, "message", "m", "", "the plan itself, instead of a file")
	c.Flags().StringVar(&f.box, "box", "", "the box (default "+box.DefaultName+", or the setting box.name)")
	c.Flags().BoolVar(&f.create, "create", false, "create or start the box if need be, or with =false never")
	c.Flags().StringVar(&f.agent, "agent", "", strings.Join(agent.Names(), ", ")+
		", or one of your settings; script carries out a plan's shell fences "+
		"(default: the setting agent.default, or the session's)")
	c.Flags().StringVar(&f.model, "model", "",
		"the model that the agent uses (default: the setting agent.model, or the session's)")
	c.Flags().BoolVar(&f.headless, "headless", false, "print the agent's output instead of giving it a terminal")
	c.Flags().IntVar(&f.depth, "depth", 0, "send only the last `N` commits")
	c.Flags().StringVar(&f.resume, "continue", "", "go on in the workspace of session `ID`")
	f.run.add(c)
}

// check refuses what does not go together.
func (f *pushFlags) check(cmd *cobra.Command, args []string) error {
	f.createSet = cmd.Flags().Changed("create")
	switch {
	case len(args) == 1 && cmd.Flags().Changed("message"):
		return app.Usagef("give a plan or -m TEXT, not both")
	case f.again != "" && (len(args) > 0 || f.message != "" || f.resume != ""):
		return app.Usagef("--again ID has a plan already: give no other, and not --continue")
	case len(args) == 0 && f.message == "" && f.resume == "" && f.again == "":
		return app.Usagef("what is to be done? Give a plan, -m TEXT or --continue ID, see `%s --help`", cmd.CommandPath())
	case f.depth < 0:
		return app.Usagef("--depth %d: a number of commits is needed", f.depth)
	}
	return nil
}

func (a *commands) push(ctx context.Context, s *session.Service, f pushFlags, args []string) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	o, err := a.pushOptions(cfg, f, args)
	if err != nil {
		return err
	}
	shown := showing{
		since: time.Now(), interactive: o.Interactive, detach: f.detach, asJSON: f.asJSON, bell: cfg.Notify.Bell,
		terminal: cfg.Terminal,
	}
	rec, err := a.Push(ctx, s, cfg, o, a.making(ctx, f, o.Box, a.IO.InTTY && a.IO.ErrTTY && !f.asJSON))
	shown.interactive = shown.interactive && s.OnTerminal(rec.ID)
	if err != nil {
		return err
	}
	return a.showRun(ctx, s, rec, shown)
}

// making asks about a box that has to be made or started first, unless a flag has said so or nobody has to be asked.
func (a *commands) making(ctx context.Context, f pushFlags, name string, asking bool) app.Making {
	return func(missing error, plain bool) (bool, error) {
		switch {
		case f.createSet:
			return f.create, nil
		case plain || !asking:
			return plain, nil
		case errors.Is(missing, box.ErrNotRunning):
			return Ask(ctx, a.IO, "Box "+name+" is not running. Start it?")
		}
		return Ask(ctx, a.IO, "There is no box "+name+". Create it?")
	}
}

// showRun follows a run that has just begun, or waits until its agent is at work.
func (a *commands) showRun(ctx context.Context, s *session.Service, rec store.Session, how showing) error {
	if how.detach {
		return a.started(ctx, s, rec, how)
	}
	return a.follow(ctx, s, rec, how)
}

func (a *commands) pushOptions(cfg config.Config, f pushFlags, args []string) (session.PushOptions, error) {
	o := a.RunOptions(cfg)
	o.Message = f.message
	o.Box = cfg.Box.Name
	o.Depth = cfg.Push.Depth
	o.Resume, o.Again = f.resume, f.again
	if len(args) == 1 && args[0] == "-" {
		text, err := session.ReadPlan(a.IO.In)
		if err != nil {
			return o, err
		}
		o.Message = text
	} else if len(args) == 1 {
		o.Plan = args[0]
	}
	if f.resume != "" || f.again != "" {
		o.Agent, o.Model = "", "" // the session's own, unless a flag says otherwise
	}
	if f.again != "" {
		o.Box = ""
	}
	for _, v := range []struct {
		to   *string
		flag string
	}{{&o.Box, f.box}, {&o.Agent, f.agent}, {&o.Model, f.model}} {
		if v.flag != "" {
			*v.to = v.flag
		}
	}
	if f.depth > 0 {
		o.Depth = f.depth
	}
	o.Interactive = a.IO.InTTY && a.IO.OutTTY && !f.headless && !f.detach && !cfg.Push.Headless && !f.asJSON
	if o.Interactive {
		o.Cols, o.Rows = a.size()
	}
	if err := f.run.apply(&o.Run); err != nil {
		return o, err
	}
	own := f.resume == "" && f.again == ""
	if ag, err := a.FindAgent(o.Agent); err == nil && f.model != "" && own && ag.Provider() == "" {
		return o, app.Usagef("--model %s: the agent %s uses no model", f.model, o.Agent)
	}
	return o, nil
}

func (a *commands) size() (cols, rows int) {
	if f, ok := a.IO.Out.(*os.File); ok {
		if w, h, err := xterm.GetSize(int(f.Fd())); err == nil {
			return w, h
		}
	}
	return 80, 24
}

var errEnough = errors.New("enough")

// started returns when the agent is at work, so that earlier errors are still reported here.
func (a *commands) started(ctx context.Context, s *session.Service, rec store.Session, how showing) error {
	err := s.Events(ctx, rec.ID, true, func(e session.Event) error {
		switch {
		case e.At.Before(how.since):
		case e.Kind == session.KindStep:
			a.IO.Progress("%s", safetext.Text(e.Text))
		case e.Kind == session.KindAgent:
			return errEnough
		}
		return nil
	})
	a.IO.Settle()
	if err != nil && !errors.Is(err, errEnough) {
		return err
	}
	now, err := s.Get(context.WithoutCancel(ctx), rec.ID)
	if err != nil {
		return err
	}
	if now.State == store.Failed || now.State == store.Paused {
		return s.Looking().Failure(now)
	}
	if how.asJSON {
		return a.IO.JSON(now)
	}
	a.IO.Printf("Session %s started. Pull with: cco box pull %s\n", rec.ID, rec.ID)
	return nil
}
