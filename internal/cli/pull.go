package cli

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
	"github.com/cco-dev/cco/internal/unit"
)

// pullFlags are those of a pull beside its options.
type pullFlags struct {
	session.PullOptions
	last, all, asJSON bool
	accept            []string
	timeout, interval time.Duration
}

func pullCommand(a *commands) *cobra.Command {
	var f pullFlags
	c := &cobra.Command{
		Use: "pull [ID] [--only PATH…]", Short: "Bring a session's commits back",
		Args: func(cmd *cobra.Command, args []string) error {
			if len(f.Only) > 0 {
				return nil
			}
			return AtMost(1)(cmd, args)
		},
		Long: `Wait for a session to end and bring its commits back: they are unpacked in
quarantine and examined, written to refs/cco/ID, and the branch that was pushed is
fast-forwarded to them. If anything is wrong, nothing changes and what came is kept.

Without an id it is the only session of the branch that is checked out that has
finished; where there are several, they are listed (exit 4). --last takes the newest.
--all brings each to its refs/cco/ID, moves the branch for the first that
fast-forwards, and says of the others which command takes them.

--only PATH makes one commit of what was changed at some paths, on the commit that
was pushed, with trailers that say where it came from. The gate asks about these alone;
all of it is at refs/cco/ID then, on no branch. Paths are taken literally.

What the agent left uncommitted is at refs/cco/ID-wip. Files of it that are larger
than pull.max_blob are named and stay in the box, as all of it does with --no-wip.
A session can be pulled again: what is new in it comes, say after a shell there.
A branch that the agent left beside its own comes with --side NAME.

Before anything moves, what a person must know of it is shown by kind: what runs by
itself, keys and passwords, where packages come from, weakened tests and more. Your
settings pull.refuse, pull.ask and pull.tell say what happens with each kind; by
default secrets are refused, and what runs on install, commit or opening an editor, or
is started by agents, needs your consent. On a terminal each kind is a question, and d
shows the whole patch of its files first. --accept KIND takes a kind where there is no
terminal, and what is refused though you know that it is harmless.

The work goes to the repository that it was pushed from. Where that has moved, or was
a linked worktree that is gone, it goes to the checkout of it that you are in, or to
the one that --into names: a repository is the same if it has the commit that the
session began with.

Exit codes: 0 brought; 1 the agent failed, or what came is refused; 2 wrong usage, or
a path at which nothing was changed; 3 no such session; 4 it can't be taken now: a
branch that has diverged, files in the way, consent that is missing, a session to be
named; 5 the time to wait is over.`,
		Example: `  cco box pull 3f9c01aa
  cco box pull
  cco box pull --last --dry-run
  cco box pull --all
  cco box pull 3f9c --only src/parser docs/parser.md
  cco box pull 3f9c01aa --accept install,commit
  cco box pull 3f9c01aa --branch agents-work --partial`,
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, args []string) error {
			return a.pull(ctx, s, &f, args)
		}),
		PreRunE: func(cmd *cobra.Command, args []string) error { return f.check(cmd, args) },
	}
	c.Flags().DurationVar(&f.timeout, "timeout", 0, "how long to wait for the session to end (default 30m)")
	c.Flags().DurationVar(&f.interval, "interval", 0, "how often to look (default 3s)")
	c.Flags().BoolVar(&f.last, "last", false, "the newest session of this branch")
	c.Flags().BoolVar(&f.all, "all", false, "every finished session of this branch")
	c.Flags().StringArrayVar(&f.Only, "only", nil, "take what was changed at `PATH`, as one commit; several times")
	c.Flags().BoolVar(&f.DryRun, "dry-run", false, "examine and show, change nothing")
	addInto(c, &f.PullOptions)
	c.Flags().StringVar(&f.Branch, "branch", "", "put the commits on branch `NAME` instead of the one that was pushed")
	c.Flags().BoolVar(&f.Partial, "partial", false, "also bring what a failed or killed agent has committed")
	c.Flags().BoolVar(&f.WithWip, "with-wip", false, "also bring what was left uncommitted, as a commit on the branch")
	c.Flags().BoolVar(&f.NoWip, "no-wip", false, "leave what was left uncommitted in the box")
	c.Flags().BoolVar(&f.Keep, "keep", false, "leave the exchange directory in place")
	c.Flags().StringVar(&f.Side, "side", "", "also bring what was left beside the branch by `NAME`, such as a side branch")
	addAccept(c, &f.accept)
	c.Flags().BoolVar(&f.asJSON, "json", false, "print JSON")
	return c
}

