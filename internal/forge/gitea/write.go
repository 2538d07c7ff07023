package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// postOnce posts something once, as an account of ours. The caller holds f.writing.
func (f *Forge) postOnce(ctx context.Context, a *account, r forge.Record, look func(forge.Record) ([]spoken, error),
	do func(forge.Record) (forge.Posted, error)) (forge.Posted, error) {
	me, err := f.me(ctx, a)
	if err != nil {
		return forge.Posted{}, err
	}
	r.Repo, r.Created = f.remote.String(), f.clock.Now()
	return forge.Once{
		Journal: f.journal,
		Look: func(_ context.Context, r forge.Record) (forge.Posted, bool, error) {
			all, err := look(r)
			for _, c := range all {
				if strings.EqualFold(c.Author, me) && slices.Contains(forge.Markers(c.raw), r.Marker) {
					return forge.Posted{ID: c.ID, URL: c.URL}, true, err
				}
			}
			return forge.Posted{}, false, err
		},
		Do:  func(_ context.Context, r forge.Record) (forge.Posted, error) { return do(r) },
		Now: f.clock.Now, Sleep: f.clock.Sleep,
	}.Say(ctx, r)
}

// Comment comments on a pull request.
func (f *Forge) Comment(ctx context.Context, number int, p forge.Post) (forge.Posted, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	return f.comment(ctx, number, p)
}

func (f *Forge) comment(ctx context.Context, number int, p forge.Post) (forge.Posted, error) {
	posted, err := f.postOnce(ctx, f.author, forge.Record{Key: p.Key, Number: number, Kind: forge.OnPull},
		func(forge.Record) ([]spoken, error) { return f.issueComments(ctx, number) },
		func(r forge.Record) (forge.Posted, error) {
			c, err := f.author.at(ctx)
			if err != nil {
				return forge.Posted{}, err
			}
			v, _, err := c.CreateIssueComment(f.remote.Owner, f.remote.Name, int64(number),
				sdk.CreateIssueCommentOption{Body: r.Mark(p.Body)})
			if err != nil {
				return forge.Posted{}, err
			}
			return forge.Posted{ID: forge.ID(forge.OnPull, v.ID), URL: v.HTMLURL}, nil
		})
	if err != nil {
		return posted, fmt.Errorf("comment on pull request %d: %w", number, err)
	}
	return posted, nil
}

// Reply answers in the thread of a line comment. If the server has no replies, it posts a review of one comment on the
// same line, which Gitea shows in the same conversation; if the line is gone, a comment with a link.
func (f *Forge) Reply(ctx context.Context, number int, to string, p forge.Post) (forge.Posted, error) {
	kind, _, err := forge.ParseID(to)
	if err != nil {
		return forge.Posted{}, err
	}
	f.writing.Lock()
	defer f.writing.Unlock()
	if kind != forge.OnLine {
		posted, err := f.comment(ctx, number, p)
		posted.Fallback = "said below the request: " + to + " has no thread"
		return posted, err
	}
	all, err := f.everything(ctx, number)
	if err != nil {
		return forge.Posted{}, err
	}
	i := slices.IndexFunc(all, func(c spoken) bool { return c.ID == to })
	if i < 0 {
		return forge.Posted{}, &forge.NotFoundError{What: to + " on pull request " + fmt.Sprint(number)}
	}
	posted, err := f.postOnce(ctx, f.author, forge.Record{Key: p.Key, Number: number, Kind: forge.OnLine},
		func(forge.Record) ([]spoken, error) { return f.everything(ctx, number) },
		func(r forge.Record) (forge.Posted, error) {
			if all[i].Line == 0 {
				return f.replyBelow(ctx, number, all[i], r, p.Body)
			}
			return f.replyOnce(ctx, number, all[i], r.Mark(p.Body))
		})
	if err != nil {
		return posted, fmt.Errorf("reply to %s on pull request %d: %w", to, number, err)
	}
	return posted, nil
}

