package cli

import (
	"fmt"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

func pullCommand(a *commands) *cobra.Command {
	var o session.PullOptions
	var asJSON bool
	var timeout, interval time.Duration
	c := &cobra.Command{
		Use: "pull ID", Short: "Bring a session's commits back", Args: exactly(1, "session id"),
		Long: `Wait for a session to end and bring its commits back: they are unpacked in
quarantine and examined, written to refs/cco/ID, and the branch that was pushed is
fast-forwarded to them. If anything is wrong, nothing changes and what came is kept.

What the agent left uncommitted is at refs/cco/ID-wip. Files of it that are larger
than pull.max_blob are named and stay in the box, as all of it does with --no-wip.
A session can be pulled again: what is new in it comes, say after a shell there.

The work goes to the repository that it was pushed from. Where that has moved, or was
a linked worktree that is gone, it goes to the checkout of it that you are in, or to
the one that --into names: a repository is the same if it has the commit that the
session began with.`,
		Example: `  cco box pull 3f9c01aa
  cco box pull 3f9c01aa --dry-run
  cco box pull 3f9c01aa --branch agents-work --partial`,
		RunE: func(cmd *cobra.Command, args []string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			o.Timeout, o.Interval = pick(timeout, cfg.Pull.Timeout), pick(interval, cfg.Pull.Interval)
			o.Bundle, o.Limits = bounds(cfg)
			if cmd.Flags().Changed("branch") && o.Branch == "" {
				return app.Usagef("--branch needs a name")
			}
			o.Branch = strings.TrimPrefix(o.Branch, "refs/heads/")
			if cmd.Flags().Changed("into") && o.Into == "" {
				return app.Usagef("--into needs a directory")
			}
			o.Dir = a.Dir
			if o.WithWip && o.NoWip {
				return app.Usagef("--with-wip and --no-wip exclude each other")
			}
			if timeout < 0 || interval < 0 {
				return app.Usagef("--timeout and --interval can't be negative")
			}
			s, done, err := a.Sessions(cmd.Context())
			if err != nil {
				return err
			}
			defer done()
			r, err := s.Pull(cmd.Context(), args[0], o)
			a.IO.Settle()
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(r)
			}
			a.pulled(r)
			return nil
		},
	}
	c.Flags().DurationVar(&timeout, "timeout", 0, "how long to wait for the session to end (default 30m)")
	c.Flags().DurationVar(&interval, "interval", 0, "how often to look (default 3s)")
	c.Flags().BoolVar(&o.DryRun, "dry-run", false, "examine and show, change nothing")
	addInto(c, &o)
	c.Flags().StringVar(&o.Branch, "branch", "", "put the commits on branch `NAME` instead of the one that was pushed")
	c.Flags().BoolVar(&o.Partial, "partial", false, "also bring what a failed or killed agent has committed")
	c.Flags().BoolVar(&o.WithWip, "with-wip", false, "also bring what was left uncommitted, as a commit on the branch")
	c.Flags().BoolVar(&o.NoWip, "no-wip", false, "leave what was left uncommitted in the box")
	c.Flags().BoolVar(&o.Keep, "keep", false, "leave the exchange directory in place")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return c
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

// pulled shows what came.
func (a *commands) pulled(r session.PullResult) {
	id := r.Session.ID
	if r.Again {
		a.IO.Printf("Session %s was pulled already: %s is at %s\n", id, r.Ref, short(r.Tip))
		if r.WipRef != "" {
			a.IO.Say("what it left uncommitted is at %s: `git cherry-pick %s` adds it to your branch", r.WipRef, r.WipRef)
		}
		a.notBrought(r)
		return
	}
	for _, c := range r.Summary.Commits {
		a.IO.Printf("%s %s %s\n", a.IO.Paint(term.Yellow, c.Short), c.Subject, a.IO.Paint(term.Dim, "("+c.Author+")"))
	}
	if r.Summary.More > 0 {
		a.IO.Printf("… and %d more commits\n", r.Summary.More)
	}
	a.diffstat(r.Summary)
	for _, w := range r.Warnings {
		a.IO.Warn("look before you run it: %s (%s)", safetext.Text(w.Path), w.Kind)
	}
	for _, f := range r.Raw {
		a.IO.Warn("%s was written without the filter that it asks for (LFS or the like): check it out again to have it",
			safetext.Text(f))
	}
	if r.Salvaged {
		a.IO.Warn("the agent's repository was gone or broken, so that commits may be missing; its files were kept as " +
			"uncommitted work")
	}
	if len(r.Others) > 0 {
		kept := ""
		if r.Rest != "" {
			kept = "; all of it is saved: `cco box restore " + id + "` brings it"
			if len(r.Lost) > 0 {
				kept = "; what could be saved of it: `cco box restore " + id + "` brings it"
			}
		}
		a.IO.Warn("the agent left more beside its branch (%s)%s", firstFew(r.Others), kept)
	}
	a.notBrought(r)
	for _, k := range r.Kept {
		a.IO.Say("what the ref held before is kept at %s", k)
	}
	if r.WipRef != "" {
		a.IO.Say("uncommitted work is kept at %s", r.WipRef)
	}
	for _, t := range r.Trouble {
		a.IO.Warn("%s", safetext.Text(t))
	}
	a.conclusion(r)
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
	took := r.Took.Round(10 * time.Millisecond)
	switch {
	case n == 0 && r.Tip == r.Base && r.Base != r.Session.Origin:
		a.IO.Printf("Session %s made no further commits.\n", r.Session.ID)
	case n == 0 && r.Tip == r.Base:
		a.IO.Printf("Session %s made no commits.\n", r.Session.ID)
	case r.DryRun:
		a.IO.Printf("Session %s would bring %s to %s (nothing was changed)\n", r.Session.ID, count(n, "commit"), r.Branch)
	case !r.Moved:
		a.IO.Printf("Session %s: %s had its %s already (%s)\n", r.Session.ID, r.Branch, count(n, "commit"), took)
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
			a.IO.Printf("  … and %d more files\n", len(s.Files)-most)
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

func count(n int, what string) string { return counted(n, what, what+"s") }

func counted(n int, one, more string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, more)
}

func short(sha string) string { return sha[:min(10, len(sha))] }

// stateText is a state with its reason.
func stateText(v store.Session) string {
	if v.Reason != "" {
		return fmt.Sprintf("%s (%s)", v.State, v.Reason)
	}
	return string(v.State)
}
