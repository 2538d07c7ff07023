package session

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/user"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Gate is how a user wants to hear of what came.
type Gate struct {
	Policy gate.Policy
	Accept []gate.Kind
	// Show is called with what came before anything of it is kept.
	Show func(PullResult)
	// Ask wants a yes for one kind; nil if there is nobody to ask. Patch writes all that has changed in its files.
	Ask func(found gate.Group, patch Patch) (bool, error)
}

// Patch writes what was changed in some files, for a terminal.
type Patch func(w io.Writer, style git.DiffStyle, paths ...string) error

// examine examines what came: the commits, and what was left uncommitted. It completes their summary.
func examine(ctx context.Context, repo *git.Repo, base string, o offer, sum *git.Summary) (gate.Report, error) {
	found, err := gate.Examine(ctx, repo, gate.Range{Base: base, Tip: o.head})
	if err != nil {
		return found, err
	}
	if len(sum.Files) == 0 {
		for _, f := range found.Files {
			sum.Count(f)
		}
	}
	if o.wip != "" {
		left, err := gate.Examine(ctx, repo, gate.Range{Base: o.head, Tip: o.wip, Known: []string{base}})
		if err != nil {
			return found, err
		}
		found = found.Merge(left.In("uncommitted"))
	}
	for i := range sum.Commits {
		sum.Commits[i].Subject = found.Mask(sum.Commits[i].Subject)
	}
	return found, nil
}

// consent asks for what needs it, and writes down what was accepted.
func (s HandOff) consent(id, tip string, report gate.Report, g Gate, dir string, patch Patch) error {
	accepted := slices.Clone(g.Accept)
	held := g.Policy.Judge(report, accepted)
	if held != nil && len(held.Refused) == 0 && g.Ask != nil {
		for _, found := range report.Groups {
			if !slices.Contains(held.Asked, found.Kind) {
				continue
			}
			ok, err := g.Ask(found, patch)
			if err != nil {
				return err
			}
			if !ok {
				break
			}
			accepted = append(accepted, found.Kind)
		}
		held = g.Policy.Judge(report, accepted)
	}
	if held != nil {
		return held
	}
	for _, found := range report.Groups { // before anything moves: what can't be written down is not accepted
		if !slices.Contains(accepted, found.Kind) || g.Policy.Of(found) == gate.Tell {
			continue
		}
		if err := s.LogAccepted(id, tip, string(found.Kind), found.Count, dir); err != nil {
			return err
		}
	}
	return nil
}

// LogAccepted writes down that the user has accepted changes of a kind, up to a commit, from a directory.
func (s *Service) LogAccepted(id, tip, kind string, n int, dir string) error {
	return audit.Open(s.Data, s.Now).Add(audit.Entry{Session: id, Kind: audit.Accepted, Rule: kind, Cwd: dir, Who: who(),
		Reason: fmt.Sprintf("%s accepted %d of kind %s at %s, from %s", who(), n, kind, git.Short(tip), dir)})
}

// who is the user at this machine.
func who() string {
	name := "uid " + fmt.Sprint(os.Getuid())
	if u, err := user.Current(); err == nil {
		name = u.Username
	}
	host, _ := os.Hostname()
	return strings.TrimSuffix(name+"@"+host, "@")
}

// pass shows what came and lets it through, if the user's policy does.
func (a *arrival) pass(ctx context.Context) error {
	g, id := a.o.Gate, a.r.Session.ID
	if g.Show != nil {
		g.Show(a.r)
	}
	if a.o.DryRun {
		g.Ask = nil
	}
	err := a.consent(id, a.r.target, a.r.Gate, g, a.o.Dir, a.r.patch(ctx, a.q))
	held, ok := errors.AsType[*gate.HeldError](err)
	if !ok {
		return err
	}
	leave := ""
	if a.r.wip != "" && !a.o.NoWip {
		leave = "; --no-wip leaves out what was not committed"
	}
	if len(held.Refused) > 0 {
		return fmt.Errorf("%w\n%s%s", err, afterRefusal(held, id), leave)
	}
	flag := held.Flag() + a.o.words()
	if a.o.Partial {
		flag = "--partial " + flag
	}
	return fmt.Errorf("%w\nnothing was changed; read what is said of it, then take it with `cco box pull %s %s`%s", err,
		id, flag, leave)
}

