package github

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	gh "github.com/google/go-github/v92/github"
	"github.com/shurcooL/githubv4"

	"github.com/cco-dev/cco/internal/forge"
)

// actions is the name of GitHub's own runner.
const actions = "github-actions"

// checksQuery reads the checks of many heads, and of their bases, at once.
type checksQuery struct {
	Nodes []struct {
		Pull struct {
			Number      int
			BaseRefName string
			BaseRef     *struct {
				RefUpdateRule *struct{ RequiredStatusCheckContexts []string }
				Target        *struct {
					Commit rolledUp `graphql:"... on Commit"`
				}
			}
			Commits struct {
				Nodes []struct{ Commit rolledUp }
			} `graphql:"commits(last: 1)"`
		} `graphql:"... on PullRequest"`
	} `graphql:"nodes(ids: $ids)"`
}

// rolledUp is a commit with what was reported on it.
type rolledUp struct {
	Oid               string
	StatusCheckRollup *struct {
		Contexts struct {
			Nodes    []reported
			PageInfo pageInfo
		} `graphql:"contexts(first: 100)"`
	}
}

// reported is a check run or one of the older statuses.
type reported struct {
	Typename string `graphql:"__typename"`
	Run      struct {
		Name       string
		Status     string
		Conclusion *string
		Title      *string
		Summary    *string
		URL        string
		DatabaseID int64
		CheckSuite *struct {
			App        *struct{ Slug string }
			DatabaseID int64
		}
	} `graphql:"... on CheckRun"`
	Context struct {
		Context     string
		State       string
		Description *string
		TargetURL   *string
	} `graphql:"... on StatusContext"`
}

// Checks reads the checks of requests' heads: one request to GitHub for 25 of them.
func (f *Forge) Checks(ctx context.Context, numbers []int) (map[int]forge.Checked, error) {
	found := map[int]forge.Checked{}
	for some := range slices.Chunk(numbers, batch) {
		var ids []githubv4.ID
		for _, n := range some {
			id, err := f.node(ctx, n)
			if err != nil {
				return nil, err
			}
			ids = append(ids, id)
		}
		var q checksQuery
		if err := f.author.query(ctx, &q, map[string]any{"ids": ids}); err != nil {
			return nil, fmt.Errorf("read checks: %w", err)
		}
		for _, node := range q.Nodes {
			p := node.Pull
			c := forge.Checked{}
			var err error
			for _, n := range p.Commits.Nodes {
				c.Head = n.Commit.Oid
				if c.All, err = f.reportedOn(ctx, n.Commit); err != nil {
					return nil, err
				}
			}
			if p.BaseRef != nil {
				if rule := p.BaseRef.RefUpdateRule; rule != nil {
					c.Required = append(c.Required, rule.RequiredStatusCheckContexts...)
				}
				if t := p.BaseRef.Target; t != nil {
					if c.Base, err = f.reportedOn(ctx, t.Commit); err != nil {
						return nil, err
					}
				}
			}
			rules, err := f.rulesOf(ctx, p.BaseRefName)
			if err != nil {
				return nil, err
			}
			c.Required = append(c.Required, rules.checks...)
			slices.Sort(c.Required)
			c.Required = slices.Compact(c.Required)
			found[p.Number] = c
		}
	}
	return found, nil
}

// node is a request's id for GraphQL.
func (f *Forge) node(ctx context.Context, number int) (string, error) {
	return f.nodes.Get(fmt.Sprint(number), func() (string, error) {
		p, err := f.get(ctx, number)
		return p.GetNodeID(), err
	})
}

// ruled is what the rulesets of a branch require.
type ruled struct {
	checks []string
	strict bool // a request must contain the branch
}

// rulesOf reads the rulesets of a branch.
func (f *Forge) rulesOf(ctx context.Context, branch string) (ruled, error) {
	return f.rules.Get(branch, func() (all ruled, err error) {
		err = pages(func(o gh.ListOptions) (*gh.Response, error) {
			rules, resp, err := f.author.rest.Repositories.ListRulesForBranch(ctx, f.remote.Owner, f.remote.Name, branch, &o)
			if err == nil && rules != nil {
				for _, r := range rules.RequiredStatusChecks {
					all.strict = all.strict || r.Parameters.StrictRequiredStatusChecksPolicy
					for _, c := range r.Parameters.RequiredStatusChecks {
						all.checks = append(all.checks, c.Context)
					}
				}
			}
			return resp, err
		})
		if _, none := errors.AsType[*forge.NotFoundError](err); none {
			return ruled{}, nil // a server that has no rulesets
		}
		if err != nil {
			return ruled{}, fmt.Errorf("read the rules of %s: %w", branch, err)
		}
		return all, nil
	})
}

func (f *Forge) reportedOn(ctx context.Context, c rolledUp) ([]forge.Check, error) {
	if c.StatusCheckRollup == nil {
		return nil, nil
	}
	if c.StatusCheckRollup.Contexts.PageInfo.HasNextPage {
		return f.checks(ctx, c.Oid) // page by page
	}
	var all []forge.Check
	for _, r := range c.StatusCheckRollup.Contexts.Nodes {
		if r.Typename == "StatusContext" {
			all = append(all, forge.Check{Name: forge.Name(r.Context.Context, forge.MaxName),
				State: statusState(strings.ToLower(r.Context.State)), URL: forge.Link(text(r.Context.TargetURL)),
				Summary: forge.Clean(text(r.Context.Description), forge.MaxSummary)})
			continue
		}
		said := text(r.Run.Title) + "\n" + text(r.Run.Summary)
		job, run := int64(0), int64(0)
		if s := r.Run.CheckSuite; s != nil && s.App != nil && s.App.Slug == actions {
			job, run = r.Run.DatabaseID, s.DatabaseID // a job's check run has its number, and a run has one suite
		}
		all = append(all, forge.Check{Job: job, Run: run, Name: forge.Name(r.Run.Name, forge.MaxName),
			URL:     forge.Link(r.Run.URL),
			State:   checkState(strings.ToLower(r.Run.Status), strings.ToLower(text(r.Run.Conclusion))),
			Summary: forge.Clean(said, forge.MaxSummary)})
	}
	return all, nil
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}
