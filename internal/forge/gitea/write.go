package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// look reads what a post of a kind may be found among. An answer in a thread may stand anywhere.
func (f *Forge) look(ctx context.Context, number int, kind forge.CommentKind) ([]actor.Said, error) {
	switch kind {
	case forge.OnPull:
		return f.issueComments(ctx, number)
	case forge.InReview:
		return f.submitted(ctx, number)
	}
	return f.everything(ctx, number)
}

func (f *Forge) comment(ctx context.Context, number int, body string) (forge.Posted, error) {
	v, _, err := f.author.at(ctx).CreateIssueComment(f.remote.Owner, f.remote.Name, int64(number),
		sdk.CreateIssueCommentOption{Body: body})
	if err != nil {
		return forge.Posted{}, err
	}
	return forge.Posted{ID: forge.ID(forge.OnPull, v.ID), URL: v.HTMLURL}, nil
}

func (f *Forge) readComment(ctx context.Context, id int64) (string, error) {
	c, _, err := f.author.at(ctx).GetIssueComment(f.remote.Owner, f.remote.Name, id)
	if err != nil {
		return "", err
	}
	return c.Body, nil
}

func (f *Forge) edit(ctx context.Context, id int64, body string) error {
	_, _, err := f.author.at(ctx).EditIssueComment(f.remote.Owner, f.remote.Name, id,
		sdk.EditIssueCommentOption{Body: body})
	return err
}

// conversation is the threads of a request.
type conversation struct {
	f       *Forge
	number  int
	reviews []*sdk.PullReview // nil if they must be read again
}

func (f *Forge) talk(ctx context.Context, number int) ([]actor.Said, actor.Talk, error) {
	all, reviews, err := f.read(ctx, number)
	return all, &conversation{f, number, reviews}, err
}

// Answer answers in the thread of a line comment. If the server has no replies, it posts a review of one comment on the
// line where that is now, which Gitea shows as a conversation there; if the line is gone, a comment with a link.
func (t *conversation) Answer(ctx context.Context, to actor.Said, r forge.Record, words string) (forge.Posted, error) {
	if to.Line == 0 {
		posted, err := t.f.comment(ctx, t.number, r.Mark("In reply to "+to.URL+":\n\n"+words))
		posted.Fallback = "said below the request: the line of " + to.ID + " is no longer in the diff"
		return posted, err
	}
	if !t.f.noReplies.Load() {
		posted, err := t.reply(ctx, to, r.Mark(words))
		if err == nil || !refused(err) {
			return posted, err
		}
		t.f.noReplies.Store(true) // up to and with 1.26
	}
	if err := t.f.dropPending(ctx, t.f.author, t.number, t.reviews); err != nil {
		return forge.Posted{}, err
	}
	t.reviews = nil // if it fails, it may leave something
	v, _, err := t.f.author.at(ctx).CreatePullReview(t.f.remote.Owner, t.f.remote.Name, int64(t.number),
		sdk.CreatePullReviewOptions{State: sdk.ReviewStateComment,
			Comments: []sdk.CreatePullReviewComment{onLine(to.Path, to.Line, to.Old, r.Mark(words))}})
	if err != nil {
		return forge.Posted{}, err
	}
	if v.CodeCommentsCount == 0 {
		return forge.Posted{}, &forge.ConflictError{What: fmt.Sprintf("the reply to %s isn't there", to.ID)}
	}
	t.reviews = []*sdk.PullReview{}
	return forge.Posted{ID: forge.ID(forge.InReview, v.ID), URL: v.HTMLURL,
		Fallback: "a review of one comment on the same line: this Gitea knows no replies"}, nil
}

func (t *conversation) reply(ctx context.Context, to actor.Said, body string) (forge.Posted, error) {
	_, id, err := forge.ParseID(to.Thread)
	if err != nil {
		return forge.Posted{}, err
	}
	v, _, err := t.f.author.at(ctx).CreatePullReviewCommentReply(t.f.remote.Owner, t.f.remote.Name, int64(t.number), id,
		sdk.CreatePullReviewCommentReplyOptions{Body: body})
	if err != nil {
		return forge.Posted{}, err
	}
	return forge.Posted{ID: forge.ID(forge.OnLine, v.ID), URL: v.HTMLURL}, nil
}

