package editor

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// settle does what is to be done with a turn that has ended.
func (t *talk) settle(ctx context.Context, rec store.Session) (stop string, err error) {
	switch rec.State {
	case store.Done, store.Pulled:
	case store.Waiting:
		return ended, nil
	case store.Paused:
		return exhausted, t.say(ctx, "%s", t.s.Looking().Failure(rec))
	default:
		return "", t.s.Looking().Failure(rec)
	}
	if t.s.Looking().MadeNothing(rec) {
		return ended, nil
	}
	o, err := t.pullOptions(ctx)
	if err != nil {
		return "", err
	}
	if o.Stay = o.Stay || t.o.Take == Never; !o.Stay {
		look := o
		look.DryRun = true
		shown, err := t.s.HandOff().Pull(ctx, rec.ID, look)
		if held := (*gate.HeldError)(nil); errors.As(err, &held) || ctx.Err() != nil {
			return ended, t.left(ctx, rec, shown, err)
		}
		yes := false
		switch found := len(shown.Gate.Groups) + len(shown.Gate.Notes); {
		case err != nil:
			err = t.left(ctx, rec, shown, err) // it goes to its ref, with no question
		case t.o.Take == Ask:
			yes, err = t.offer(ctx, shown)
		case found > 0:
			err = t.say(ctx, "%s", cameText(shown))
		default:
			yes = true
		}
		if err != nil {
			return "", err
		}
		o.Seen, o.Stay = shown.Seen(), !yes
	}
	return ended, t.pull(ctx, rec, o)
}

// offer asks whether to take what came, in which nothing needs a person's consent.
func (t *talk) offer(ctx context.Context, r session.PullResult) (bool, error) {
	n := len(r.Summary.Commits) + r.Summary.More
	if n == 0 {
		return true, nil // there is only something left uncommitted, which comes beside the branch
	}
	if err := t.say(ctx, "%s", cameText(r)); err != nil {
		return false, err
	}
	const yes = "Take it"
	got, err := t.permit(ctx, "take", fmt.Sprintf("Take %s into %s?", commits(n), safetext.Line(r.Branch)), yes)
	return got == yes, err
}

// cameText says what came, and what was found that needs no consent.
func cameText(r session.PullResult) string {
	const most = 20
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s changed (+%d −%d):\n", commits(len(r.Summary.Commits)+r.Summary.More),
		unit.Count(len(r.Summary.Files), "file"), r.Summary.Added, r.Summary.Deleted)
	for i, c := range r.Summary.Commits {
		if i == most {
			b.WriteString("- …\n")
			break
		}
		fmt.Fprintf(&b, "- %s %s\n", c.Short, safetext.Line(c.Subject))
	}
	for _, g := range r.Gate.Groups {
		fmt.Fprintf(&b, "\n%s: %s (%s danger)\n", g.Kind, g.Says, g.Danger)
		for _, f := range g.Findings[:min(len(g.Findings), most)] {
			fmt.Fprintf(&b, "- %s\n", safetext.Line(f.Words()))
		}
	}
	for _, n := range r.Gate.Notes {
		fmt.Fprintf(&b, "\n%s\n", safetext.Line(n))
	}
	return b.String()
}

// pullOptions are those of a pull at which nobody is asked for consent. Where the branch is not the one that the editor
// shows, the work stays at its ref.
func (t *talk) pullOptions(ctx context.Context) (o session.PullOptions, err error) {
	cfg, err := t.app.Config()
	if err != nil {
		return o, err
	}
	o = app.PullOptions(cfg, t.app.Dir)
	rec, err := t.s.Get(ctx, t.id)
	if err != nil {
		return o, err
	}
	repo, err := t.app.OpenRepo(ctx, t.top)
	if err != nil {
		return o, err
	}
	head, err := repo.Head(ctx)
	o.Stay = err != nil || head.Branch != rec.Branch
	return o, nil
}

// pull brings the work of a turn: into its branch, or to its ref.
func (t *talk) pull(ctx context.Context, rec store.Session, o session.PullOptions) error {
	r, err := t.s.HandOff().Pull(ctx, rec.ID, o)
	n := commits(len(r.Summary.Commits) + r.Summary.More)
	switch {
	case err != nil && !r.Moved:
		return t.left(ctx, rec, r, err)
	case o.Stay && r.Ref != "":
		err = t.say(ctx, "%s at %s, and your branch is as it was. `/take` or `cco box pull %s` brings them to %s.", n, r.Ref,
			rec.ID, safetext.Line(r.Branch))
	case r.Moved:
		err = t.say(ctx, "%s on %s, now at %s.", n, safetext.Line(r.Branch), git.Short(r.Tip))
	case r.Again:
		err = t.say(ctx, "There is nothing new to take.")
	}
	if err == nil && r.WipRef != "" {
		err = t.say(ctx, "What the agent left uncommitted is at %s.", r.WipRef)
	}
	for _, words := range append(r.Lost, r.Trouble...) {
		if err == nil {
			err = t.say(ctx, "%s", words)
		}
	}
	return err
}

// left says why work was not taken, and where a person gets it further.
func (t *talk) left(ctx context.Context, rec store.Session, r session.PullResult, why error) error {
	if errors.Is(why, context.Canceled) {
		return why
	}
	found := ""
	if held := (*gate.HeldError)(nil); errors.As(why, &held) {
		found = cameText(r) + "\n"
	}
	where := ""
	if page := t.s.Page(rec.ID); page != "" {
		where = "\nOr decide on the page: " + page
	}
	return t.say(ctx, "%sNothing was taken: %v%s", found, why, where)
}

// take is what the user asks for in so many words: as `cco box pull`, but with nobody there to consent.
func (t *talk) take(ctx context.Context) error {
	rec, err := t.s.Get(ctx, t.id)
	if err != nil {
		return err
	}
	o, err := t.pullOptions(ctx)
	if err != nil {
		return err
	}
	o.Partial = true // also of a turn that was cancelled
	return t.pull(ctx, rec, o)
}

// maxDiff bounds a patch that is shown among words.
const maxDiff = 64 << 10

func (t *talk) diff(ctx context.Context) error {
	o, err := t.pullOptions(ctx)
	if err != nil {
		return err
	}
	var patch bytes.Buffer
	to := &app.Bounded{To: &patch, Left: maxDiff}
	if _, err := t.s.Looking().Diff(ctx, to, t.id, git.DiffPlain, o); err != nil && !to.Over {
		return err
	}
	more := ""
	if to.Over {
		more = fmt.Sprintf("\n`cco box diff %s` shows the rest.", t.id)
	}
	return t.say(ctx, "````diff\n%s\n````%s", strings.ReplaceAll(patch.String(), "````", "'''' "), more)
}

// commits counts them.
func commits(n int) string { return unit.Count(n, "commit") }