// replyBelow answers a comment below the request if its thread can't be answered.
func (f *Forge) replyBelow(ctx context.Context, number int, to spoken, r forge.Record,
	words string) (forge.Posted, error) {
	c, err := f.author.at(ctx)
	if err != nil {
		return forge.Posted{}, err
	}
	body := r.Mark("In reply to " + to.URL + ":\n\n" + words)
	v, _, err := c.CreateIssueComment(f.remote.Owner, f.remote.Name, int64(number),
		sdk.CreateIssueCommentOption{Body: body})
	if err != nil {
		return forge.Posted{}, err
	}
	return forge.Posted{ID: forge.ID(forge.OnPull, v.ID), URL: v.HTMLURL,
		Fallback: "said below the request: the line of " + to.ID + " is no longer in the diff"}, nil
}

func (f *Forge) replyOnce(ctx context.Context, number int, to spoken, words string) (forge.Posted, error) {
	c, err := f.author.at(ctx)
	if err != nil {
		return forge.Posted{}, err
	}
	if !f.noReplies {
		_, id, err := forge.ParseID(to.Thread)
		if err != nil {
			return forge.Posted{}, err
		}
		v, _, err := c.CreatePullReviewCommentReply(f.remote.Owner, f.remote.Name, int64(number), id,
			sdk.CreatePullReviewCommentReplyOptions{Body: words})
		if err == nil {
			return forge.Posted{ID: forge.ID(forge.OnLine, v.ID), URL: v.HTMLURL}, nil
		}
		if !refused(err) {
			return forge.Posted{}, err
		}
		f.noReplies = true // up to and with 1.26
	}
	if err := f.dropPending(ctx, f.author, number); err != nil {
		return forge.Posted{}, err
	}
	line := sdk.CreatePullReviewComment{Path: to.Path, Body: words, NewLineNum: int64(to.Line)}
	if to.old {
		line.NewLineNum, line.OldLineNum = 0, int64(to.Line)
	}
	r, _, err := c.CreatePullReview(f.remote.Owner, f.remote.Name, int64(number),
		sdk.CreatePullReviewOptions{State: sdk.ReviewStateComment, Comments: []sdk.CreatePullReviewComment{line}})
	if err != nil {
		return forge.Posted{}, err
	}
	lines, err := f.lines(ctx, f.author, number, r.ID)
	if err != nil {
		return forge.Posted{}, err
	}
	if len(lines) == 0 {
		return forge.Posted{}, &forge.ConflictError{What: fmt.Sprintf("the reply to %s isn't there", to.ID)}
	}
	return forge.Posted{ID: lines[0].ID, URL: lines[0].URL,
		Fallback: "a review of one comment on the same line: this Gitea knows no replies"}, nil
}

// dropPending removes what an interrupted review has left: Gitea would submit it with the next.
func (f *Forge) dropPending(ctx context.Context, a *account, number int) error {
	me, err := f.me(ctx, a)
	if err != nil {
		return err
	}
	all, err := f.reviews(ctx, a, number)
	if err != nil {
		return err
	}
	c, err := a.at(wire.AsRead(ctx))
	if err != nil {
		return err
	}
	for _, r := range all {
		if r.State != sdk.ReviewStatePending || r.Reviewer == nil || !strings.EqualFold(r.Reviewer.UserName, me) {
			continue
		}
		_, err := c.DeletePullReview(f.remote.Owner, f.remote.Name, int64(number), r.ID)
		if _, gone := errors.AsType[*forge.NotFoundError](err); err != nil && !gone {
			return fmt.Errorf("remove an unfinished review: %w", err)
		}
	}
	return nil
}

// Review posts a review, as the reviewer. Lines that aren't in the diff go into its body.
func (f *Forge) Review(ctx context.Context, number int, r forge.Review) (forge.Posted, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	posted, err := f.review(ctx, number, r)
	if err != nil {
		return posted, fmt.Errorf("review pull request %d: %w", number, err)
	}
	return posted, nil
}

