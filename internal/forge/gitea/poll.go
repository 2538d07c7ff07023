package gitea

import (
	"context"
	"strconv"
	"strings"
	"time"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
)

// changed reads a page of the repository's requests, the last changed first.
func (f *Forge) changed(ctx context.Context, n int) (all []forge.Pull, date string, full bool, err error) {
	list, resp, err := f.author.at(ctx).ListRepoPullRequests(f.remote.Owner, f.remote.Name, sdk.ListPullRequestsOptions{
		ListOptions: sdk.ListOptions{Page: n, PageSize: page}, State: sdk.StateAll, Sort: "recentupdate"})
	if err != nil {
		return nil, "", false, err
	}
	for _, r := range list {
		all = append(all, pullOf(r))
	}
	return all, resp.Header.Get("Date"), len(list) == page, nil
}

// plainly reads a request as lists have it.
func (f *Forge) plainly(ctx context.Context, number int) (forge.Pull, error) {
	p, err := f.get(ctx, number)
	if err != nil {
		return forge.Pull{}, err
	}
	return pullOf(p), nil
}

// edited reads the repository's comments that changed after a time.
func (f *Forge) edited(ctx context.Context, since time.Time) (all []actor.Said, err error) {
	err = pages(func(o sdk.ListOptions) (int, error) {
		list, _, err := f.author.at(ctx).ListRepoIssueComments(f.remote.Owner, f.remote.Name,
			sdk.ListIssueCommentOptions{ListOptions: o, Since: since})
		for _, v := range list {
			all = append(all, onPull(v, lastNumber(v.PRURL)))
		}
		return len(list), err
	})
	return all, err
}

func lastNumber(url string) int {
	n, _ := strconv.Atoi(url[strings.LastIndexByte(url, '/')+1:])
	return n
}
