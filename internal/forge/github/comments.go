package github

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v92/github"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
)

// everything reads all that was said on a pull request, with the state of its threads.
func (f *Forge) everything(ctx context.Context, number int) ([]actor.Said, error) {
	p, err := f.get(ctx, number)
	if err != nil {
		return nil, err
	}
	// Reviews first: a line comment that comes in between belongs to a review that the next reading will find.
	talks, err := f.talks(ctx, []string{p.GetNodeID()})
	if err != nil {
		return nil, fmt.Errorf("read reviews of pull request %d: %w", number, err)
	}
	all, err := f.issueComments(ctx, number)
	if err != nil {
		return nil, err
	}
	lines, err := f.lineComments(ctx, number)
	for i, c := range lines {
		switch th := talks[number].threads[c.Thread]; {
		case th.resolved:
			lines[i].State, lines[i].Resolver = forge.ThreadResolved, th.resolver
		case th.outdated:
			lines[i].State = forge.ThreadOutdated
		}
	}
	return slices.Concat(all, lines, talks[number].reviews), err
}

// changed reads a page of the repository's requests, the last changed first. It is a short one: longer answers are not
// kept, and would count each time.
func (f *Forge) changed(ctx context.Context, n int) (all []forge.Pull, date string, full bool, err error) {
	list, resp, err := f.author.rest.PullRequests.List(ctx, f.remote.Owner, f.remote.Name, &gh.PullRequestListOptions{
		State: "all", Sort: "updated", Direction: "desc", ListOptions: gh.ListOptions{Page: n, PerPage: 30}})
	if err != nil {
		return nil, "", false, err
	}
	for _, p := range list {
		all = append(all, pullOf(p))
	}
	return all, resp.Header.Get("Date"), resp.NextPage != 0, nil
}

// listed reads a request as lists have it.
func (f *Forge) listed(ctx context.Context, number int) (forge.Pull, error) {
	p, err := f.get(ctx, number)
	return pullOf(p), err
}

// edited reads the repository's comments that changed after a time.
func (f *Forge) edited(ctx context.Context, since time.Time) ([]actor.Said, error) {
	all, err := f.commentsSince(ctx, 0, since)
	if err != nil {
		return nil, err
	}
	lines, err := f.linesSince(ctx, 0, since)
	return append(all, lines...), err
}

// issueComments reads the comments below a pull request.
func (f *Forge) issueComments(ctx context.Context, number int) ([]actor.Said, error) {
	return f.commentsSince(ctx, number, time.Time{})
}

// commentsSince are those of the whole repository for 0. Zero is the beginning of time.
func (f *Forge) commentsSince(ctx context.Context, number int, since time.Time) (all []actor.Said, err error) {
	o := gh.IssueListCommentsOptions{}
	if !since.IsZero() {
		o.Sort, o.Direction, o.Since = new("updated"), new("asc"), &since
	}
	err = pagesBack(func(lo gh.ListOptions) (*gh.Response, error) {
		o.ListOptions = lo
		list, resp, err := f.author.rest.Issues.ListComments(ctx, f.remote.Owner, f.remote.Name, number, &o)
		for _, c := range list {
			all = append(all, onPull(c))
		}
		return resp, err
	})
	if err != nil {
		return nil, fmt.Errorf("read comments of pull request %d: %w", number, err)
	}
	return unique(all), nil
}

// lineComments reads the comments on lines of a pull request.
func (f *Forge) lineComments(ctx context.Context, number int) ([]actor.Said, error) {
	return f.linesSince(ctx, number, time.Time{})
}

// linesSince is commentsSince for comments on lines.
func (f *Forge) linesSince(ctx context.Context, number int, since time.Time) (all []actor.Said, err error) {
	o := gh.PullRequestListCommentsOptions{Since: since}
	if !since.IsZero() {
		o.Sort, o.Direction = "updated", "asc"
	}
	err = pagesBack(func(lo gh.ListOptions) (*gh.Response, error) {
		o.ListOptions = lo
		list, resp, err := f.author.rest.PullRequests.ListComments(ctx, f.remote.Owner, f.remote.Name, number, &o)
		for _, c := range list {
			all = append(all, onLine(c))
		}
		return resp, err
	})
	if err != nil {
		return nil, fmt.Errorf("read line comments of pull request %d: %w", number, err)
	}
	return unique(all), nil
}

// unique drops duplicates, which appear when pages shift while they are read.
func unique(all []actor.Said) []actor.Said {
	at := map[string]int{}
	var kept []actor.Said
	for _, c := range all {
		if i, twice := at[c.ID]; twice {
			kept[i] = c
			continue
		}
		at[c.ID] = len(kept)
		kept = append(kept, c)
	}
	return kept
}

func onPull(c *gh.IssueComment) actor.Said {
	return speak(c.GetBody(), c.GetUser(), forge.Comment{
		ID: forge.ID(forge.OnPull, c.GetID()), Kind: forge.OnPull, Number: lastNumber(c.GetIssueURL()),
		URL: c.GetHTMLURL(), Created: c.GetCreatedAt().Time, Updated: c.GetUpdatedAt().Time,
	})
}

func onLine(c *gh.PullRequestComment) actor.Said {
	s := speak(c.GetBody(), c.GetUser(), forge.Comment{
		ID: forge.ID(forge.OnLine, c.GetID()), Kind: forge.OnLine, Number: lastNumber(c.GetPullRequestURL()),
		Path: forge.Name(c.GetPath(), forge.MaxPath), Line: c.GetLine(), State: forge.ThreadOpen,
		Commit: c.GetCommitID(),
		URL:    c.GetHTMLURL(), Created: c.GetCreatedAt().Time, Updated: c.GetUpdatedAt().Time,
	})
	s.Thread = s.ID
	if root := c.GetInReplyTo(); root != 0 {
		s.Thread = forge.ID(forge.OnLine, root)
	}
	if r := c.GetPullRequestReviewID(); r != 0 {
		s.Review = forge.ID(forge.InReview, r)
	}
	if c.Line == nil && c.GetSubjectType() != "file" {
		s.State = forge.ThreadOutdated // what a null line means in spite of the schema
	}
	return s
}

func speak(raw string, u *gh.User, c forge.Comment) actor.Said {
	c.Body = forge.Clean(raw, forge.MaxBody)
	c.Author, c.Bot = forge.Name(u.GetLogin(), forge.MaxName), u.GetType() == "Bot"
	return actor.Said{Comment: c, Raw: raw}
}

// lastNumber reads the number at the end of an address.
func lastNumber(url string) int {
	n, _ := strconv.Atoi(url[strings.LastIndexByte(url, '/')+1:])
	return n
}
