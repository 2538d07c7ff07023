//go:build heavy

package gitea_test

import (
	"context"
	"fmt"
	"sync/atomic"
	"testing"

	sdk "code.gitea.io/sdk/gitea"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/forgetest"
	"github.com/cco-dev/cco/internal/forge/gitea"
	"github.com/cco-dev/cco/internal/forge/giteatest"
	"github.com/cco-dev/cco/internal/must"
)

const owner = forgetest.Acme

func server(g *giteatest.Server) forgetest.Server {
	var repos atomic.Int64
	return forgetest.Server{
		URL: g.URL, Token: func(who string) string { return g.Tokens[who] },
		NewRepo: func(t *testing.T) (string, string) {
			t.Helper()
			name := fmt.Sprintf("repo%d", repos.Add(1))
			g.NewRepo(t, owner, name, forgetest.Ada, forgetest.Rob)
			return owner, name
		},
		Connect: func(t *testing.T, r forge.Remote, as forgetest.As) forgetest.Forge {
			t.Helper()
			o := gitea.Options{Remote: r, Author: gitea.Identity{Source: "a test", Token: forge.Secret(g.Tokens[as.Who])},
				Journal: as.Journal,
				Clock:   as.Clock, Timeout: as.Timeout, MaxWait: as.MaxWait}
			if as.Reviewer != "" {
				o.Reviewer = &gitea.Identity{Source: "a test", Token: forge.Secret(g.Tokens[as.Reviewer])}
			}
			f := must.Get(gitea.New(o))(t)
			return f
		},
		Change: func(t *testing.T, r forge.Remote, who, id, body string) {
			t.Helper()
			_, n, err := forge.ParseID(id)
			if err == nil && body == "" {
				_, err = g.As(t, who).DeleteIssueComment(r.Owner, r.Name, n)
			} else if err == nil {
				_, _, err = g.As(t, who).EditIssueComment(r.Owner, r.Name, n, sdk.EditIssueCommentOption{Body: body})
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		Reader: func(t *testing.T, r forge.Remote, who string) {
			t.Helper()
			read := sdk.AccessModeRead
			must.Get(g.As(t, owner).AddCollaborator(r.Owner, r.Name, who,
				sdk.AddCollaboratorOption{Permission: &read}))(t)
		},
		Retarget: func(t *testing.T, r forge.Remote, number int, base string) {
			t.Helper()
			if _, _, err := g.As(t, owner).EditPullRequest(r.Owner, r.Name, int64(number),
				sdk.EditPullRequestOption{Base: base}); err != nil {
				t.Fatal(err)
			}
		},
		Strict: func(t *testing.T, r forge.Remote, branch string) {
			t.Helper()
			admin := sdk.AccessModeAdmin // nobody else is told of the rule before a merge is refused by it
			must.Get(g.As(t, owner).AddCollaborator(r.Owner, r.Name, forgetest.Ada,
				sdk.AddCollaboratorOption{Permission: &admin}))(t)
			if _, _, err := g.As(t, owner).CreateBranchProtection(r.Owner, r.Name, sdk.CreateBranchProtectionOption{
				BranchName: branch, RuleName: branch, EnablePush: true, BlockOnOutdatedBranch: true}); err != nil {
				t.Fatal(err)
			}
		},
		DeployKey: func(t *testing.T, r forge.Remote, readOnly bool) []string {
			t.Helper()
			return g.DeployKey(t, r.Owner, r.Name, readOnly)
		},
		Dismiss: func(t *testing.T, r forge.Remote, number int, review string) {
			t.Helper()
			_, n, err := forge.ParseID(review)
			if err == nil {
				_, err = g.As(t, owner).DismissPullReview(r.Owner, r.Name, int64(number), n,
					sdk.DismissPullReviewOptions{Message: "no"})
			}
			if err != nil {
				t.Fatal(err)
			}
		},
		Runner: func(t *testing.T, r forge.Remote, _ []string, run func(forgetest.Job) (bool, string)) {
			t.Helper()
			g.Runner(t, r.Owner, r.Name, func(_ context.Context, j giteatest.Job) (bool, string) {
				return run(forgetest.Job{Name: j.Name, Commit: j.Commit, Attempt: j.Attempt})
			})
		},
		Report: func(t *testing.T, r forge.Remote, commit, name string, state forge.CheckState, summary string) {
			t.Helper()
			word := map[forge.CheckState]sdk.StatusState{forge.ChecksPassed: sdk.StatusSuccess,
				forge.ChecksFailed: sdk.StatusFailure, forge.ChecksPending: sdk.StatusPending}[state]
			if _, _, err := g.As(t, owner).CreateStatus(r.Owner, r.Name, commit,
				sdk.CreateStatusOption{State: word, Context: name, Description: summary}); err != nil {
				t.Fatal(err)
			}
		},
		Require: func(t *testing.T, r forge.Remote, names []string) {
			t.Helper()
			if _, _, err := g.As(t, owner).CreateBranchProtection(r.Owner, r.Name, sdk.CreateBranchProtectionOption{
				RuleName: "main", EnableStatusCheck: true, StatusCheckContexts: names}); err != nil {
				t.Fatal(err)
			}
		},
		Hook: func(t *testing.T, r forge.Remote, url, key string) {
			t.Helper()
			_, _, err := g.As(t, owner).CreateRepoHook(r.Owner, r.Name, sdk.CreateHookOption{Type: sdk.HookTypeGitea,
				Active: true,
				Config: map[string]string{"url": url, "content_type": "json", "secret": key},
				Events: []string{"issue_comment", "pull_request", "pull_request_comment", "pull_request_review_comment"}})
			if err != nil {
				t.Fatal(err)
			}
		},
	}
}

func TestRealGiteaPassesTheSuite(t *testing.T) {
	g := giteatest.Start(t, owner, forgetest.Ada, forgetest.Rob, forgetest.Eve)
	t.Run("KnowsForgedChecks", func(t *testing.T) {
		t.Parallel()
		forgedChecks(t, g)
	})
	forgetest.Run(t, server(g))
}
