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

// Update comments on a pull request, or gives the comment that was made under the same key these words.
func (f *Forge) Update(ctx context.Context, number int, p forge.Post) (forge.Posted, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	posted, err := f.comment(ctx, number, p)
	if err != nil {
		return posted, err
	}
	_, id, err := forge.ParseID(posted.ID)
	if err != nil {
		return posted, err
	}
	c, err := f.author.at(ctx)
	if err != nil {
		return posted, err
	}
	now, _, err := c.GetIssueComment(f.remote.Owner, f.remote.Name, id)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone {
		return posted, nil // somebody did not want it
	}
	if err == nil {
		if body := forge.Reword(now.Body, p.Body); body != now.Body {
			_, _, err = c.EditIssueComment(f.remote.Owner, f.remote.Name, id, sdk.EditIssueCommentOption{Body: body})
		}
	}
	if err != nil {
		return posted, fmt.Errorf("change a comment on pull request %d: %w", number, err)
	}
	return posted, nil
}

// Reply answers in the thread of a line comment. If the server has no replies, it posts a review of one comment on the
// line where that is now, which Gitea shows as a conversation there; if the line is gone, a comment with a link.
func (f *Forge) Reply(ctx context.Context, number int, to string, p forge.Post) (forge.Posted, error) {
	kind, _, err := forge.ParseID(to)
	if err != nil {
		return forge.Posted{}, err
	}
	if kind != forge.OnLine {
		posted, err := f.Comment(ctx, number, p)
		posted.Fallback = "said below the request: " + to + " has no thread"
		return posted, err
	}
	t, err := f.Threads(ctx, number)
	if err != nil {
		return forge.Posted{}, err
	}
	return t.Reply(ctx, to, p)
}

// threads are the threads of a request as they were read.
type threads struct {
	f       *Forge
	number  int
	all     []spoken
	reviews []*sdk.PullReview // nil if they must be read again
	done    map[string]bool   // threads that were resolved since, by their ids
}

// Threads reads the threads of a request.
func (f *Forge) Threads(ctx context.Context, number int) (forge.Threads, error) {
	all, reviews, err := f.read(ctx, number)
	return &threads{f: f, number: number, all: all, reviews: reviews, done: map[string]bool{}}, err
}

func (t *threads) find(comment string) (spoken, error) {
	i := slices.IndexFunc(t.all, func(c spoken) bool { return c.ID == comment && c.Kind == forge.OnLine })
	if i < 0 {
		return spoken{}, &forge.NotFoundError{What: comment + " on pull request " + fmt.Sprint(t.number)}
	}
	return t.all[i], nil
}