// check refuses flags that don't go together. Without an id, or beside it, arguments are paths for --only.
func (f *pullFlags) check(cmd *cobra.Command, args []string) error {
	given := cmd.Flags().Changed
	switch {
	case given("branch") && f.Branch == "":
		return app.Usagef("--branch needs a name")
	case given("into") && f.Into == "":
		return app.Usagef("--into needs a directory")
	case f.WithWip && f.NoWip:
		return app.Usagef("--with-wip and --no-wip exclude each other")
	case f.timeout < 0 || f.interval < 0:
		return app.Usagef("--timeout and --interval can't be negative")
	case f.last && f.all:
		return app.Usagef("--last and --all exclude each other")
	case f.all && (len(args) > 0 || len(f.Only) > 0 || f.Branch != "" || f.Side != ""):
		return app.Usagef("--all goes with no id, and not with --only, --branch or --side")
	case f.last && len(args) > 0 && len(f.Only) == 0:
		return app.Usagef("give an id or --last, not both")
	}
	return nil
}

// pullOptions are what flags and settings say of a pull.
func (a *commands) pullOptions(ctx context.Context, cfg config.Config, f *pullFlags) (o session.PullOptions,
	err error) {
	o = f.PullOptions
	o.Dir = a.Dir
	o.Timeout, o.Interval = pick(f.timeout, cfg.Pull.Timeout), pick(f.interval, cfg.Pull.Interval)
	o.Bundle, o.Limits = bounds(cfg)
	o.Branch = strings.TrimPrefix(o.Branch, "refs/heads/")
	if o.Gate, err = a.gateOf(ctx, cfg, f.accept); err != nil {
		return o, err
	}
	if !f.asJSON {
		o.Gate.Show = func(r session.PullResult) { a.came(r, cfg.Pull.Policy) }
	}
	return o, nil
}

func (a *commands) pull(ctx context.Context, s *session.Service, f *pullFlags, args []string) error {
	cfg, err := a.Config()
	if err != nil {
		return err
	}
	o, err := a.pullOptions(ctx, cfg, f)
	if err != nil {
		return err
	}
	o.Idle = a.endIdle(ctx)
	if f.all {
		o.Idle = nil
		return a.pullAll(ctx, s, o, f.asJSON)
	}
	id := ""
	switch {
	case f.last:
		o.Only = append(o.Only, args...)
		id, err = s.Looking().Last(ctx, a.Dir)
	case len(args) > 0:
		o.Only = append(o.Only, args[1:]...)
		id, err = s.Resolve(ctx, args[0])
	default:
		id, err = s.Looking().TheFinished(ctx, a.Dir, o.Partial)
	}
	if err != nil {
		return a.listed(err, f.asJSON)
	}
	r, err := s.HandOff().Pull(ctx, id, o)
	return a.tellPulled(r, err, f.asJSON)
}

// endIdle ends an agent that was idle before the pull began: who names it wants its work. One that becomes idle
// meanwhile may be waited for by somebody who is about to type, so that a person is asked.
func (a *commands) endIdle(ctx context.Context) func(store.Session, bool) bool {
	return func(rec store.Session, waited bool) bool {
		a.IO.Settle()
		if !waited {
			a.IO.Say("session %s is idle: ending its agent, which sits at its prompt", rec.ID)
			return true
		}
		if !a.IO.InTTY || !a.IO.ErrTTY {
			return false
		}
		line, err := a.ask(ctx, "Its agent is idle: end it and take its work? [y/N]")
		word := strings.ToLower(strings.TrimSpace(line))
		return err == nil && (word == "y" || word == "yes")
	}
}

