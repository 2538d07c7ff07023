package cruising

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/app/phases"
	"github.com/cco-dev/cco/internal/cli"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/safetext"
)

// startFlags are what the user asks for.
type startFlags struct {
	cruise.Spec
	file                        string
	create, detach, asJSON, yes bool
}

func (t *tool) start() *cobra.Command {
	var f startFlags
	c := &cobra.Command{
		Use: "start [TASK | --file F]", Short: "Begin a phase", Args: cli.AtMost(1),
		Long: `Begin a phase: a planner writes a plan, a pull request is opened, reviewers of
another model comment on it, and fresh fixers answer, round after round.

The phase is run by an engine of its own, so it goes on when this command ends;
with --detach it ends at once. Otherwise it ends with the phase: with 0 if that
was approved or merged, with 4 if it asks or has reached a limit. cco never
merges unless --merge is given.`,
		Example: `  cco cruise start "Add a --force flag to rm"
  cco cruise start --file task.md --reviewer gemini --max-cost 5 --detach`,
		RunE: func(cmd *cobra.Command, args []string) error { return t.begin(cmd.Context(), f, args) },
	}
	c.Flags().StringVar(&f.file, "file", "", "a file with the task, - for standard input")
	c.Flags().StringVar((*string)(&f.Kind), "phase", string(cruise.Planning), "planning, building or validating")
	c.Flags().StringVar((*string)(&f.Through), "through", "",
		"go on through these phases up to the named one, with an approval between them")
	for _, name := range []string{"phase", "through"} {
		_ = c.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(kindNames(), cobra.ShellCompDirectiveNoFileComp))
	}
	c.Flags().StringVar(&f.Box, "box", "", "the box (default: the setting box.name)")
	c.Flags().StringVar(&f.On, "on", "", "only on a worker with this `LABEL` (the setting worker.labels)")
	c.Flags().BoolVar(&f.create, "create", false, "create or start the box if need be")
	c.Flags().StringVar(&f.Branch, "branch", "", "the branch, instead of one named after the task")
	c.Flags().StringVar(&f.Planner.Agent, "planner", "",
		"the agent that plans or builds (default: the setting agent.default)")
	c.Flags().StringVar(&f.Reviewer.Agent, "reviewer", "", "the agent that reviews (default: the planner's)")
	c.Flags().StringVar(&f.Fixer.Agent, "fixer", "", "the agent that answers findings (default: the planner's)")
	c.Flags().StringVar(&f.Planner.Model, "planner-model", "", "its model")
	c.Flags().StringVar(&f.Reviewer.Model, "reviewer-model", "", "its model")
	c.Flags().StringVar(&f.Fixer.Model, "fixer-model", "", "its model")
	c.Flags().StringSliceVar(&f.Domains, "domains", cruise.Domains(), "what is reviewed, a reviewer for each")
	c.Flags().StringSliceVar(&f.Trusted, "trust", nil,
		"names whose comments are work, beside owners, members and collaborators")
	c.Flags().StringSliceVar(&f.MayChange, "may-change", nil,
		"push changes of `KIND` without asking, such as ci (see `cco box pull --help`)")
	c.Flags().StringVar((*string)(&f.Checks), "checks", string(cruise.ChecksRequired),
		"which checks have to be green: required (where the forge requires none, all that report), all or none")
	c.Flags().StringSliceVar(&f.IgnoreChecks, "ignore-check", nil, "a check that does not count, by `NAME` or with stars")
	c.Flags().IntVar(&f.MaxRounds, "max-rounds", 5, "end after so many rounds")
	c.Flags().Float64Var(&f.MaxCost, "max-cost", 20, "end after so many dollars")
	c.Flags().IntVar(&f.DiffBudget, "diff-budget", 2000, "ask when more lines than this are changed; 0 never asks")
	c.Flags().DurationVar(&f.Timeout, "timeout", 24*time.Hour, "end when nothing has happened for so long")
	c.Flags().BoolVar(&f.Draft, "draft", false, "open the pull request as a draft")
	c.Flags().BoolVar(&f.Ready, "ready", false, "open it as a draft, and mark it as ready when it is approved")
	c.Flags().BoolVar(&f.Merge, "merge", false, "merge when it is approved")
	c.Flags().BoolVar(&f.KeepCurrent, "keep-current", false,
		"merge the target branch whenever it moves, and not only when it conflicts")
	c.Flags().BoolVarP(&f.detach, "detach", "d", false, "return when the phase has begun")
	c.Flags().BoolVar(&f.yes, "yes", false, "publish commits that were never pushed without asking")
	c.Flags().BoolVar(&f.asJSON, "json", false, "print the phase as JSON in the end; its log goes to stderr")
	return c
}