// patch writes the changes of some files: on the branch, and what was left uncommitted.
func (r PullResult) patch(ctx context.Context, q *quarantine.Repo) Patch {
	return func(w io.Writer, style git.DiffStyle, paths ...string) error {
		err := q.Inside().Diff(ctx, w, r.Base, r.target, style, paths...)
		if err == nil && r.wip != "" && r.wip != r.target && len(r.Only) == 0 {
			err = q.Inside().Diff(ctx, w, r.head, r.wip, style, paths...)
		}
		return err
	}
}

// afterRefusal says what to do about what is refused. The flag that overrides it is not among it: it is for a person
// who knows that it is no secret, and stands in the help.
func afterRefusal(held *gate.HeldError, id string) string {
	if !slices.Contains(held.Refused, "secrets") {
		return "nothing was changed; your settings refuse it, see pull.refuse in `cco help settings`"
	}
	return fmt.Sprintf("nothing was changed; if it is a real secret, revoke it where it was issued, because the agent "+
		"and its model have seen it, and have it taken out of all commits with `cco box push --continue %s -m \"Take the "+
		"secret out of your commits, not only out of the files\"`; "+
		"if it is none, `cco box pull --help` says how to take it", id)
}

// lookBeside examines what a bundle has beside the branch, each by its own name.
func lookBeside(ctx context.Context, q *quarantine.Repo, found quarantine.Found, known []string) (all gate.Report,
	err error) {
	for _, t := range found.Parts("") {
		r, err := gate.Examine(ctx, q.Inside(), gate.Range{Base: found.Base, Tip: t.OID, Known: known})
		if err != nil {
			return all, err
		}
		all = all.Merge(r.In(safetext.Line(t.Name)))
	}
	return all, nil
}

// side brings one thing that a session left beside its branch.
func (s HandOff) side(ctx context.Context, r PullResult, o PullOptions) (PullResult, error) {
	rec := r.Session
	repo, err := s.Repository(ctx, rec, Where{o.Dir, o.Into})
	if err != nil {
		return r, err
	}
	var back Restored
	publish := func(dir string) error { return s.publishBeside(ctx, rec, o, dir) }
	err = s.ExhumeAll(ctx, repo, rec, o, &back, publish, inside.RestBundle)
	r.Gate = r.Gate.Merge(back.Gate)
	held, ok := errors.AsType[*gate.HeldError](err)
	switch {
	case ok && len(held.Refused) > 0:
		return r, fmt.Errorf("%w\nnothing of %s was brought\n%s", err, git.Quote(o.Side), afterRefusal(held, rec.ID))
	case ok:
		return r, fmt.Errorf("%w\nnothing of %s was brought; take it with `cco box pull %s --side %s %s`", err,
			git.Quote(o.Side), rec.ID, git.Quote(o.Side), held.Flag())
	case err != nil:
		return r, fmt.Errorf("bring %s: %w", git.Quote(o.Side), err)
	case len(back.Refs) == 0:
		return r, &StateError{ID: rec.ID, State: rec.State, Why: "it left nothing called " + git.Quote(o.Side) +
			" beside its branch"}
	}
	r.Side = back.Refs[0]
	return r, nil
}

// publishBeside copies bundles of all that a session has left to a directory.
func (s HandOff) publishBeside(ctx context.Context, rec store.Session, o PullOptions, dir string) error {
	if err := s.removed(ctx, rec); err != nil {
		return err
	}
	lock, err := s.LockSoon(ctx, rec.ID)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err == nil {
		err = s.CopyPublished(ctx, b, d, rec, o, dir, &Restored{})
	}
	if rec.State == store.Pulled {
		err = errors.Join(err, tree.Remove(s.Exchange(rec.ID)))
	}
	return err
}