// listed shows the sessions that may be meant.
func (a *commands) listed(err error, asJSON bool) error {
	which, ok := errors.AsType[*session.ChoiceError](err)
	if !ok || len(which.Finished) == 0 {
		return err
	}
	if asJSON {
		return errors.Join(a.IO.JSON(which.Finished), err)
	}
	rows := [][]string{{"ID", "STATE", "AGENT", "AGE", "PLAN"}}
	for _, v := range which.Finished {
		rows = append(rows, []string{v.ID, string(v.State), v.Agent, Age(time.Since(v.Created)), v.Title})
	}
	a.IO.Table(rows)
	return err
}

// tellPulled says what became of a pull.
func (a *commands) tellPulled(r session.PullResult, err error, asJSON bool) error {
	a.IO.Settle()
	if asJSON && (err == nil || len(r.Gate.Groups) > 0) {
		if r.Stopped = ""; err != nil {
			r.Stopped = err.Error()
		}
		return errors.Join(a.IO.JSON(r), err)
	}
	if err != nil && !r.Moved { // the branch may have moved before a side branch was refused
		return err
	}
	a.pulled(r)
	return err
}

// pullAll brings every finished session of the branch.
func (a *commands) pullAll(ctx context.Context, s *session.Service, o session.PullOptions, asJSON bool) error {
	list, err := s.Looking().Finished(ctx, a.Dir, o.Partial)
	if err != nil {
		return err
	}
	var ids []string
	for _, v := range list {
		ids = append(ids, v.ID)
	}
	all := []session.Brought{}
	err = s.HandOff().PullAll(ctx, ids, o, func(b session.Brought) {
		all = append(all, b)
		if !asJSON {
			a.brought(b)
		}
	})
	a.IO.Settle()
	if asJSON {
		return errors.Join(a.IO.JSON(all), err)
	}
	return err
}

// brought says what became of one of several sessions. What went wrong is said in the end.
func (a *commands) brought(b session.Brought) {
	a.IO.Settle()
	switch {
	case b.Err != nil:
	case b.Next != "":
		a.IO.Printf("Session %s: %s at %s, on no branch: %s\n", b.Session.ID,
			count(len(b.Summary.Commits)+b.Summary.More, "commit"), b.Ref, b.Next)
	default:
		a.pulled(b.PullResult)
	}
}

func addInto(c *cobra.Command, o *session.PullOptions) {
	c.Flags().StringVar(&o.Into, "into", "", "the repository is the one in `DIR`: a checkout of what was pushed")
}

// bounds are the user's limits on what may come out of a box.
func bounds(cfg config.Config) (bundle int64, l quarantine.Limits) {
	return cfg.Pull.MaxBundle, quarantine.Limits{PackBytes: cfg.Pull.MaxBundle, ObjectBytes: cfg.Pull.MaxBlob}
}

func pick(flag, setting time.Duration) time.Duration {
	if flag > 0 {
		return flag
	}
	return setting
}

// came shows what came, before anything of it is kept.
func (a *commands) came(r session.PullResult, p gate.Policy) {
	a.IO.Settle()
	for _, c := range r.Summary.Commits {
		a.IO.Printf("%s %s %s\n", a.IO.Paint(term.Yellow, c.Short), c.Subject, a.IO.Paint(term.Dim, "("+c.Author+")"))
	}
	if r.Summary.More > 0 {
		a.IO.Printf("… and %s\n", count(r.Summary.More, "more commit"))
	}
	a.diffstat(r.Summary)
	for _, h := range r.Halves {
		a.IO.Warn("%s", safetext.Text(h))
	}
	a.findings(r.Gate, p)
}

// pulled shows what became of it.
func (a *commands) pulled(r session.PullResult) {
	id := r.Session.ID
	if r.Again {
		a.IO.Printf("Session %s was pulled already: %s is at %s\n", id, r.Ref, short(r.Tip))
		if r.WipRef != "" {
			a.IO.Say("what it left uncommitted is at %s: `git cherry-pick %s` adds it to your branch", r.WipRef, r.WipRef)
		}
		a.notBrought(r)
		a.besideText(r)
		return
	}
	for _, f := range r.Raw {
		a.IO.Warn("%s was written without the filter that it asks for (LFS or the like): check it out again to have it",
			safetext.Text(f))
	}
	if len(r.Names) > 0 {
		a.IO.Warn("the agent left more beside its branch (%s), which stays in the box: `cco box pull %s --side NAME` brings "+
			"one of it", firstFew(r.Names), id)
	}
	a.notBrought(r)
	for _, k := range r.Kept {
		a.IO.Say("what the ref held before is kept at %s", k)
	}
	if r.WipRef != "" {
		a.IO.Say("uncommitted work is kept at %s", r.WipRef)
	}
	a.besideText(r)
	for _, t := range r.Trouble {
		a.IO.Warn("%s", safetext.Text(t))
	}
	a.conclusion(r)
}

