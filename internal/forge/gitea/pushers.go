package gitea

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// pushed is what Gitea writes into a request's timeline when its branch moves.
type pushed struct {
	who     forge.Pusher
	Forced  bool     `json:"is_force_push"`
	Commits []string `json:"commit_ids"` // the new ones; of a forced push the head before and the head after
}

// Pushers are those who pushed what a request has at one commit and had not at another, the last first. It is empty
// where the timeline does not tell of all of it: Gitea writes of each push a moment later, by itself, and so of a
// stranger's after the one on top of it.
func (f *Forge) Pushers(ctx context.Context, number int, _, from, to string) ([]forge.Pusher, error) {
	c := f.author.at(ctx)
	var all []pushed
	err := pages(func(o sdk.ListOptions) (int, error) {
		list, _, err := c.ListIssueTimeline(f.remote.Owner, f.remote.Name, int64(number),
			sdk.ListIssueCommentOptions{ListOptions: o})
		for _, v := range list {
			p := pushed{}
			if v.Type != "pull_push" || json.Unmarshal([]byte(v.Body), &p) != nil {
				continue
			}
			if v.Poster != nil {
				p.who.Name = forge.Name(v.Poster.UserName, forge.MaxName)
			}
			all = append(all, p)
		}
		return len(list), err
	})
	if err != nil {
		return nil, fmt.Errorf("ask who pushed to pull request %d: %w", number, err)
	}
	has := history{}
	err = pages(func(o sdk.ListOptions) (int, error) {
		list, _, err := c.ListPullRequestCommits(f.remote.Owner, f.remote.Name, int64(number),
			sdk.ListPullRequestCommitsOptions{ListOptions: o})
		for _, v := range list {
			has.add(v)
		}
		return len(list), err
	})
	if err != nil {
		return nil, fmt.Errorf("ask for the commits of pull request %d: %w", number, err)
	}
	return pushersOf(all, has, from, to), nil
}

// history is the commits of a request, each with its parents.
type history map[string][]string

func (h history) add(c *sdk.Commit) {
	if c.CommitMeta == nil {
		return
	}
	parents := []string{}
	for _, p := range c.Parents {
		parents = append(parents, p.SHA)
	}
	h[c.SHA] = parents
}

// upTo is everything of the request that a commit has behind it, itself included.
func (h history) upTo(commit string) map[string]bool {
	got := map[string]bool{}
	for todo := []string{commit}; len(todo) > 0; todo = todo[1:] {
		if parents, ok := h[todo[0]]; ok && !got[todo[0]] {
			got[todo[0]] = true
			todo = append(todo, parents...)
		}
	}
	return got
}

// pushersOf finds who pushed what one head has and another had not. A forced push brings all that it has, and so covers
// nobody who brought a part of it before, unless it went out from the other head.
func pushersOf(all []pushed, has history, from, to string) []forge.Pusher {
	came := has.upTo(to)
	for c := range has.upTo(from) {
		delete(came, c)
	}
	untold := maps.Clone(came)
	var list []forge.Pusher
	for _, p := range slices.Backward(all) {
		forced := p.Forced && len(p.Commits) == 2
		brought := p.Commits
		if forced {
			brought = slices.Collect(maps.Keys(has.upTo(p.Commits[1])))
		}
		if slices.ContainsFunc(brought, func(c string) bool { return came[c] }) {
			list = append(list, p.who)
		}
		for _, c := range brought {
			delete(untold, c)
		}
		if forced && p.Commits[0] == from {
			break
		}
	}
	if len(untold) > 0 {
		return nil
	}
	return named(list)
}

// named gives a list only if everybody in it has a name.
func named(list []forge.Pusher) []forge.Pusher {
	if slices.ContainsFunc(list, func(p forge.Pusher) bool { return p.Name == "" }) {
		return nil
	}
	return list
}

// DeployKeys says which pushes may have been made with a deploy key. Gitea lists keys to administrators, and shows what
// is pushed with one as pushed by the owner.
func (f *Forge) DeployKeys(ctx context.Context) (forge.DeployKeys, error) {
	owner := forge.DeployKeys{Names: []string{f.remote.Owner}}
	writes := false
	err := pages(func(o sdk.ListOptions) (int, error) {
		list, _, err := f.author.at(ctx).ListDeployKeys(f.remote.Owner, f.remote.Name,
			sdk.ListDeployKeysOptions{ListOptions: o})
		for _, key := range list {
			writes = writes || !key.ReadOnly
		}
		return len(list), err
	})
	switch {
	case err == nil && writes:
		owner.Known = true
	case err == nil:
		return forge.DeployKeys{Known: true}, nil
	case !refused(err):
		return owner, fmt.Errorf("ask for deploy keys: %w", err)
	}
	return owner, nil
}

// Ready says that a draft is ready for review. One that is ready already stays so.
func (f *Forge) Ready(ctx context.Context, number int) error {
	p, err := f.get(ctx, number)
	if err != nil || !p.Draft {
		return err
	}
	c := f.author.at(wire.AsRead(ctx)) // it may be repeated
	title := p.Title
	for _, prefix := range []string{"WIP:", "[WIP]"} {
		if len(title) >= len(prefix) && strings.EqualFold(title[:len(prefix)], prefix) {
			title = strings.TrimSpace(title[len(prefix):])
		}
	}
	_, _, err = c.EditPullRequest(f.remote.Owner, f.remote.Name, int64(number), sdk.EditPullRequestOption{Title: title})
	if err != nil {
		return fmt.Errorf("mark pull request %d as ready: %w", number, err)
	}
	return nil
}
