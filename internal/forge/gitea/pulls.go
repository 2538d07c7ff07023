package gitea

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// Repository reads the repository itself.
func (f *Forge) Repository(ctx context.Context) (forge.Repository, error) {
	r, resp, err := f.author.at(ctx).GetRepo(f.remote.Owner, f.remote.Name)
	if err != nil {
		return forge.Repository{}, fmt.Errorf("read repository: %w", err)
	}
	out := forge.Repository{Owner: r.Owner.UserName, Name: r.Name, DefaultBranch: r.DefaultBranch}
	out.CanPush = r.Permissions != nil && r.Permissions.Push
	out.Now, err = http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return out, fmt.Errorf("read the forge's time: %w", err)
	}
	return out, nil
}

// find walks the list: Gitea can't be asked by branch.
func (f *Forge) find(ctx context.Context, branch string, opened forge.Record) (forge.Pull, error) {
	for _, state := range []sdk.StateType{sdk.StateOpen, sdk.StateClosed} {
		var best *sdk.PullRequest
		err := pages(func(o sdk.ListOptions) (int, error) {
			list, _, err := f.author.at(ctx).ListRepoPullRequests(f.remote.Owner, f.remote.Name,
				sdk.ListPullRequestsOptions{ListOptions: o, State: state})
			for _, p := range list {
				ours := p.Head != nil && p.Base != nil && p.Head.RepoID == p.Base.RepoID
				// The name outlives the branch in the label; the ref becomes refs/pull/N/head.
				if !ours || p.Head.Ref != branch && p.Head.Name != branch || strings.HasPrefix(p.Title, duplicate) {
					continue
				}
				if state == sdk.StateClosed && !opened.Opened(p.Body) {
					continue
				}
				if best == nil || (state == sdk.StateOpen) == (p.Index < best.Index) {
					best = p // of open ones the first, of those that ended the last
				}
			}
			return len(list), err
		})
		if err != nil {
			return forge.Pull{}, fmt.Errorf("find the pull request of %s: %w", branch, err)
		}
		if best != nil {
			return pullOf(best), nil
		}
	}
	return forge.Pull{}, &forge.NoPullError{Branch: branch}
}

// wip is the prefix of a title that makes a request a draft.
const wip = "WIP: "

// duplicate begins the title of a request that lost the race against another.
const duplicate = "[duplicate of #"

func (f *Forge) create(ctx context.Context, n forge.NewPull) (forge.Pull, bool, error) {
	title := n.Title
	if n.Draft {
		title = wip + title
	}
	made, _, err := f.author.at(ctx).CreatePullRequest(f.remote.Owner, f.remote.Name,
		sdk.CreatePullRequestOption{Head: n.Head, Base: n.Base, Title: title, Body: n.Body})
	if err != nil {
		return forge.Pull{}, false, err
	}
	return f.onlyOne(ctx, n.Head, pullOf(made))
}

// onlyOne closes a request that was opened at the same moment as another for the same branch: Gitea allows that. The
// first of them stays, so every process decides the same.
func (f *Forge) onlyOne(ctx context.Context, branch string, made forge.Pull) (forge.Pull, bool, error) {
	first, err := f.Find(ctx, branch)
	if err != nil || first.Number >= made.Number || first.State != forge.Open {
		return made, false, err
	}
	closed := sdk.StateClosed
	_, _, err = f.author.at(wire.AsRead(ctx)).EditPullRequest(f.remote.Owner, f.remote.Name, int64(made.Number),
		sdk.EditPullRequestOption{Title: fmt.Sprintf("%s%d] %s", duplicate, first.Number, made.Title), State: &closed})
	return first, true, err
}

func (f *Forge) get(ctx context.Context, number int) (*sdk.PullRequest, error) {
	p, _, err := f.author.at(ctx).GetPullRequest(f.remote.Owner, f.remote.Name, int64(number))
	if err != nil {
		return nil, fmt.Errorf("read pull request %d: %w", number, err)
	}
	return p, nil
}

// Pull reads a pull request.
func (f *Forge) Pull(ctx context.Context, number int) (forge.Pull, error) {
	r, err := f.get(ctx, number)
	if err != nil {
		return forge.Pull{}, err
	}
	p := pullOf(r)
	if p.Mergeable = forge.MergeConflict; r.Mergeable {
		p.Mergeable = forge.MergeClean
	}
	if p.State != forge.Open {
		p.Mergeable = forge.MergeUnknown
	}
	p.Behind, err = f.strict(ctx, p.Base.Name)
	return p, err
}