// besideText says where what was asked for beside the branch is.
func (a *commands) besideText(r session.PullResult) {
	if r.Side != "" {
		a.IO.Say("what was left beside the branch is at %s: `git log %s` shows it", r.Side, r.Side)
	}
}

// notBrought says what is only in the box.
func (a *commands) notBrought(r session.PullResult) {
	for _, l := range r.Lost {
		a.IO.Warn("not brought, and only in the box: %s", safetext.Text(l))
	}
	if r.Left {
		a.IO.Say("what was left uncommitted stays in the box; `cco box pull %s` brings it", r.Session.ID)
	}
}

// firstFew is the beginning of a list, short enough for a line.
func firstFew(list []string) string {
	const most = 5
	words := safetext.Text(strings.Join(list[:min(most, len(list))], ", "))
	if len(list) > most {
		words += ", …"
	}
	return words
}

func (a *commands) conclusion(r session.PullResult) {
	n := len(r.Summary.Commits) + r.Summary.More
	took := r.Took.Duration().Round(10 * time.Millisecond)
	switch {
	case n == 0 && r.Tip == r.Base && r.Base != r.Session.Origin:
		a.IO.Printf("Session %s made no further commits.\n", r.Session.ID)
	case n == 0 && r.Tip == r.Base:
		a.IO.Printf("Session %s made no commits.\n", r.Session.ID)
	case r.DryRun && len(r.Only) > 0:
		a.IO.Printf("Session %s would bring %d of %s to %s, as one commit (nothing was changed)\n", r.Session.ID, r.Files,
			count(r.Of, "file"), r.Branch)
	case r.DryRun:
		a.IO.Printf("Session %s would bring %s to %s (nothing was changed)\n", r.Session.ID, count(n, "commit"), r.Branch)
	case !r.Moved:
		a.IO.Printf("Session %s: %s had its %s already (%s)\n", r.Session.ID, r.Branch, count(n, "commit"), took)
	case len(r.Only) > 0:
		a.IO.Printf("Session %s: %d of %s on %s as one commit, now at %s; all of it is at %s (%s)\n", r.Session.ID, r.Files,
			count(r.Of, "file"), r.Branch, short(r.Tip), r.Ref, took)
	default:
		ran := ""
		if !r.Session.Started.IsZero() && r.Session.Finished.After(r.Session.Started) {
			ran = fmt.Sprintf(", the agent worked %s", r.Session.Finished.Sub(r.Session.Started).Round(time.Second))
		}
		a.IO.Printf("Session %s: %s on %s, now at %s (%s%s)\n", r.Session.ID, count(n, "commit"), r.Branch,
			short(r.Tip), took, ran)
	}
}

func (a *commands) diffstat(s git.Summary) {
	const most = 30
	for i, f := range s.Files {
		if i == most {
			a.IO.Printf("  … and %s\n", count(len(s.Files)-most, "more file"))
			break
		}
		if f.Binary {
			a.IO.Printf("  %s (binary)\n", f.Path)
			continue
		}
		a.IO.Printf("  %s %s %s\n", f.Path, a.IO.Paint(term.Green, fmt.Sprintf("+%d", f.Added)),
			a.IO.Paint(term.Red, fmt.Sprintf("-%d", f.Deleted)))
	}
	if len(s.Files) > 0 {
		a.IO.Printf("%s changed, %s, %s\n", count(len(s.Files), "file"), count(s.Added, "insertion"),
			count(s.Deleted, "deletion"))
	}
}

func count(n int, what string) string { return unit.Count(n, what) }

func short(sha string) string { return sha[:min(10, len(sha))] }

// stateText is a state with its reason.
func stateText(v store.Session) string {
	if v.Reason != "" {
		return fmt.Sprintf("%s (%s)", v.State, v.Reason)
	}
	return string(v.State)
}