// Reply answers in the thread of a line comment.
func (t *threads) Reply(ctx context.Context, to string, p forge.Post) (forge.Posted, error) {
	t.f.writing.Lock()
	defer t.f.writing.Unlock()
	c, err := t.find(to)
	if err != nil {
		return forge.Posted{}, err
	}
	posted, err := t.f.postOnce(ctx, t.f.author, forge.Record{Key: p.Key, Number: t.number, Kind: forge.OnLine},
		func(forge.Record) ([]spoken, error) { return t.f.everything(ctx, t.number) },
		func(r forge.Record) (forge.Posted, error) {
			if c.Line == 0 {
				return t.f.replyBelow(ctx, t.number, c, r, p.Body)
			}
			return t.reply(ctx, c, r.Mark(p.Body))
		})
	if err != nil {
		return posted, fmt.Errorf("reply to %s on pull request %d: %w", to, t.number, err)
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

func (t *threads) reply(ctx context.Context, to spoken, words string) (forge.Posted, error) {
	f := t.f
	c, err := f.author.at(ctx)
	if err != nil {
		return forge.Posted{}, err
	}
	if !f.noReplies {
		_, id, err := forge.ParseID(to.Thread)
		if err != nil {
			return forge.Posted{}, err
		}
		v, _, err := c.CreatePullReviewCommentReply(f.remote.Owner, f.remote.Name, int64(t.number), id,
			sdk.CreatePullReviewCommentReplyOptions{Body: words})
		if err == nil {
			return forge.Posted{ID: forge.ID(forge.OnLine, v.ID), URL: v.HTMLURL}, nil
		}
		if !refused(err) {
			return forge.Posted{}, err
		}
		f.noReplies = true // up to and with 1.26
	}
	if err := f.dropPending(ctx, f.author, t.number, t.reviews); err != nil {
		return forge.Posted{}, err
	}
	line := sdk.CreatePullReviewComment{Path: to.Path, Body: words, NewLineNum: int64(to.Line)}
	if to.old {
		line.NewLineNum, line.OldLineNum = 0, int64(to.Line)
	}
	t.reviews = nil // if it fails, it may leave something
	r, _, err := c.CreatePullReview(f.remote.Owner, f.remote.Name, int64(t.number),
		sdk.CreatePullReviewOptions{State: sdk.ReviewStateComment, Comments: []sdk.CreatePullReviewComment{line}})
	if err != nil {
		return forge.Posted{}, err
	}
	if r.CodeCommentsCount == 0 {
		return forge.Posted{}, &forge.ConflictError{What: fmt.Sprintf("the reply to %s isn't there", to.ID)}
	}
	t.reviews = []*sdk.PullReview{}
	return forge.Posted{ID: forge.ID(forge.InReview, r.ID), URL: r.HTMLURL,
		Fallback: "a review of one comment on the same line: this Gitea knows no replies"}, nil
}

// dropPending removes what an interrupted review has left: Gitea would submit it with the next. It reads the reviews if
// they are not known.
func (f *Forge) dropPending(ctx context.Context, a *account, number int, all []*sdk.PullReview) error {
	me, err := f.me(ctx, a)
	if err != nil {
		return err
	}
	if all == nil {
		if all, err = f.reviews(ctx, a, number); err != nil {
			return err
		}
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
	if err := f.dropPending(ctx, f.reviewer, number, nil); err != nil {
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

// Withdraw removes a comment that was posted twice, and says whether it was one.
func (f *Forge) Withdraw(ctx context.Context, c forge.Comment) (bool, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
	gone, err := f.withdraw(ctx, c)
	if err != nil {
		return false, fmt.Errorf("remove %s on pull request %d, which was said twice: %w", c.ID, c.Number, err)
	}
	return gone, nil
}

func (f *Forge) withdraw(ctx context.Context, c forge.Comment) (bool, error) {
	all, err := f.everything(ctx, c.Number)
	if err != nil {
		return false, err
	}
	plain := make([]forge.Comment, 0, len(all))
	for _, v := range all {
		plain = append(plain, v.Comment)
	}
	if !forge.Twice(c, plain, func(i int) string { return all[i].raw }) {
		return false, nil
	}
	by := f.author
	me, err := f.me(ctx, f.reviewer)
	if err != nil {
		return false, err
	}
	if strings.EqualFold(me, c.Author) {
		by = f.reviewer
	}
	at, err := by.at(ctx)
	if err != nil {
		return false, err
	}
	kind, id, err := forge.ParseID(c.ID)
	if err != nil {
		return false, err
	}
	if kind == forge.InReview {
		_, err = at.DeletePullReview(f.remote.Owner, f.remote.Name, int64(c.Number), id)
	} else {
		_, err = at.DeleteIssueComment(f.remote.Owner, f.remote.Name, id)
	}
	if _, already := errors.AsType[*forge.NotFoundError](err); already {
		err = nil
	}
	return err == nil, err
}

// Resolve resolves the conversation of a line comment, if it is not resolved.
func (f *Forge) Resolve(ctx context.Context, number int, comment string) error {
	t, err := f.Threads(ctx, number)
	if err != nil {
		return err
	}
	return t.Resolve(ctx, comment)
}

// Resolve resolves the conversation of a line comment, if it is not resolved.
func (t *threads) Resolve(ctx context.Context, comment string) error {
	t.f.writing.Lock()
	defer t.f.writing.Unlock()
	first, err := t.find(comment)
	if err != nil || first.State == forge.ThreadResolved || t.done[first.Thread] {
		return err
	}
	_, id, err := forge.ParseID(first.Thread)
	if err != nil {
		return err
	}
	c, err := t.f.author.at(wire.AsRead(ctx))
	if err != nil {
		return err
	}
	if _, err := c.ResolvePullReviewComment(t.f.remote.Owner, t.f.remote.Name, id); err != nil {
		return fmt.Errorf("resolve %s: %w", comment, err)
	}
	t.done[first.Thread] = true
	return nil
}
