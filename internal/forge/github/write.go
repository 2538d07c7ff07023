package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v92/github"
	"github.com/shurcooL/githubv4"

	"github.com/cco-dev/cco/internal/forge"
)

// postOnce posts something once, as an account of ours.
func (f *Forge) postOnce(ctx context.Context, a *account, r forge.Record, look func(forge.Record) ([]spoken, error),
	do func(forge.Record) (forge.Posted, error)) (forge.Posted, error) {
	f.writing.Lock()
	defer f.writing.Unlock()
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
	posted, err := f.postOnce(ctx, f.author, forge.Record{Key: p.Key, Number: number, Kind: forge.OnPull},
		func(forge.Record) ([]spoken, error) { return f.issueComments(ctx, number) },
		func(r forge.Record) (forge.Posted, error) {
			c, _, err := f.author.rest.Issues.CreateComment(ctx, f.remote.Owner, f.remote.Name, number,
				gh.IssueCommentRequest{Body: r.Mark(p.Body)})
			return forge.Posted{ID: forge.ID(forge.OnPull, c.GetID()), URL: c.GetHTMLURL()}, err
		})
	if err != nil {
		return posted, fmt.Errorf("comment on pull request %d: %w", number, err)
	}
	return posted, nil
}

// Update comments on a pull request, or gives the comment that was made under the same key these words.
func (f *Forge) Update(ctx context.Context, number int, p forge.Post) (forge.Posted, error) {
	posted, err := f.Comment(ctx, number, p)
	if err != nil {
		return posted, err
	}
	_, id, err := forge.ParseID(posted.ID)
	if err != nil {
		return posted, err
	}
	c, _, err := f.author.rest.Issues.GetComment(ctx, f.remote.Owner, f.remote.Name, id)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone {
		return posted, nil // somebody did not want it
	}
	if err == nil {
		if body := forge.Reword(c.GetBody(), p.Body); body != c.GetBody() {
			_, _, err = f.author.rest.Issues.UpdateComment(ctx, f.remote.Owner, f.remote.Name, id,
				gh.IssueCommentRequest{Body: body})
		}
	}
	if err != nil {
		return posted, fmt.Errorf("change a comment on pull request %d: %w", number, err)
	}
	return posted, nil
}

// Reply answers in the thread of a line comment. Without a thread it is a comment that names what it answers.
func (f *Forge) Reply(ctx context.Context, number int, to string, p forge.Post) (forge.Posted, error) {
	kind, id, err := forge.ParseID(to)
	if err != nil {
		return forge.Posted{}, err
	}
	if kind != forge.OnLine {
		posted, err := f.Comment(ctx, number, p)
		posted.Fallback = "said below the request: " + to + " has no thread"
		return posted, err
	}
	c, _, err := f.author.rest.PullRequests.GetComment(ctx, f.remote.Owner, f.remote.Name, id)
	if err != nil {
		return forge.Posted{}, fmt.Errorf("reply to %s on pull request %d: %w", to, number, err)
	}
	return (&threads{f: f, number: number, lines: []spoken{onLine(c)}}).Reply(ctx, to, p)
}

// threads are the threads of a request as they were read.
type threads struct {
	f      *Forge
	number int
	lines  []spoken
	talk   talk
	done   map[string]bool // threads that were resolved since, by their nodes
}

// Threads reads the threads of a request.
func (f *Forge) Threads(ctx context.Context, number int) (forge.Threads, error) {
	p, _, err := f.author.rest.PullRequests.Get(ctx, f.remote.Owner, f.remote.Name, number)
	if err != nil {
		return nil, fmt.Errorf("read pull request %d: %w", number, err)
	}
	talks, err := f.talks(ctx, []string{p.GetNodeID()})
	if err != nil {
		return nil, fmt.Errorf("read threads of pull request %d: %w", number, err)
	}
	lines, err := f.lineComments(ctx, number)
	return &threads{f: f, number: number, lines: lines, talk: talks[number], done: map[string]bool{}}, err
}

func (t *threads) find(comment string) (spoken, error) {
	i := slices.IndexFunc(t.lines, func(c spoken) bool { return c.ID == comment })
	if i < 0 {
		return spoken{}, &forge.NotFoundError{What: fmt.Sprintf("%s on pull request %d", comment, t.number)}
	}
	return t.lines[i], nil
}

