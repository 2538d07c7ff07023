package github

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"

	gh "github.com/google/go-github/v92/github"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
)

// Repository reads the repository itself.
func (f *Forge) Repository(ctx context.Context) (forge.Repository, error) {
	r, resp, err := f.author.rest.Repositories.Get(ctx, f.remote.Owner, f.remote.Name)
	if err != nil {
		return forge.Repository{}, fmt.Errorf("read repository: %w", err)
	}
	now, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return forge.Repository{}, fmt.Errorf("read the forge's time: %w", err)
	}
	return forge.Repository{
		Owner: r.GetOwner().GetLogin(), Name: r.GetName(), DefaultBranch: r.GetDefaultBranch(),
		CanPush: r.GetPermissions().GetPush(), Now: now,
	}, nil
}

func (f *Forge) find(ctx context.Context, branch string, opened forge.Record) (forge.Pull, error) {
	var best *gh.PullRequest
	err := pages(func(o gh.ListOptions) (*gh.Response, error) {
		list, resp, err := f.author.rest.PullRequests.List(ctx, f.remote.Owner, f.remote.Name, &gh.PullRequestListOptions{
			State: "all", Head: f.remote.Owner + ":" + branch, Sort: "created", Direction: "desc", ListOptions: o,
		})
		for _, p := range list {
			// If it doesn't understand the head, GitHub gives all pull requests.
			if p.GetHead().GetRef() != branch || !strings.EqualFold(p.GetHead().GetRepo().GetOwner().GetLogin(),
				f.remote.Owner) {
				continue
			}
			if p.GetState() != "open" && !opened.Opened(p.GetBody()) {
				continue
			}
			if best == nil || p.GetState() == "open" && best.GetState() != "open" {
				best = p
			}
		}
		return resp, err
	})
	if err != nil {
		return forge.Pull{}, fmt.Errorf("find the pull request of %s: %w", branch, err)
	}
	if best == nil {
		return forge.Pull{}, &forge.NoPullError{Branch: branch}
	}
	return pullOf(best), nil
}

func (f *Forge) create(ctx context.Context, n forge.NewPull) (forge.Pull, bool, error) {
	made, _, err := f.author.rest.PullRequests.Create(ctx, f.remote.Owner, f.remote.Name, gh.CreatePullRequest{
		Title: &n.Title, Head: n.Head, Base: n.Base, Body: &n.Body, Draft: &n.Draft,
	})
	return pullOf(made), false, err
}

// Pull reads a pull request.
func (f *Forge) Pull(ctx context.Context, number int) (forge.Pull, error) {
	r, err := f.get(ctx, number)
	if err != nil {
		return forge.Pull{}, err
	}
	p := pullOf(r)
	p.Mergeable = forge.MergeUnknown
	if r.Mergeable != nil {
		if p.Mergeable = forge.MergeConflict; *r.Mergeable {
			p.Mergeable = forge.MergeClean
		}
	}
	if p.Behind, err = f.behind(ctx, p, r.GetMergeableState()); err != nil {
		return p, err
	}
	if p.Behind {
		p.Mergeable = forge.MergeUnknown // until it contains its base
	}
	return p, nil
}

// behind says that a request must contain its base. GitHub says so, unless it has another reason to block the merge.
func (f *Forge) behind(ctx context.Context, p forge.Pull, state string) (bool, error) {
	if p.State != forge.Open || !slices.Contains([]string{"blocked", "draft", "unknown"}, state) {
		return state == "behind", nil
	}
	rules, err := f.rulesOf(ctx, p.Base.Name)
	return rules.strict, err
}

// checks reads both kinds that GitHub has: check runs and the older commit statuses.
func (f *Forge) checks(ctx context.Context, commit string) (all []forge.Check, err error) {
	err = pages(func(o gh.ListOptions) (*gh.Response, error) {
		list, resp, err := f.author.rest.Checks.ListCheckRunsForRef(ctx, f.remote.Owner, f.remote.Name, commit,
			&gh.ListCheckRunsOptions{ListOptions: o})
		if err == nil {
			for _, c := range list.CheckRuns {
				one := forge.Check{Name: forge.Name(c.GetName(), forge.MaxName), URL: forge.Link(c.GetHTMLURL()),
					State:   checkState(c.GetStatus(), c.GetConclusion()),
					Summary: forge.Clean(c.GetOutput().GetTitle()+"\n"+c.GetOutput().GetSummary(), forge.MaxSummary)}
				if c.GetApp().GetSlug() == actions {
					one.Job, one.Run = c.GetID(), c.GetCheckSuite().GetID()
				}
				all = append(all, one)
			}
		}
		if err == nil && len(all) > forge.MaxChecks {
			err = forge.TooManyChecks(commit)
		}
		return resp, err
	})
	if err != nil {
		return nil, fmt.Errorf("read checks: %w", err)
	}
	err = pages(func(o gh.ListOptions) (*gh.Response, error) {
		s, resp, err := f.author.rest.Repositories.GetCombinedStatus(ctx, f.remote.Owner, f.remote.Name, commit, &o)
		if err == nil {
			for _, c := range s.Statuses {
				all = append(all, forge.Check{Name: forge.Name(c.GetContext(), forge.MaxName), State: statusState(c.GetState()),
					URL: forge.Link(c.GetTargetURL()), Summary: forge.Clean(c.GetDescription(), forge.MaxSummary)})
			}
		}
		if err == nil && len(all) > forge.MaxChecks {
			err = forge.TooManyChecks(commit)
		}
		return resp, err
	})
	if err != nil {
		return nil, fmt.Errorf("read statuses: %w", err)
	}
	return all, nil
}

