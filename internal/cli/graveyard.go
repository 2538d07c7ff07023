package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/keeping"
)

func graveyardCommand(a *commands) *cobra.Command {
	var asJSON bool
	c := &cobra.Command{
		Use: "graveyard", Short: "List what was removed and is still there", Args: AtMost(0),
		Long: `List what was removed and is still there: the workspaces of sessions as they were, with
side branches, stashes and ignored files, and what agents keep in their homes but for
logins. ` + "`cco box restore ID`" + ` brings it back.

It stays for graveyard.days, and takes at most graveyard.size: what has arrived goes
first, the oldest before others, and what exists nowhere else is never removed for its
size. The disk of a virtual machine that did not start stays until you remove it, and so does
what earlier versions have saved:

  work       a bundle of commits and uncommitted work
  beside     a bundle of side branches, stashes and the like
  workspace  a workspace as the agent left it`,
		Example: "  cco box graveyard\n  cco box graveyard rm 3f9c01aa\n  cco box restore 3f9c01aa",
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, _ []string) error {
			if err := keeping.Of(s).Expire(ctx); err != nil {
				a.IO.Warn("what is old could not be removed: %v", err)
			}
			list, err := keeping.Of(s).Graveyard(ctx, "")
			if err != nil {
				return err
			}
			if asJSON {
				return a.IO.JSON(list)
			}
			if len(list) == 0 {
				a.IO.Say("the graveyard is empty")
				return nil
			}
			rows := [][]string{{"ID", "WHAT", "SIZE", "AGE", "GOES IN", "NOWHERE ELSE", "BRANCH", "PLAN"}}
			for _, g := range list {
				goes := "never"
				if !g.Goes.IsZero() {
					goes = Age(time.Until(g.Goes))
				}
				rows = append(rows, []string{g.Name, g.What, bytesText(g.Bytes), Age(time.Since(g.Buried)), goes,
					safetext.Line(g.Held), g.Branch, g.Title})
			}
			a.IO.Table(rows)
			return nil
		}),
	}
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.AddCommand(graveyardRemoveCommand(a))
	return c
}

func graveyardRemoveCommand(a *commands) *cobra.Command {
	var yes bool
	var asJSON *bool
	c := &cobra.Command{
		Use: "rm ID…", Short: "Remove something from the graveyard now, for good",
		Long: `Remove something from the graveyard now, for good. What was nowhere else is lost then, so
it asks first.`,
		Example: "  cco box graveyard rm 3f9c01aa --yes",
		Args:    atLeast(1, "id"),
		RunE: a.onSessions(func(ctx context.Context, s *session.Service, names []string) error {
			if !yes {
				ok, err := Ask(ctx, a.IO, fmt.Sprintf("Remove %s for good?", strings.Join(names, ", ")))
				if err != nil || !ok {
					return err
				}
			}
			for _, name := range names {
				if err := keeping.Of(s).RemoveGrave(ctx, name); err != nil {
					return err
				}
				a.IO.Say("%s is gone", name)
			}
			if *asJSON {
				return a.IO.JSON(map[string][]string{"removed": names})
			}
			return nil
		}),
	}
	asJSON = JSONFlag(c)
	c.Flags().BoolVarP(&yes, "yes", "y", false, "don't ask")
	c.ValidArgsFunction = completeAll(a.graves)
	return c
}

func restoreCommand(a *commands) *cobra.Command {
	var asJSON, back bool
	var accept []string
	var files string
	var o session.PullOptions
	c := &cobra.Command{
		Use: "restore ID", Short: "Bring back a session from the graveyard", Args: exactly(1, "session id"),
		Long: `Bring back what a removed session had made: its commits, what it left uncommitted, side
branches and stashes. A box without a network publishes them; they are unpacked in
quarantine and examined like everything that comes from a box, and written to refs below
refs/cco/ID-kept/. No branch of yours moves, and the graveyard keeps it.

With --session the session itself is put into a box again, as it was, so that
` + "`cco box push --continue ID`" + ` goes on. With --files its plain files are copied to a new
directory: without links and without anything named like .git. They don't pass the gate.`,
		Example: `  cco box graveyard
  cco box restore 3f9c01aa
  git log refs/cco/3f9c01aa-kept/head
  cco box restore 3f9c01aa --session
  cco box restore 3f9c01aa --files ~/look`,
		RunE: a.onSession(func(ctx context.Context, s *session.Service, id string) error {
			cfg, err := a.Config()
			if err != nil {
				return err
			}
			o.Dir, o.Elsewhere = a.Dir, o.Box != ""
			o.Box = cmp.Or(o.Box, cfg.Box.Name)
			o.Bundle, o.Limits = bounds(cfg)
			if o.Gate, err = a.gateOf(ctx, cfg, accept); err != nil {
				return err
			}
			r, err := a.restore(ctx, s, id, back, files, o)
			a.IO.Settle()
			if asJSON && err == nil {
				return a.IO.JSON(r)
			}
			a.restored(r, cfg.Pull.Policy)
			if held, ok := errors.AsType[*gate.HeldError](err); ok && len(held.Refused) == 0 {
				err = fmt.Errorf("%w\nread what is said of it, then take it with `cco box restore %s %s`", err, id, held.Flag())
			}
			return err
		}),
	}
	c.Flags().StringVar(&o.Into, "into", "", "the repository is the one in `DIR`: a checkout of what was pushed")
	c.Flags().StringVar(&o.Box, "box", "", "the box that looks at it, or takes the session; by default its own")
	c.Flags().BoolVar(&back, "session", false, "put the session itself into a box again")
	c.Flags().StringVar(&files, "files", "", "copy its plain files to `DIR`, a new directory in no repository")
	c.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	c.MarkFlagsMutuallyExclusive("session", "files")
	addAccept(c, &accept)
	c.ValidArgsFunction = completeFirst(a.graves)
	return c
}

func (a *commands) restore(ctx context.Context, s *session.Service, id string, back bool, files string,
	o session.PullOptions) (session.Restored, error) {
	switch {
	case back:
		return keeping.Of(s).RestoreSession(ctx, id, o)
	case files != "":
		if !filepath.IsAbs(files) {
			files = filepath.Join(a.Dir, files)
		}
		return keeping.Of(s).RestoreFiles(ctx, id, files)
	}
	return keeping.Of(s).Restore(ctx, id, o)
}

func (a *commands) restored(r session.Restored, p gate.Policy) {
	for _, ref := range r.Refs {
		a.IO.Printf("%s\n", ref)
	}
	a.findings(r.Gate, p)
	for _, k := range r.Kept {
		a.IO.Say("what a ref held before is kept at %s", k)
	}
	for _, l := range r.Lost {
		a.IO.Warn("not brought, and only in the graveyard: %s", safetext.Text(l))
	}
	for _, dir := range r.Workspaces {
		a.IO.Warn("%s is a workspace as the agent left it, which can't come back as commits: `cco box restore %s --files "+
			"DIR` copies its files", dir, r.ID)
	}
	if r.Box != "" {
		a.IO.Say("session %s is in box %s again: `cco box push --continue %[1]s` goes on, `cco box pull %[1]s` brings its "+
			"work", r.ID, r.Box)
	}
	if r.Files != "" {
		a.IO.Warn("its files are in %s; nobody has examined them: they have not passed the gate", r.Files)
	}
}