// Reply answers in the thread of a line comment.
func (t *threads) Reply(ctx context.Context, to string, p forge.Post) (forge.Posted, error) {
	f := t.f
	c, err := t.find(to)
	if err != nil {
		return forge.Posted{}, err
	}
	_, first, err := forge.ParseID(c.Thread) // GitHub takes replies only to the first comment of a thread
	if err != nil {
		return forge.Posted{}, err
	}
	posted, err := f.postOnce(ctx, f.author, forge.Record{Key: p.Key, Number: t.number, Kind: forge.OnLine},
		func(forge.Record) ([]spoken, error) { return f.lineComments(ctx, t.number) },
		func(r forge.Record) (forge.Posted, error) {
			req, err := f.author.rest.NewRequest(ctx, http.MethodPost, fmt.Sprintf("repos/%s/%s/pulls/%d/comments/%d/replies",
				f.remote.Owner, f.remote.Name, t.number, first),
				map[string]string{"body": r.Mark(p.Body)})
			if err != nil {
				return forge.Posted{}, err
			}
			c := new(gh.PullRequestComment)
			_, err = f.author.rest.Do(req, c)
			return forge.Posted{ID: forge.ID(forge.OnLine, c.GetID()), URL: c.GetHTMLURL()}, err
		})
	if err != nil {
		return posted, fmt.Errorf("reply to %s on pull request %d: %w", to, t.number, err)
	}
	return posted, nil
}

// Review posts a review, as the reviewer. Lines that aren't in the diff go into its body.
func (f *Forge) Review(ctx context.Context, number int, r forge.Review) (forge.Posted, error) {
	posted, err := f.review(ctx, number, r)
	if err != nil {
		return posted, fmt.Errorf("review pull request %d: %w", number, err)
	}
	return posted, nil
}

func (f *Forge) review(ctx context.Context, number int, r forge.Review) (forge.Posted, error) {
	event, ok := map[forge.Verdict]string{forge.Comments: "COMMENT", forge.Approve: "APPROVE",
		forge.RequestChanges: "REQUEST_CHANGES"}[r.Verdict]
	if !ok {
		return forge.Posted{}, fmt.Errorf("no verdict %q", r.Verdict)
	}
	p, _, err := f.author.rest.PullRequests.Get(ctx, f.remote.Owner, f.remote.Name, number)
	if err != nil {
		return forge.Posted{}, err
	}
	me, err := f.me(ctx, f.reviewer)
	if err != nil {
		return forge.Posted{}, err
	}
	var fallbacks []string
	if event != "COMMENT" && strings.EqualFold(p.GetUser().GetLogin(), me) {
		event, r.Body = "COMMENT", forge.Instead(r.Verdict, r.Body)
		fallbacks = append(fallbacks, "a comment instead of a verdict: nobody can review their own request, and there is "+
			"no second identity")
	}
	fit, moved, err := f.fit(ctx, p, r)
	if err != nil {
		return forge.Posted{}, err
	}
	posted, err := f.postOnce(ctx, f.reviewer, forge.Record{Key: r.Key, Number: number, Kind: forge.InReview},
		func(forge.Record) ([]spoken, error) { return f.restReviews(ctx, number) },
		func(rec forge.Record) (forge.Posted, error) {
			posted, err := f.postReview(ctx, number, rec, event, fit)
			if e, refused := errors.AsType[*forge.RejectedError](err); refused && e.Status == 422 &&
				(len(fit.Lines) > 0 || fit.Commit != "" && r.Verdict != forge.Approve) {
				// The diff has changed since we read it. A refusal is all or nothing, so nothing of it was posted.
				if fit, moved = (forge.Diff{}).Fit(r); r.Verdict != forge.Approve {
					fit.Commit = ""
				}
				return f.postReview(ctx, number, rec, event, fit)
			}
			return posted, err
		})
	if moved > 0 {
		fallbacks = append(fallbacks, fmt.Sprintf("%d line comments are in the body: their lines are not in the diff", moved))
	}
	posted.Fallback = strings.Join(fallbacks, "; ")
	return posted, err
}

// fit reads the diff of a review, and moves comments on other lines into its body.
func (f *Forge) fit(ctx context.Context, p *gh.PullRequest, r forge.Review) (forge.Review, int, error) {
	diff := forge.Diff{}
	head := p.GetHead().GetSHA()
	if len(r.Lines) > 0 && (r.Commit == "" || r.Commit == head) {
		r.Commit = head
		err := pages(func(o gh.ListOptions) (*gh.Response, error) {
			files, resp, err := f.reviewer.rest.PullRequests.ListFiles(ctx, f.remote.Owner, f.remote.Name, p.GetNumber(), &o)
			for _, file := range files {
				diff.Add(file.GetFilename(), file.GetPatch())
			}
			return resp, err
		})
		if err != nil {
			return r, 0, err
		}
	}
	// If the head has moved since, the review's lines belong to another diff. An approval stays with the reviewed commit:
	// it must never apply to a newer one.
	fit, moved := diff.Fit(r)
	return fit, moved, nil
}

