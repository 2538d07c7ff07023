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
	"github.com/cco-dev/cco/internal/forge/actor"
)

// everything reads comments, reviews and their lines.
func (f *Forge) everything(ctx context.Context, number int) ([]actor.Said, error) {
	all, _, err := f.read(ctx, number)
	return all, err
}

// read reads everything, and gives the reviews as Gitea has them too.
func (f *Forge) read(ctx context.Context, number int) ([]actor.Said, []*sdk.PullReview, error) {
	all, err := f.issueComments(ctx, number)
	if err != nil {
		return nil, nil, err
	}
	reviews, err := f.reviews(ctx, f.author, number)
	if err != nil {
		return nil, nil, err
	}
	all, err = f.withReviews(ctx, number, all, reviews)
	return all, reviews, err
}

func (f *Forge) withReviews(ctx context.Context, number int, all []actor.Said, reviews []*sdk.PullReview) ([]actor.Said,
	error) {
	var lines []actor.Said
	var commits []string
	for _, r := range reviews {
		if r.State == sdk.ReviewStatePending || r.State == sdk.ReviewStateRequestReview {
			continue
		}
		if s := inReview(r, number); s.Author != "" {
			all = append(all, s)
		}
		if r.CodeCommentsCount == 0 {
			continue
		}
		of, err := f.lines(ctx, f.author, number, r.ID)
		if err != nil {
			return nil, err
		}
		for i := range of {
			of[i].Official = r.Official
		}
		lines, commits = append(lines, of...), append(commits, r.CommitID)
	}
	thread(lines)
	if err := f.outdate(ctx, number, lines, commits); err != nil {
		return nil, err
	}
	return append(all, lines...), nil
}

// issueComments reads the comments below a pull request. Gitea gives them all at once.
func (f *Forge) issueComments(ctx context.Context, number int) ([]actor.Said, error) {
	list, _, err := f.author.at(ctx).ListIssueComments(f.remote.Owner, f.remote.Name, int64(number),
		sdk.ListIssueCommentOptions{})
	if err != nil {
		return nil, fmt.Errorf("read comments of pull request %d: %w", number, err)
	}
	var all []actor.Said
	for _, v := range list {
		all = append(all, onPull(v, number))
	}
	return all, nil
}

func onPull(v *sdk.Comment, number int) actor.Said {
	return speak(v.Body, v.Poster, forge.Comment{ID: forge.ID(forge.OnPull, v.ID), Kind: forge.OnPull, Number: number,
		URL: v.HTMLURL, Created: v.Created.UTC(), Updated: v.Updated.UTC()})
}

func (f *Forge) reviews(ctx context.Context, a *account, number int) ([]*sdk.PullReview, error) {
	var all []*sdk.PullReview
	err := pages(func(o sdk.ListOptions) (int, error) {
		list, _, err := a.at(ctx).ListPullReviews(f.remote.Owner, f.remote.Name, int64(number),
			sdk.ListPullReviewsOptions{ListOptions: o})
		for _, r := range list {
			if !slices.ContainsFunc(all, func(x *sdk.PullReview) bool { return x.ID == r.ID }) {
				all = append(all, r)
			}
		}
		return len(list), err
	})
	if err != nil {
		return nil, fmt.Errorf("read reviews of pull request %d: %w", number, err)
	}
	return all, nil
}

// lines reads the line comments of a review.
func (f *Forge) lines(ctx context.Context, a *account, number int, review int64) ([]actor.Said, error) {
	list, _, err := a.at(ctx).ListPullReviewComments(f.remote.Owner, f.remote.Name, int64(number), review)
	if _, gone := errors.AsType[*forge.NotFoundError](err); gone {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read line comments of pull request %d: %w", number, err)
	}
	var all []actor.Said
	for _, v := range list {
		s := speak(v.Body, v.Reviewer, forge.Comment{
			ID: forge.ID(forge.OnLine, v.ID), Kind: forge.OnLine, Number: number, Path: forge.Name(v.Path, forge.MaxPath),
			Line: int(cmp.Or(v.LineNum, v.OldLineNum)), State: forge.ThreadOpen, Commit: v.CommitID,
			// a line number
			Review: forge.ID(forge.InReview, v.ReviewID), URL: v.HTMLURL, Created: v.Created.UTC(), Updated: v.Updated.UTC(),
		})
		s.Old, s.Hunk = v.OldLineNum != 0, v.DiffHunk
		if v.Resolver != nil && v.Resolver.ID != 0 {
			s.State, s.Resolver = forge.ThreadResolved, forge.Name(v.Resolver.UserName, forge.MaxName)
		}
		all = append(all, s)
	}
	return all, nil
}