func kindNames() (names []string) {
	for _, k := range cruise.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func (t *tool) begin(ctx context.Context, f startFlags, args []string) error {
	task, err := t.task(f, args)
	if err != nil {
		return err
	}
	cfg, err := t.Config()
	if err != nil {
		return err
	}
	spec, err := t.spec(ctx, f, cfg, task)
	if err != nil {
		return err
	}
	if f.On != "" {
		if err := config.CheckLabel(f.On); err != nil {
			return app.Usagef("--on: %v", err)
		}
	}
	id := ""
	start := func() (begun bool, err error) {
		id, err = t.Start(ctx, spec, func(commits []string) error { return t.mayPublish(ctx, commits, f.yes) })
		return id != "", err
	}
	if f.create {
		err = t.CreateForAgents(ctx, spec.Box, cfg, spec.Repo, spec.Agents(), start)
	} else {
		_, err = start()
	}
	if err != nil {
		return err
	}
	switch {
	case f.detach && f.asJSON:
		return t.printStatus(ctx, id, true)
	case f.detach:
		t.IO.Printf("phase %s has begun\nfollow it with `cco cruise logs -f %[1]s`\n", id)
		if why := t.Waiting()[id]; why != "" {
			t.IO.Say("%s", why)
		}
		return nil
	case !f.asJSON:
		t.IO.Printf("phase %s has begun\n", id)
	}
	return t.follow(ctx, id, f.asJSON)
}

// mayPublish tells the user which commits the pull request will publish that were never pushed, and on a terminal asks.
func (t *tool) mayPublish(ctx context.Context, commits []string, yes bool) error {
	if len(commits) == 0 {
		return nil
	}
	t.IO.Warn("the pull request will publish commits of yours that were never pushed:")
	for _, c := range commits {
		t.IO.Say("  %s", c)
	}
	if yes || !t.IO.InTTY {
		return nil
	}
	if ok, err := cli.Ask(ctx, t.IO, "Publish them?"); err != nil || !ok {
		return cmp.Or(err, error(&phases.StateError{Why: "nothing was started: push them first, or begin at a branch " +
			"that was pushed"}))
	}
	return nil
}

func (t *tool) task(f startFlags, args []string) (string, error) {
	switch {
	case len(args) == 1 && f.file != "":
		return "", app.Usagef("give a task or --file, not both")
	case len(args) == 0 && f.file == "":
		return "", app.Usagef("what is to be done? Give a task or --file F")
	}
	text := ""
	if len(args) == 1 {
		text = args[0]
	} else {
		data, err := t.read(f.file)
		if err != nil {
			return "", err
		}
		text = string(data)
	}
	if text = strings.TrimSpace(text); text == "" {
		return "", app.Usagef("the task is empty")
	}
	if len(text) > 1<<20 {
		return "", app.Usagef("the task is larger than 1 MiB")
	}
	return text, nil
}

func (t *tool) read(file string) ([]byte, error) {
	if file == "-" {
		return readAll(t.IO.In)
	}
	return os.ReadFile(file)
}

func (t *tool) spec(ctx context.Context, f startFlags, cfg config.Config, task string) (cruise.Spec, error) {
	repo, err := t.OpenRepo(ctx, t.Dir)
	if err != nil {
		return cruise.Spec{}, err
	}
	head, err := repo.Head(ctx)
	if err != nil {
		return cruise.Spec{}, err
	}
	s := f.Spec
	s.Task, s.Repo, s.Base = task, repo.Top, head.Commit
	s.Box, s.Draft = cmp.Or(s.Box, cfg.Box.Name), s.Draft || s.Ready
	s.Quiet, s.PollMin, s.PollMax = t.Quiet, cfg.Cruise.PollMin, cfg.Cruise.PollMax
	s.Planner = cruise.Worker{Agent: cmp.Or(s.Planner.Agent, cfg.Agent.Default),
		Model: cmp.Or(s.Planner.Model, cfg.Agent.Model)}
	s.Reviewer.Agent = cmp.Or(s.Reviewer.Agent, s.Planner.Agent)
	s.Fixer = cruise.Worker{Agent: cmp.Or(s.Fixer.Agent, s.Planner.Agent),
		Model: cmp.Or(s.Fixer.Model, s.Planner.Model)}
	return s, phases.CheckSpec(s, t.FindAgent)
}

// follow shows a phase's log until it ends or asks, and fails unless it has reached its aim. Ctrl-C ends the showing,
// and nothing else.
func (t *tool) follow(ctx context.Context, id string, asJSON bool) error {
	to := t.IO.Results()
	if asJSON {
		to = t.IO.Err
	}
	err := t.showLog(ctx, logLine(to), id, true)
	if errors.Is(err, context.Canceled) {
		t.IO.Say("the phase goes on: see `cco cruise status %s`", id)
		return nil
	}
	if err != nil {
		return err
	}
	p, st, err := t.Load(ctx, id)
	if err != nil {
		return err
	}
	if asJSON {
		if err := t.IO.JSON(t.show(p, st)); err != nil {
			return err
		}
	}
	if slices.Contains([]cruise.End{cruise.EndApproved, cruise.EndComplete, cruise.EndMerged}, st.End) && p.Ended {
		return nil
	}
	return &phases.StateError{ID: id, Why: safetext.Text(stageWords(st))}
}