// checkState reads a check run. Everything but a known success is a failure.
func checkState(status, conclusion string) forge.CheckState {
	if status != "completed" {
		return forge.ChecksPending
	}
	switch conclusion {
	case "success", "neutral", "skipped":
		return forge.ChecksPassed
	case "action_required":
		return forge.ChecksAction
	}
	return forge.ChecksFailed
}

func statusState(s string) forge.CheckState {
	switch s {
	case "success":
		return forge.ChecksPassed
	case "pending", "expected":
		return forge.ChecksPending
	}
	return forge.ChecksFailed
}

// Contains says whether a commit is on a pull request.
func (f *Forge) Contains(ctx context.Context, number int, commit string) (bool, error) {
	p, err := f.get(ctx, number)
	if err != nil || p.GetHead().GetSHA() == commit {
		return err == nil, err
	}
	c, _, err := f.author.rest.Repositories.CompareCommits(ctx, f.remote.Owner, f.remote.Name, commit,
		p.GetHead().GetSHA(), &gh.ListOptions{PerPage: 1})
	if _, unknown := errors.AsType[*forge.NotFoundError](err); unknown {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("compare pull request %d with %.12s: %w", number, commit, err)
	}
	return c.GetMergeBaseCommit().GetSHA() == commit, nil
}

func (f *Forge) merge(ctx context.Context, number int, commit string) (func() error, error) {
	p, err := f.get(ctx, number)
	if err != nil || p.GetMerged() {
		return nil, err
	}
	return func() error {
		_, _, err = f.author.rest.PullRequests.Merge(ctx, f.remote.Owner, f.remote.Name, number, "",
			&gh.PullRequestOptions{SHA: commit, MergeMethod: methodOf(p.GetBase().GetRepo())})
		if refused, ok := errors.AsType[*forge.RejectedError](err); ok && refused.Status == http.StatusConflict {
			return actor.Moved(number, commit)
		}
		return err
	}, nil
}

// methodOf is how a repository merges, where it does not allow merge commits; "" is GitHub's own choice.
func methodOf(r *gh.Repository) string {
	switch {
	case r == nil || r.AllowMergeCommit == nil || r.GetAllowMergeCommit():
		return ""
	case r.GetAllowSquashMerge():
		return "squash"
	}
	return "rebase"
}

// Branch gives the commit of a branch, "" if there is none.
func (f *Forge) Branch(ctx context.Context, branch string) (string, error) {
	ref, _, err := f.author.rest.Git.GetRef(ctx, f.remote.Owner, f.remote.Name, "heads/"+branch)
	if _, none := errors.AsType[*forge.NotFoundError](err); none {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("look for branch %s: %w", branch, err)
	}
	return ref.GetObject().GetSHA(), nil
}

func (f *Forge) removeBranch(ctx context.Context, branch string) error {
	_, err := f.author.rest.Git.DeleteRef(ctx, f.remote.Owner, f.remote.Name, "heads/"+branch)
	return err
}

// get reads a pull request.
func (f *Forge) get(ctx context.Context, number int) (*gh.PullRequest, error) {
	p, _, err := f.author.rest.PullRequests.Get(ctx, f.remote.Owner, f.remote.Name, number)
	if err != nil {
		return nil, fmt.Errorf("read pull request %d: %w", number, err)
	}
	return p, nil
}

func pullOf(r *gh.PullRequest) forge.Pull {
	p := forge.Pull{
		Number: r.GetNumber(), URL: r.GetHTMLURL(), Title: forge.Name(r.GetTitle(), forge.MaxTitle),
		Body:   forge.Clean(forge.Unmark(r.GetBody()), forge.MaxBody),
		Author: forge.Name(r.GetUser().GetLogin(), forge.MaxName), State: forge.Open, Draft: r.GetDraft(),
		Head: branchOf(r.GetHead()), Base: branchOf(r.GetBase()), Created: r.GetCreatedAt().Time,
		Updated: r.GetUpdatedAt().Time,
	}
	if r.GetState() == "closed" {
		p.State = forge.Closed
	}
	if r.GetMerged() || !r.GetMergedAt().IsZero() {
		p.State = forge.Merged
	}
	return p
}

func branchOf(b *gh.PullRequestBranch) forge.Branch {
	return forge.Branch{Name: forge.Name(b.GetRef(), forge.MaxName), Commit: b.GetSHA(), Repo: b.GetRepo().GetFullName()}
}