// thread finds out which comments belong together: for Gitea, comments on the same line are one conversation, and its
// first comment says whether it is resolved.
func thread(lines []actor.Said) {
	type place struct {
		path string
		line int
		old  bool
	}
	slices.SortFunc(lines, func(a, b actor.Said) int {
		_, na, _ := forge.ParseID(a.ID)
		_, nb, _ := forge.ParseID(b.ID)
		return cmp.Compare(na, nb)
	})
	first := map[place]actor.Said{}
	for i, c := range lines {
		p := place{c.Path, c.Line, c.Old}
		if _, ok := first[p]; !ok {
			first[p] = c
		}
		lines[i].Thread, lines[i].State, lines[i].Resolver = first[p].ID, first[p].State, first[p].Resolver
	}
}

// outdate finds lines that are no longer what they were when they were commented on. Gitea knows but does not say.
func (f *Forge) outdate(ctx context.Context, number int, lines []actor.Said, commits []string) error {
	if len(lines) == 0 {
		return nil
	}
	p, err := f.get(ctx, number)
	if err != nil {
		return err
	}
	// Gitea calls reviews stale too, but only a while after the push.
	if !slices.ContainsFunc(commits, func(c string) bool { return c != p.Head.Sha }) {
		return nil
	}
	diff, err := f.diff(ctx, number)
	if err != nil {
		return err
	}
	for i, c := range lines {
		run := linesOf(c.Hunk, c.Old)
		now, there := diff.Line(c.Path, c.Line, c.Old)
		if there && len(run) > 0 && now == run[len(run)-1] {
			continue
		}
		if lines[i].Line, there = diff.Find(c.Path, run, c.Old); there {
			continue // Gitea leaves the old number at a line that has moved
		}
		if c.State == forge.ThreadOpen {
			lines[i].State = forge.ThreadOutdated
		}
	}
	return nil
}

// linesOf gives the lines of one side of a hunk. The last is the one that was commented on.
func linesOf(hunk string, old bool) (lines []string) {
	other := "-"
	if old {
		other = "+"
	}
	for i, line := range strings.Split(strings.TrimRight(hunk, "\n"), "\n") {
		if i > 0 && line != "" && !strings.HasPrefix(line, other) && !strings.HasPrefix(line, `\`) {
			lines = append(lines, line[1:])
		}
	}
	return lines
}

func (f *Forge) diff(ctx context.Context, number int) (forge.Diff, error) {
	text, _, err := f.author.at(ctx).GetPullRequestDiff(f.remote.Owner, f.remote.Name, int64(number),
		sdk.PullRequestDiffOptions{})
	if err != nil {
		return nil, fmt.Errorf("read the diff of pull request %d: %w", number, err)
	}
	return forge.ParseDiff(string(text)), nil
}

func inReview(r *sdk.PullReview, number int) actor.Said {
	state := map[sdk.ReviewStateType]forge.CommentState{sdk.ReviewStateApproved: forge.ReviewApproved,
		sdk.ReviewStateRequestChanges: forge.ReviewChanges,
		sdk.ReviewStateComment:        forge.ReviewCommented}[r.State]
	if r.Dismissed {
		state = forge.ReviewDismissed
	}
	return speak(r.Body, r.Reviewer, forge.Comment{
		ID: forge.ID(forge.InReview, r.ID), Kind: forge.InReview, Number: number, State: state, Commit: r.CommitID,
		URL: r.HTMLURL, Official: r.Official,
		Created: r.Submitted.UTC(), Updated: r.Submitted.UTC(),
	})
}

func speak(raw string, u *sdk.User, c forge.Comment) actor.Said {
	c.Body = forge.Clean(raw, forge.MaxBody)
	if u != nil {
		c.Author = forge.Name(u.UserName, forge.MaxName)
	}
	return actor.Said{Comment: c, Raw: raw}
}