func (f *Forge) postReview(ctx context.Context, number int, rec forge.Record, event string,
	r forge.Review) (forge.Posted, error) {
	body := rec.Mark(r.Body)
	req := &gh.PullRequestReviewRequest{Event: &event, Body: &body}
	if r.Commit != "" {
		req.CommitID = &r.Commit
	}
	for _, c := range r.Lines {
		side, words := "RIGHT", rec.Mark(c.Body)
		if c.Old {
			side = "LEFT"
		}
		req.Comments = append(req.Comments, &gh.DraftReviewComment{Path: &c.Path, Line: &c.Line, Side: &side, Body: &words})
	}
	v, _, err := f.reviewer.rest.PullRequests.CreateReview(ctx, f.remote.Owner, f.remote.Name, number, req)
	return forge.Posted{ID: forge.ID(forge.InReview, v.GetID()), URL: v.GetHTMLURL()}, err
}

// restReviews reads reviews as their author's own account sees them.
func (f *Forge) restReviews(ctx context.Context, number int) ([]spoken, error) {
	var all []spoken
	err := pages(func(o gh.ListOptions) (*gh.Response, error) {
		list, resp, err := f.reviewer.rest.PullRequests.ListReviews(ctx, f.remote.Owner, f.remote.Name, number, &o)
		for _, r := range list {
			all = append(all, speak(r.GetBody(), r.GetUser(), forge.Comment{ID: forge.ID(forge.InReview, r.GetID()),
				URL: r.GetHTMLURL()}))
		}
		return resp, err
	})
	return all, err
}

// Withdraw removes a comment that was posted twice, and says whether it was one. GitHub keeps reviews for ever: of one
// only the lines go, and its words become a link.
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
	kind, id, err := forge.ParseID(c.ID)
	if err != nil {
		return false, err
	}
	var all []spoken
	for _, read := range []func(context.Context, int) ([]spoken, error){f.issueComments, f.lineComments, f.restReviews} {
		more, err := read(ctx, c.Number)
		if err != nil {
			return false, err
		}
		all = append(all, more...)
	}
	plain := make([]forge.Comment, 0, len(all))
	for _, v := range all {
		plain = append(plain, v.Comment)
	}
	if !forge.Twice(c, plain, func(i int) string { return all[i].raw }) {
		return false, nil
	}
	by, err := f.accountOf(ctx, c.Author)
	if err != nil {
		return false, err
	}
	switch kind {
	case forge.OnPull:
		_, err = by.rest.Issues.DeleteComment(ctx, f.remote.Owner, f.remote.Name, id)
	case forge.OnLine:
		_, err = by.rest.PullRequests.DeleteComment(ctx, f.remote.Owner, f.remote.Name, id)
	default:
		// It stays, and must count as ours with its new words too.
		_, _, err = f.journal.Begin(ctx, forge.Record{Key: "twin-" + c.ID, Repo: f.remote.String(), Number: c.Number,
			Kind: kind, Marker: forge.NewMarker(), ID: c.ID, URL: c.URL, Created: f.clock.Now()})
		if err == nil {
			_, _, err = by.rest.PullRequests.UpdateReview(ctx, f.remote.Owner, f.remote.Name, c.Number, id,
				"This was posted twice by accident; the other one stands.")
		}
	}
	if _, already := errors.AsType[*forge.NotFoundError](err); already {
		err = nil
	}
	return err == nil, err
}

// accountOf is the one of our accounts that has a name.
func (f *Forge) accountOf(ctx context.Context, name string) (*account, error) {
	me, err := f.me(ctx, f.reviewer)
	if err == nil && strings.EqualFold(me, name) {
		return f.reviewer, nil
	}
	return f.author, err
}

// Resolve resolves the thread of a line comment, if it is not resolved.
func (f *Forge) Resolve(ctx context.Context, number int, comment string) error {
	t, err := f.Threads(ctx, number)
	if err != nil {
		return err
	}
	return t.Resolve(ctx, comment)
}

// Resolve resolves the thread of a line comment, if it is not resolved.
func (t *threads) Resolve(ctx context.Context, comment string) error {
	t.f.writing.Lock()
	defer t.f.writing.Unlock()
	c, err := t.find(comment)
	if err != nil {
		return err
	}
	th, ok := t.talk.threads[c.Thread]
	if !ok {
		return &forge.NotFoundError{What: fmt.Sprintf("thread of %s on pull request %d", comment, t.number)}
	}
	if th.resolved || t.done[th.node] {
		return nil
	}
	var m struct {
		ResolveReviewThread struct {
			Thread struct{ IsResolved bool }
		} `graphql:"resolveReviewThread(input: $input)"`
	}
	if err := t.f.author.mutate(ctx, &m, githubv4.ResolveReviewThreadInput{ThreadID: th.node}); err != nil {
		return fmt.Errorf("resolve %s: %w", comment, err)
	}
	t.done[th.node] = true
	return nil
}