// strict says that requests for a branch must contain it. Only an administrator is told.
func (f *Forge) strict(ctx context.Context, branch string) (bool, error) {
	c := f.author.at(ctx)
	b, _, err := c.GetRepoBranch(f.remote.Owner, f.remote.Name, branch)
	if err != nil || b.EffectiveBranchProtectionName == "" {
		return false, unlessMissing(err)
	}
	rule, _, err := c.GetBranchProtection(f.remote.Owner, f.remote.Name, b.EffectiveBranchProtectionName)
	if _, denied := errors.AsType[*forge.PermissionError](err); denied {
		return false, nil
	}
	if err != nil {
		return false, unlessMissing(err)
	}
	return rule.BlockOnOutdatedBranch, nil
}

// unlessMissing is an error that is more than something that is not there, or not shown.
func unlessMissing(err error) error {
	if _, missing := errors.AsType[*forge.NotFoundError](err); missing {
		return nil
	}
	return err
}

func checkState(s sdk.StatusState) forge.CheckState {
	switch s {
	case sdk.StatusSuccess, sdk.StatusWarning, "skipped":
		return forge.ChecksPassed
	case sdk.StatusPending:
		return forge.ChecksPending
	}
	return forge.ChecksFailed
}

// Contains says whether a commit is on a pull request.
func (f *Forge) Contains(ctx context.Context, number int, commit string) (bool, error) {
	p, err := f.get(ctx, number)
	if err != nil || p.Head.Sha == commit {
		return err == nil, err
	}
	found := false
	err = pages(func(o sdk.ListOptions) (int, error) {
		list, _, err := f.author.at(ctx).ListPullRequestCommits(f.remote.Owner, f.remote.Name, int64(number),
			sdk.ListPullRequestCommitsOptions{ListOptions: o})
		for _, v := range list {
			found = found || v.CommitMeta != nil && v.SHA == commit
		}
		return len(list), err
	})
	if err != nil {
		return false, fmt.Errorf("read the commits of pull request %d: %w", number, err)
	}
	return found, nil
}

func (f *Forge) merge(ctx context.Context, number int, commit string) (func() error, error) {
	p, err := f.get(ctx, number)
	if err != nil || p.HasMerged {
		return nil, err
	}
	if p.Head.Sha != commit {
		return nil, actor.Moved(number, commit)
	}
	style := sdk.MergeStyleMerge
	if p.Base != nil && p.Base.Repository != nil && p.Base.Repository.DefaultMergeStyle != "" {
		style = p.Base.Repository.DefaultMergeStyle // the repository's own
	}
	return func() error {
		_, _, err := f.author.at(ctx).MergePullRequest(f.remote.Owner, f.remote.Name, int64(number),
			sdk.MergePullRequestOption{Style: style, HeadCommitId: commit})
		return err
	}, nil
}

// Branch gives the commit of a branch, "" if there is none.
func (f *Forge) Branch(ctx context.Context, branch string) (string, error) {
	b, _, err := f.author.at(ctx).GetRepoBranch(f.remote.Owner, f.remote.Name, branch)
	if _, none := errors.AsType[*forge.NotFoundError](err); none {
		return "", nil
	}
	if err != nil || b.Commit == nil {
		return "", fmt.Errorf("look for branch %s: %w", branch, cmp.Or(err, errors.New("it has no commit")))
	}
	return b.Commit.ID, nil
}

func (f *Forge) removeBranch(ctx context.Context, branch string) error {
	_, _, err := f.author.at(ctx).DeleteRepoBranch(f.remote.Owner, f.remote.Name, branch)
	return err
}

func pullOf(r *sdk.PullRequest) forge.Pull {
	p := forge.Pull{
		Number: int(r.Index), URL: r.HTMLURL, Title: forge.Name(r.Title, forge.MaxTitle),
		Body:  forge.Clean(forge.Unmark(r.Body), forge.MaxBody),
		State: forge.Open, Draft: r.Draft, Head: branchOf(r.Head), Base: branchOf(r.Base),
	}
	if r.Draft {
		p.Title = strings.TrimPrefix(p.Title, wip)
	}
	if r.Poster != nil {
		p.Author = forge.Name(r.Poster.UserName, forge.MaxName)
	}
	if r.Created != nil && r.Updated != nil {
		p.Created, p.Updated = r.Created.UTC(), r.Updated.UTC()
	}
	if r.State == sdk.StateClosed {
		p.State = forge.Closed
	}
	if r.HasMerged {
		p.State = forge.Merged
	}
	return p
}

func branchOf(b *sdk.PRBranchInfo) forge.Branch {
	if b == nil {
		return forge.Branch{}
	}
	v := forge.Branch{Name: forge.Name(b.Ref, forge.MaxName), Commit: b.Sha}
	if b.Repository != nil {
		v.Repo = b.Repository.FullName
	}
	return v
}
