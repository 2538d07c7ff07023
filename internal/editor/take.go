package editor

import (
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// settle does what is to be done with a turn that has ended.
func (t *talk) settle(ctx context.Context, rec store.Session) (sdk.StopReason, error) {
	switch {
	case rec.State == store.Paused:
		return sdk.StopReasonMaxTokens, t.say(ctx, "%s", t.s.Looking().Failure(rec))
	case rec.State != store.Done && rec.State != store.Pulled:
		return "", t.s.Looking().Failure(rec)
	case t.s.Looking().MadeNothing(rec):
		return sdk.StopReasonEndTurn, nil
	}
	o, err := t.pullOptions(ctx, rec)
	if err != nil {
		return "", err
	}
	o.Stay = o.Stay || t.o.Take == Never
	o.Leave = func(r session.PullResult, can func() error) (bool, error) { return t.leaves(ctx, rec, r, can) }
	return sdk.StopReasonEndTurn, t.pull(ctx, rec, o)
}

// leaves says whether to leave at its ref what came, in which nothing needs a person's consent. There may be only
// something left uncommitted, which comes beside the branch.
func (t *talk) leaves(ctx context.Context, rec store.Session, r session.PullResult, can func() error) (bool, error) {
	found := len(r.Gate.Groups)+len(r.Gate.Notes) > 0
	if t.o.Take == EachTurn && !found || t.o.Take == Ask && len(r.Summary.Commits) == 0 {
		return false, nil
	}
	if no := can(); no != nil {
		return true, t.left(ctx, rec, r, no) // it goes to its ref, with no question
	}
	if err := t.say(ctx, "%s", cameText(r)); err != nil || t.o.Take == EachTurn {
		return true, err
	}
	const yes = "Take it"
	got, err := t.permit(ctx, fmt.Sprintf("Take %s into %s?", came(r), safetext.Line(r.Branch)), yes)
	return got != yes || t.away(ctx, r.Branch), err
}

// came counts what came.
func came(r session.PullResult) string {
	return unit.Count(len(r.Summary.Commits)+r.Summary.More, "commit")
}

// cameText says what came, and what was found in it.
func cameText(r session.PullResult) string {
	const most = 20
	var b strings.Builder
	fmt.Fprintf(&b, "%s, %s changed (+%d −%d):\n", came(r), unit.Count(len(r.Summary.Files), "file"), r.Summary.Added,
		r.Summary.Deleted)
	for _, c := range r.Summary.Commits[:min(len(r.Summary.Commits), most)] {
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
func (t *talk) pullOptions(ctx context.Context, rec store.Session) (o session.PullOptions, err error) {
	cfg, err := t.app.Config()
	if err != nil {
		return o, err
	}
	o = app.PullOptions(cfg, t.app.Dir)
	o.Stay = t.away(ctx, rec.Branch)
	return o, nil
}

// away says that the editor shows another branch.
func (t *talk) away(ctx context.Context, branch string) bool {
	head, err := t.repo.Head(ctx)
	return err != nil || head.Branch != branch
}

// pull brings the work of a turn: into its branch, or to its ref.
func (t *talk) pull(ctx context.Context, rec store.Session, o session.PullOptions) error {
	r, err := t.s.HandOff().Pull(ctx, rec.ID, o)
	var said []string
	switch {
	case err != nil && !r.Moved:
		return t.left(ctx, rec, r, err)
	case r.Moved:
		said = append(said, fmt.Sprintf("%s on %s, now at %s.", came(r), safetext.Line(r.Branch), git.Short(r.Tip)))
	case r.Again:
		said = append(said, "There is nothing new to take.")
	case r.Ref != "":
		said = append(said, fmt.Sprintf("%s at %s, and your branch is as it was. `/take` or `cco box pull %s` brings them "+
			"to %s.", came(r), r.Ref, rec.ID, safetext.Line(r.Branch)))
	}
	if r.WipRef != "" {
		said = append(said, "What the agent left uncommitted is at "+r.WipRef+".")
	}
	said = append(append(said, r.Lost...), r.Trouble...)
	return errors.Join(err, t.say(ctx, "%s", strings.Join(said, "\n\n")))
}

// left says why work was not taken, and where a person gets it further.
func (t *talk) left(ctx context.Context, rec store.Session, r session.PullResult, why error) error {
	if ctx.Err() != nil {
		return why
	}
	found, where := "", ""
	if errors.As(why, new(*gate.HeldError)) {
		found = cameText(r) + "\n"
	}
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
	o, err := t.pullOptions(ctx, rec)
	if err != nil {
		return err
	}
	o.Partial = true // also of a turn that was cancelled
	return t.pull(ctx, rec, o)
}
