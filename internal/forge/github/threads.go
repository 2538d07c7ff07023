package github

import (
	"context"
	"errors"
	"strconv"
	"strings"

	gh "github.com/google/go-github/v92/github"
	"github.com/shurcooL/githubv4"

	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/forge/actor"
	"github.com/cco-dev/cco/internal/forge/wire"
)

// talk is what only GraphQL tells about a pull request, or tells about many at once.
type talk struct {
	reviews []actor.Said
	lines   map[string]int    // how many line comments each review has
	threads map[string]thread // by the id of their first comment
}

type thread struct {
	node               string
	resolved, outdated bool
	resolver           string
}

// batch is how many pull requests are asked for at once: with their threads, more would exceed GitHub's limit on nodes.
const batch = 25

type talkQuery struct {
	Nodes []struct {
		Pull struct {
			ID      string
			Number  int
			Reviews struct {
				Nodes    []reviewNode
				PageInfo pageInfo
			} `graphql:"reviews(first: 100, after: $reviews)"`
			ReviewThreads struct {
				Nodes    []threadNode
				PageInfo pageInfo
			} `graphql:"reviewThreads(first: 100, after: $threads)"`
		} `graphql:"... on PullRequest"`
	} `graphql:"nodes(ids: $ids)"`
}

type pageInfo struct {
	HasNextPage bool
	EndCursor   *githubv4.String
}

type reviewNode struct {
	URL    string
	State  string
	Body   string
	Author *struct {
		Login    string
		Typename string `graphql:"__typename"`
	}
	Commit      *struct{ Oid string }
	CreatedAt   githubv4.DateTime
	UpdatedAt   githubv4.DateTime
	SubmittedAt *githubv4.DateTime
	Comments    struct{ TotalCount int }
}

type threadNode struct {
	ID         string
	IsResolved bool
	IsOutdated bool
	ResolvedBy *struct{ Login string }
	Comments   struct {
		Nodes []struct{ URL string }
	} `graphql:"comments(first: 1)"`
}

// talks reads reviews and threads of pull requests, by their node ids.
func (f *Forge) talks(ctx context.Context, nodes []string) (map[int]talk, error) {
	found := map[int]talk{}
	for len(nodes) > 0 {
		n := min(batch, len(nodes))
		if err := f.talkPage(ctx, nodes[:n], nil, nil, found); err != nil {
			return nil, err
		}
		nodes = nodes[n:]
	}
	return found, nil
}

func (f *Forge) talkPage(ctx context.Context, nodes []string, reviews, threads *githubv4.String,
	found map[int]talk) error {
	ids := make([]githubv4.ID, len(nodes))
	for i, n := range nodes {
		ids[i] = n
	}
	var q talkQuery
	if err := f.author.query(ctx, &q, map[string]any{"ids": ids, "reviews": reviews, "threads": threads}); err != nil {
		return err
	}
	for _, node := range q.Nodes {
		p := node.Pull
		t, known := found[p.Number]
		if !known {
			t = talk{lines: map[string]int{}, threads: map[string]thread{}}
		}
		for _, r := range p.Reviews.Nodes {
			if s, ok := inReview(r, p.Number); ok {
				t.reviews = append(t.reviews, s)
				t.lines[s.ID] = r.Comments.TotalCount
			}
		}
		for _, th := range p.ReviewThreads.Nodes {
			if len(th.Comments.Nodes) > 0 {
				who := ""
				if th.ResolvedBy != nil {
					who = forge.Name(th.ResolvedBy.Login, forge.MaxName)
				}
				t.threads[idFrom(th.Comments.Nodes[0].URL, "#discussion_r", forge.OnLine)] = thread{th.ID, th.IsResolved,
					th.IsOutdated, who}
			}
		}
		t.reviews = unique(t.reviews)
		found[p.Number] = t
		r, th := p.Reviews.PageInfo, p.ReviewThreads.PageInfo
		if r.HasNextPage || th.HasNextPage {
			// A list that has been read stays at its end while the other goes on.
			if err := f.talkPage(ctx, []string{p.ID}, after(r, reviews), after(th, threads), found); err != nil {
				return err
			}
		}
	}
	return nil
}

func after(p pageInfo, before *githubv4.String) *githubv4.String {
	if p.EndCursor != nil {
		return p.EndCursor
	}
	return before
}

// inReview reads a review. A pending one does not count.
func inReview(r reviewNode, number int) (actor.Said, bool) {
	c := forge.Comment{
		ID: idFrom(r.URL, "#pullrequestreview-", forge.InReview), Kind: forge.InReview, Number: number,
		State: forge.CommentState(strings.ToLower(r.State)), URL: r.URL,
		Created: r.CreatedAt.Time, Updated: r.UpdatedAt.Time,
	}
	if r.Commit != nil {
		c.Commit = r.Commit.Oid
	}
	if r.SubmittedAt != nil {
		c.Created = r.SubmittedAt.Time
	}
	u := &gh.User{}
	if r.Author != nil {
		login := r.Author.Login
		if r.Author.Typename == "Bot" && !strings.HasSuffix(login, "[bot]") {
			login += "[bot]" // as REST has it; GraphQL leaves it out
		}
		u.Login, u.Type = &login, &r.Author.Typename
	}
	return speak(r.Body, u, c), r.State != "PENDING"
}

// idFrom reads the number of a comment from its address: the ids that GraphQL gives are too small for today's numbers.
func idFrom(url, mark string, kind forge.CommentKind) string {
	_, number, _ := strings.Cut(url, mark)
	n, _ := strconv.ParseInt(number, 10, 64)
	return forge.ID(kind, n)
}

// query asks GraphQL. Its refusals come with status 200.
func (a *account) query(ctx context.Context, q any, vars map[string]any) error {
	return a.graphError(a.graph.Query(wire.AsQuery(ctx), q, vars))
}

// mutate makes a change that may be repeated.
func (a *account) mutate(ctx context.Context, m any, input githubv4.Input) error {
	return a.graphError(a.graph.Mutate(wire.AsRead(ctx), m, input, nil))
}

func (a *account) graphError(err error) error {
	for _, known := range []any{new(*forge.UnavailableError), new(*forge.LimitError), new(*forge.TokenError),
		new(*forge.PermissionError),
		new(*forge.NotFoundError), new(*forge.RejectedError), new(*forge.CertificateError)} {
		if errors.As(err, known) {
			return err
		}
	}
	if err == nil || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return err
	}
	if limit := a.transport.Blocked("graphql"); limit != nil {
		return limit
	}
	return &forge.RejectedError{What: "GraphQL", Status: 200, Message: forge.Name(err.Error(), 600)}
}