func (f *Forge) review(ctx context.Context, number int, r forge.Review) (forge.Posted, error) {
	state, ok := map[forge.Verdict]sdk.ReviewStateType{forge.Comments: sdk.ReviewStateComment,
		forge.Approve:        sdk.ReviewStateApproved,
		forge.RequestChanges: sdk.ReviewStateRequestChanges}[r.Verdict]
	if !ok {
		return forge.Posted{}, fmt.Errorf("no verdict %q", r.Verdict)
	}
	p, err := f.get(ctx, number)
	if err != nil {
		return forge.Posted{}, err
	}
	me, err := f.me(ctx, f.reviewer)
	if err != nil {
		return forge.Posted{}, err
	}
	var fallbacks []string
	if state != sdk.ReviewStateComment && p.Poster != nil && strings.EqualFold(p.Poster.UserName, me) {
		state, r.Body = sdk.ReviewStateComment, forge.Instead(r.Verdict, r.Body)
		fallbacks = append(fallbacks, "a comment instead of a verdict: nobody can review their own request, and there is "+
			"no second identity")
	}
	diff := forge.Diff{}
	if len(r.Lines) > 0 && (r.Commit == "" || r.Commit == p.Head.Sha) {
		if diff, err = f.diff(ctx, number); err != nil {
			return forge.Posted{}, err
		}
	}
	fit, moved := diff.Fit(r)
	if moved > 0 {
		fallbacks = append(fallbacks, fmt.Sprintf("%d line comments are in the body: their lines are not in the diff", moved))
	}
	commit := p.Head.Sha
	if r.Verdict != forge.Comments {
		commit = cmp.Or(r.Commit, commit) // a verdict must never apply to a newer commit
	}
	posted, err := f.postOnce(ctx, f.reviewer, forge.Record{Key: r.Key, Number: number, Kind: forge.InReview},
		func(forge.Record) ([]spoken, error) { return f.submitted(ctx, number) },
		func(rec forge.Record) (forge.Posted, error) {
			return f.postReview(ctx, number, rec, state, fit, commit)
		})
	posted.Fallback = strings.Join(fallbacks, "; ")
	return posted, err
}

// submitted reads the submitted reviews, without pending ones.
func (f *Forge) submitted(ctx context.Context, number int) ([]spoken, error) {
	all, err := f.reviews(ctx, f.reviewer, number)
	var out []spoken
	for _, r := range all {
		if r.State != sdk.ReviewStatePending {
			out = append(out, inReview(r, number))
		}
	}
	return out, err
}

func (f *Forge) postReview(ctx context.Context, number int, rec forge.Record, state sdk.ReviewStateType, r forge.Review,
	head string) (forge.Posted, error) {
	if err := f.dropPending(ctx, f.reviewer, number); err != nil {
		return forge.Posted{}, err
	}
	c, err := f.reviewer.at(ctx)
	if err != nil {
		return forge.Posted{}, err
	}
	o := sdk.CreatePullReviewOptions{State: state, Body: rec.Mark(r.Body), CommitID: head}
	for _, l := range r.Lines {
		line := sdk.CreatePullReviewComment{Path: l.Path, Body: rec.Mark(l.Body), NewLineNum: int64(l.Line)}
		if l.Old {
			line.NewLineNum, line.OldLineNum = 0, int64(l.Line)
		}
		o.Comments = append(o.Comments, line)
	}
	v, _, err := c.CreatePullReview(f.remote.Owner, f.remote.Name, int64(number), o)
	if err != nil {
		return forge.Posted{}, err
	}
	return forge.Posted{ID: forge.ID(forge.InReview, v.ID), URL: v.HTMLURL}, nil
}

// Resolve resolves the conversation of a line comment, if it is not resolved.
func (f *Forge) Resolve(ctx context.Context, number int, comment string) error {
	f.writing.Lock()
	defer f.writing.Unlock()
	all, err := f.everything(ctx, number)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(all, func(c spoken) bool { return c.ID == comment && c.Kind == forge.OnLine })
	if i < 0 {
		return &forge.NotFoundError{What: comment + " on pull request " + fmt.Sprint(number)}
	}
	if all[i].State == forge.ThreadResolved {
		return nil
	}
	_, id, err := forge.ParseID(all[i].Thread)
	if err != nil {
		return err
	}
	c, err := f.author.at(wire.AsRead(ctx))
	if err != nil {
		return err
	}
	if _, err := c.ResolvePullReviewComment(f.remote.Owner, f.remote.Name, id); err != nil {
		return fmt.Errorf("resolve %s: %w", comment, err)
	}
	return nil
}
