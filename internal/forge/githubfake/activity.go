package githubfake

import (
	"context"
	"slices"
	"strings"
	"time"
)

// activity is one movement of a branch, as GitHub records it.
type activity struct {
	id            int64
	kind          string
	who           string
	ref           string
	before, after string
	at            time.Time
}

const nowhere = "0000000000000000000000000000000000000000"

// heads are the branches of a repository.
func (r *repo) heads(ctx context.Context) map[string]string {
	out, _ := r.git(ctx, "for-each-ref", "--format=%(refname) %(objectname)", "refs/heads/")
	all := map[string]string{}
	for line := range strings.Lines(out) {
		if name, sha, ok := strings.Cut(strings.TrimSpace(line), " "); ok {
			all[name] = sha
		}
	}
	return all
}

// recordPush notes which branches a push has moved.
func (s *Server) recordPush(ctx context.Context, r *repo, who string, before map[string]string) {
	after := r.heads(ctx)
	s.mu.Lock()
	defer s.mu.Unlock()
	for ref, sha := range after {
		was := before[ref]
		kind := "push"
		switch was {
		case sha:
			continue
		case "":
			was, kind = nowhere, "branch_creation"
		default:
			if _, err := r.git(ctx, "merge-base", "--is-ancestor", was, sha); err != nil {
				kind = "force_push"
			}
		}
		r.activities = append(r.activities, activity{s.id(), kind, who, ref, was, sha, s.time()})
	}
}

func (s *Server) listActivities(c *call) answer {
	out := []any{}
	for _, a := range slices.Backward(c.repo.activities) {
		if ref := c.r.URL.Query().Get("ref"); ref != "" && ref != a.ref && "refs/heads/"+ref != a.ref {
			continue
		}
		var who any
		if a.who != "" {
			who = s.userObject(a.who)
		}
		out = append(out, object{"id": a.id, "node_id": nodeID("PSH", c.repo, a.id), "before": a.before, "after": a.after,
			"ref": a.ref, "timestamp": stamp(a.at), "activity_type": a.kind, "actor": who})
	}
	return answer{200, out}
}

// SetStrict has a branch take only requests that contain it.
func (s *Server) SetStrict(owner, name, branch string) {
	s.change(owner, name, func(r *repo) { r.strict = branch })
}

// SetStrictRule does so with a ruleset, while something else blocks the merge as well.
func (s *Server) SetStrictRule(owner, name, branch string) {
	s.change(owner, name, func(r *repo) { r.strict, r.byRule = branch, true })
}

// behind says that a request must take in its base before it can be merged.
func (r *repo) behind(ctx context.Context, p *pull) bool {
	if p.closed || r.strict != p.base {
		return false
	}
	_, err := r.git(ctx, "merge-base", "--is-ancestor", r.ref(p.base), p.headSHA)
	return err != nil
}

// markReady ends a request's time as a draft.
func (s *Server) markReady(c *call, args map[string]any) any {
	r, n := s.byNode("PR", input(args, "pullRequestId"))
	if r == nil || !r.canWrite(c.who.login) {
		return nil
	}
	c.repo = r
	p := r.find(int(n))
	if p == nil {
		return nil
	}
	p.draft, p.updated = false, s.time()
	r.version++
	return node{"MarkPullRequestReadyForReviewPayload", object{"pullRequest": node{"PullRequest", object{
		"isDraft": p.draft}}}}
}
