package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"

	gh "github.com/google/go-github/v92/github"
	"github.com/shurcooL/githubv4"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
)

// look reads what a post of a kind may be found among.
func (f *Forge) look(ctx context.Context, number int, kind forge.CommentKind) (all []actor.Said, err error) {
	for of, read := range map[forge.CommentKind]func(context.Context, int) ([]actor.Said, error){
		forge.OnPull: f.issueComments, forge.OnLine: f.lineComments, forge.InReview: f.restReviews} {
		if kind != "" && kind != of {
			continue
		}
		some, err := read(ctx, number)
		if err != nil {
			return nil, err
		}
		all = append(all, some...)
	}
	return all, nil
}

func (f *Forge) comment(ctx context.Context, number int, body string) (forge.Posted, error) {
	c, _, err := f.author.rest.Issues.CreateComment(ctx, f.remote.Owner, f.remote.Name, number,
		gh.IssueCommentRequest{Body: body})
	return forge.Posted{ID: forge.ID(forge.OnPull, c.GetID()), URL: c.GetHTMLURL()}, err
}

func (f *Forge) readComment(ctx context.Context, id int64) (string, error) {
	c, _, err := f.author.rest.Issues.GetComment(ctx, f.remote.Owner, f.remote.Name, id)
	return c.GetBody(), err
}

func (f *Forge) edit(ctx context.Context, id int64, body string) error {
	_, _, err := f.author.rest.Issues.UpdateComment(ctx, f.remote.Owner, f.remote.Name, id,
		gh.IssueCommentRequest{Body: body})
	return err
}

// conversation is the threads of a request.
type conversation struct {
	f      *Forge
	number int
	talk   talk
}

// talk reads the threads of a request.
func (f *Forge) talk(ctx context.Context, number int) ([]actor.Said, actor.Talk, error) {
	p, err := f.get(ctx, number)
	if err != nil {
		return nil, nil, err
	}
	talks, err := f.talks(ctx, []string{p.GetNodeID()})
	if err != nil {
		return nil, nil, fmt.Errorf("read threads of pull request %d: %w", number, err)
	}
	lines, err := f.lineComments(ctx, number)
	return lines, &conversation{f, number, talks[number]}, err
}

// Answer answers in the thread of a line comment. GitHub takes replies only to the first comment of a thread.
func (c *conversation) Answer(ctx context.Context, to actor.Said, r forge.Record, words string) (forge.Posted, error) {
	_, first, err := forge.ParseID(to.Thread)
	if err != nil {
		return forge.Posted{}, err
	}
	rest := c.f.author.rest
	req, err := rest.NewRequest(ctx, http.MethodPost, fmt.Sprintf("repos/%s/%s/pulls/%d/comments/%d/replies",
		c.f.remote.Owner, c.f.remote.Name, c.number, first), map[string]string{"body": r.Mark(words)})
	if err != nil {
		return forge.Posted{}, err
	}
	v := new(gh.PullRequestComment)
	_, err = rest.Do(req, v)
	return forge.Posted{ID: forge.ID(forge.OnLine, v.GetID()), URL: v.GetHTMLURL()}, err
}

// Resolve resolves the thread of a line comment, if it is not resolved.
func (c *conversation) Resolve(ctx context.Context, of actor.Said) error {
	th, ok := c.talk.threads[of.Thread]
	if !ok {
		return &forge.NotFoundError{What: fmt.Sprintf("thread of %s on pull request %d", of.ID, c.number)}
	}
	if th.resolved {
		return nil
	}
	var m struct {
		ResolveReviewThread struct {
			Thread struct{ IsResolved bool }
		} `graphql:"resolveReviewThread(input: $input)"`
	}
	return c.f.author.mutate(ctx, &m, githubv4.ResolveReviewThreadInput{ThreadID: th.node})
}

func (f *Forge) head(ctx context.Context, number int) (author, commit string, err error) {
	p, err := f.get(ctx, number)
	return p.GetUser().GetLogin(), p.GetHead().GetSHA(), err
}

func (f *Forge) diff(ctx context.Context, number int) (forge.Diff, error) {
	diff := forge.Diff{}
	return diff, pages(func(o gh.ListOptions) (*gh.Response, error) {
		files, resp, err := f.reviewer.rest.PullRequests.ListFiles(ctx, f.remote.Owner, f.remote.Name, number, &o)
		for _, file := range files {
			diff.Add(file.GetFilename(), file.GetPatch())
		}
		return resp, err
	})
}

// review posts a review. If GitHub refuses it, the diff has changed since we read it: a refusal is all or nothing, so
// nothing of it was posted.
func (f *Forge) review(ctx context.Context, d *actor.Draft) (forge.Posted, error) {
	posted, err := f.submit(ctx, d)
	judges := d.Asked.Verdict == forge.Approve
	if e, ok := errors.AsType[*forge.RejectedError](err); ok && e.Status == http.StatusUnprocessableEntity &&
		(len(d.Review.Lines) > 0 || d.Review.Commit != "" && !judges) {
		if d.Refit(forge.Diff{}); !judges {
			d.Review.Commit = ""
		}
		return f.submit(ctx, d)
	}
	return posted, err
}

func (f *Forge) submit(ctx context.Context, d *actor.Draft) (forge.Posted, error) {
	event := map[forge.Verdict]string{forge.Comments: "COMMENT", forge.Approve: "APPROVE",
		forge.RequestChanges: "REQUEST_CHANGES"}[d.Verdict]
	body := d.Record.Mark(d.Review.Body)
	req := &gh.PullRequestReviewRequest{Event: &event, Body: &body}
	if d.Review.Commit != "" {
		req.CommitID = &d.Review.Commit
	}
	for _, c := range d.Review.Lines {
		side, words := "RIGHT", d.Record.Mark(c.Body)
		if c.Old {
			side = "LEFT"
		}
		req.Comments = append(req.Comments, &gh.DraftReviewComment{Path: &c.Path, Line: &c.Line, Side: &side, Body: &words})
	}
	v, _, err := f.reviewer.rest.PullRequests.CreateReview(ctx, f.remote.Owner, f.remote.Name, d.Number, req)
	return forge.Posted{ID: forge.ID(forge.InReview, v.GetID()), URL: v.GetHTMLURL()}, err
}

// restReviews reads reviews as their author's own account sees them.
func (f *Forge) restReviews(ctx context.Context, number int) ([]actor.Said, error) {
	var all []actor.Said
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

// remove takes back a comment. GitHub keeps reviews for ever: of one only the lines go, and its words become a link.
func (f *Forge) remove(ctx context.Context, asReviewer bool, c forge.Comment, id int64) error {
	rest := f.author.rest
	if asReviewer {
		rest = f.reviewer.rest
	}
	var err error
	switch c.Kind {
	case forge.OnPull:
		_, err = rest.Issues.DeleteComment(ctx, f.remote.Owner, f.remote.Name, id)
	case forge.OnLine:
		_, err = rest.PullRequests.DeleteComment(ctx, f.remote.Owner, f.remote.Name, id)
	default:
		// It stays, and must count as ours with its new words too.
		_, _, err = f.Journal.Begin(ctx, forge.Record{Key: "twin-" + c.ID, Repo: f.remote.String(), Number: c.Number,
			Kind: c.Kind, Marker: forge.NewMarker(), ID: c.ID, URL: c.URL, Created: f.clock.Now()})
		if err == nil {
			_, _, err = rest.PullRequests.UpdateReview(ctx, f.remote.Owner, f.remote.Name, c.Number, id,
				"This was posted twice by accident; the other one stands.")
		}
	}
	return err
}