// Resolve resolves the conversation of a line comment.
func (t *conversation) Resolve(ctx context.Context, of actor.Said) error {
	_, id, err := forge.ParseID(of.Thread)
	if err != nil {
		return err
	}
	_, err = t.f.author.at(wire.AsRead(ctx)).ResolvePullReviewComment(t.f.remote.Owner, t.f.remote.Name, id)
	return err
}

// onLine is a comment on a line, for a review.
func onLine(path string, line int, old bool, body string) sdk.CreatePullReviewComment {
	c := sdk.CreatePullReviewComment{Path: path, Body: body, NewLineNum: int64(line)}
	if old {
		c.NewLineNum, c.OldLineNum = 0, int64(line)
	}
	return c
}

// dropPending removes what an interrupted review has left: Gitea would submit it with the next. It reads the reviews if
// they are not known.
func (f *Forge) dropPending(ctx context.Context, a *account, number int, all []*sdk.PullReview) error {
	me, err := a.Login(ctx)
	if err != nil {
		return err
	}
	if all == nil {
		if all, err = f.reviews(ctx, a, number); err != nil {
			return err
		}
	}
	for _, r := range all {
		if r.State != sdk.ReviewStatePending || r.Reviewer == nil || !strings.EqualFold(r.Reviewer.UserName, me) {
			continue
		}
		_, err := a.at(wire.AsRead(ctx)).DeletePullReview(f.remote.Owner, f.remote.Name, int64(number), r.ID)
		if _, gone := errors.AsType[*forge.NotFoundError](err); err != nil && !gone {
			return fmt.Errorf("remove an unfinished review: %w", err)
		}
	}
	return nil
}

func (f *Forge) head(ctx context.Context, number int) (author, commit string, err error) {
	p, err := f.get(ctx, number)
	if err != nil {
		return "", "", err
	}
	if p.Poster != nil {
		author = p.Poster.UserName
	}
	return author, p.Head.Sha, nil
}

// submitted reads the submitted reviews, without pending ones.
func (f *Forge) submitted(ctx context.Context, number int) ([]actor.Said, error) {
	all, err := f.reviews(ctx, f.reviewer, number)
	var out []actor.Said
	for _, r := range all {
		if r.State != sdk.ReviewStatePending {
			out = append(out, inReview(r, number))
		}
	}
	return out, err
}

func (f *Forge) review(ctx context.Context, d *actor.Draft) (forge.Posted, error) {
	if err := f.dropPending(ctx, f.reviewer, d.Number, nil); err != nil {
		return forge.Posted{}, err
	}
	state := map[forge.Verdict]sdk.ReviewStateType{forge.Comments: sdk.ReviewStateComment,
		forge.Approve: sdk.ReviewStateApproved, forge.RequestChanges: sdk.ReviewStateRequestChanges}[d.Verdict]
	o := sdk.CreatePullReviewOptions{State: state, Body: d.Record.Mark(d.Review.Body), CommitID: d.Head}
	if d.Asked.Verdict != forge.Comments {
		o.CommitID = cmp.Or(d.Asked.Commit, d.Head) // a verdict must never apply to a newer commit
	}
	for _, l := range d.Review.Lines {
		o.Comments = append(o.Comments, onLine(l.Path, l.Line, l.Old, d.Record.Mark(l.Body)))
	}
	v, _, err := f.reviewer.at(ctx).CreatePullReview(f.remote.Owner, f.remote.Name, int64(d.Number), o)
	if err != nil {
		return forge.Posted{}, err
	}
	return forge.Posted{ID: forge.ID(forge.InReview, v.ID), URL: v.HTMLURL}, nil
}

func (f *Forge) remove(ctx context.Context, asReviewer bool, c forge.Comment, id int64) error {
	at := f.author.at(ctx)
	if asReviewer {
		at = f.reviewer.at(ctx)
	}
	if c.Kind == forge.InReview {
		_, err := at.DeletePullReview(f.remote.Owner, f.remote.Name, int64(c.Number), id)
		return err
	}
	_, err := at.DeleteIssueComment(f.remote.Owner, f.remote.Name, id)
	return err
}
