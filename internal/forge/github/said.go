package github

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v92/github"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
)

// Said reads everything that was said on a pull request since a mark.
func (f *Forge) Said(ctx context.Context, number int, since forge.Mark) (forge.Stream, error) {
	seen, err := since.Seen()
	if err != nil {
		return forge.Stream{}, err
	}
	p, err := f.get(ctx, number)
	if err != nil {
		return forge.Stream{}, err
	}
	// Reviews first: a line comment that comes in between belongs to a review that the next reading will find.
	talks, err := f.talks(ctx, []string{p.GetNodeID()})
	if err != nil {
		return forge.Stream{}, fmt.Errorf("read reviews of pull request %d: %w", number, err)
	}
	all, err := f.issueComments(ctx, number)
	if err != nil {
		return forge.Stream{}, err
	}
	lines, err := f.lineComments(ctx, number)
	if err != nil {
		return forge.Stream{}, err
	}
	talk := talks[number]
	all = append(append(all, lines...), talk.reviews...)
	plain, err := f.complete(ctx, talk, all)
	if err != nil {
		return forge.Stream{}, err
	}
	return seen.Stream(plain)
}

// complete adds to comments the state of their threads, and whether they are ours.
func (f *Forge) complete(ctx context.Context, t talk, all []actor.Said) ([]forge.Comment, error) {
	for i, c := range all {
		switch th := t.threads[c.Thread]; {
		case th.resolved:
			all[i].State, all[i].Resolver = forge.ThreadResolved, th.resolver
		case th.outdated:
			all[i].State = forge.ThreadOutdated
		}
	}
	return f.Claim(ctx, all)
}

// issueComments reads the comments below a pull request.
func (f *Forge) issueComments(ctx context.Context, number int) ([]actor.Said, error) {
	var all []actor.Said
	err := pages(func(lo gh.ListOptions) (*gh.Response, error) {
		list, resp, err := f.author.rest.Issues.ListComments(ctx, f.remote.Owner, f.remote.Name, number,
			&gh.IssueListCommentsOptions{ListOptions: lo})
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
	var all []actor.Said
	err := pages(func(lo gh.ListOptions) (*gh.Response, error) {
		list, resp, err := f.author.rest.PullRequests.ListComments(ctx, f.remote.Owner, f.remote.Name, number,
			&gh.PullRequestListCommentsOptions{ListOptions: lo})
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
		Association: forge.Association(c.GetAuthorAssociation()),
		URL:         c.GetHTMLURL(), Created: c.GetCreatedAt().Time, Updated: c.GetUpdatedAt().Time,
	})
}

func onLine(c *gh.PullRequestComment) actor.Said {
	s := speak(c.GetBody(), c.GetUser(), forge.Comment{
		ID: forge.ID(forge.OnLine, c.GetID()), Kind: forge.OnLine, Number: lastNumber(c.GetPullRequestURL()),
		Association: forge.Association(c.GetAuthorAssociation()),
		Path:        forge.Name(c.GetPath(), forge.MaxPath), Line: c.GetLine(), State: forge.ThreadOpen,
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
	if c.Association == "" {
		c.Association = forge.AssociationNone
	}
	c.Association = forge.Association(forge.Name(string(c.Association), 40))
	return actor.Said{Comment: c, Raw: raw}
}

// lastNumber reads the number at the end of an address.
func lastNumber(url string) int {
	n, _ := strconv.Atoi(url[strings.LastIndexByte(url, '/')+1:])
	return n
}
