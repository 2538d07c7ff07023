package github

import (
	"context"
	"errors"
	"fmt"
	"strings"

	gh "github.com/google/go-github/v92/github"
	"github.com/shurcooL/githubv4"

	"github.com/cco-dev/cco/internal/forge"
)

// Pushers are those who moved a branch from one commit to another, the last first. It is empty where GitHub's record of
// the branch does not lead from one to the other, or lacks a name.
func (f *Forge) Pushers(ctx context.Context, _ int, branch, from, to string) ([]forge.Pusher, error) {
	o := &gh.ListRepositoryActivityOptions{Ref: "refs/heads/" + branch, PerPage: page}
	var list []forge.Pusher
	for {
		all, resp, err := f.author.rest.Repositories.ListRepositoryActivities(ctx, f.remote.Owner, f.remote.Name, o)
		if err != nil {
			return nil, fmt.Errorf("ask who pushed to %s: %w", branch, err)
		}
		for _, a := range all {
			if a.After != to {
				continue
			}
			if a.Actor.GetLogin() == "" {
				return nil, nil
			}
			list = append(list, forge.Pusher{Name: forge.Name(a.Actor.GetLogin(), forge.MaxName),
				Bot: a.Actor.GetType() == "Bot" || strings.HasSuffix(a.Actor.GetLogin(), "[bot]")})
			if to = a.Before; to == from {
				return list, nil
			}
		}
		if o.After = resp.After; o.After == "" {
			return nil, nil
		}
	}
}

// DeployKeys says which pushes may have been made with a deploy key. GitHub lists keys to administrators; only they can
// add one.
func (f *Forge) DeployKeys(ctx context.Context) (k forge.DeployKeys, err error) {
	err = pages(func(o gh.ListOptions) (*gh.Response, error) {
		list, resp, err := f.author.rest.Repositories.ListKeys(ctx, f.remote.Owner, f.remote.Name, &o)
		for _, key := range list {
			if !key.GetReadOnly() {
				k.Names = append(k.Names, key.GetAddedBy())
			}
		}
		return resp, err
	})
	if err == nil {
		return forge.DeployKeys{Names: k.Names, Known: true}, nil
	}
	if !refused(err) {
		return k, fmt.Errorf("ask for deploy keys: %w", err)
	}
	k.Names = nil
	err = pages(func(o gh.ListOptions) (*gh.Response, error) {
		list, resp, err := f.author.rest.Repositories.ListCollaborators(ctx, f.remote.Owner, f.remote.Name,
			&gh.ListCollaboratorsOptions{Permission: "admin", ListOptions: o})
		for _, who := range list {
			k.Names = append(k.Names, who.GetLogin())
		}
		return resp, err
	})
	switch {
	case err == nil:
		return k, nil
	case refused(err):
		return forge.DeployKeys{Names: []string{""}}, nil
	}
	return k, fmt.Errorf("ask who may have added a deploy key: %w", err)
}

// refused says whether GitHub answered, and the answer was no.
func refused(err error) bool {
	_, gone := errors.AsType[*forge.NotFoundError](err)
	_, refused := errors.AsType[*forge.PermissionError](err)
	return gone || refused
}

// Ready says that a draft is ready for review. One that is ready already stays so.
func (f *Forge) Ready(ctx context.Context, number int) error {
	p, err := f.get(ctx, number)
	if err != nil {
		return err
	}
	if !p.GetDraft() {
		return nil
	}
	var m struct {
		MarkPullRequestReadyForReview struct {
			PullRequest struct{ IsDraft bool }
		} `graphql:"markPullRequestReadyForReview(input: $input)"`
	}
	err = f.author.mutate(ctx, &m, githubv4.MarkPullRequestReadyForReviewInput{PullRequestID: p.GetNodeID()})
	if err != nil {
		return fmt.Errorf("mark pull request %d as ready: %w", number, err)
	}
	return nil
}
