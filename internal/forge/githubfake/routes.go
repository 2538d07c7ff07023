package githubfake

import (
	"cmp"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
)

// route is one operation, under the path that GitHub's schema has for it.
type route struct {
	method, path string
	app          bool // authorised as an App
	do           func(*call) answer
	list         bool // long, and asked for again and again
}

func (s *Server) table() []route {
	const r = "/repos/{owner}/{repo}"
	return []route{
		{method: "GET", path: "/app", app: true, do: s.getApp},
		{method: "POST", path: "/app/installations/{installation_id}/access_tokens", app: true,
			do: s.createInstallationToken},
		{method: "GET", path: r + "/installation", app: true, do: s.getInstallation},
		{method: "GET", path: "/user", do: s.getUser},
		{method: "GET", path: r, do: s.getRepo},
		{method: "GET", path: r + "/activity", do: s.listActivities},
		{method: "GET", path: r + "/collaborators", do: s.listCollaborators},
		{method: "GET", path: r + "/collaborators/{username}/permission", do: s.getPermission},
		{method: "GET", path: r + "/keys", do: s.listKeys},
		{method: "GET", path: r + "/compare/{basehead}", do: s.compare},
		{method: "GET", path: r + "/commits/{ref}/check-runs", do: s.listCheckRuns},
		{method: "GET", path: r + "/commits/{ref}/status", do: s.getStatus},
		{method: "GET", path: r + "/rules/branches/{branch}", do: s.listRules},
		{method: "GET", path: r + "/actions/jobs/{job_id}", do: s.getJob},
		{method: "GET", path: r + "/actions/jobs/{job_id}/logs", do: s.getJobLog},
		{method: "POST", path: r + "/actions/jobs/{job_id}/rerun", do: s.rerunJob},
		{method: "GET", path: r + "/actions/runs/{run_id}", do: s.getRun},
		{method: "GET", path: r + "/git/ref/{ref}", do: s.getRef},
		{method: "DELETE", path: r + "/git/refs/{ref}", do: s.deleteRef},
		{method: "GET", path: r + "/issues/comments", do: s.listComments, list: true},
		{method: "GET", path: r + "/issues/comments/{comment_id}", do: s.getComment},
		{method: "PATCH", path: r + "/issues/comments/{comment_id}", do: s.editComment},
		{method: "DELETE", path: r + "/issues/comments/{comment_id}", do: s.deleteComment},
		{method: "GET", path: r + "/issues/{issue_number}/comments", do: s.listComments},
		{method: "POST", path: r + "/issues/{issue_number}/comments", do: s.createComment},
		{method: "GET", path: r + "/pulls", do: s.listPulls, list: true},
		{method: "POST", path: r + "/pulls", do: s.createPull},
		{method: "GET", path: r + "/pulls/comments", do: s.listLines, list: true},
		{method: "GET", path: r + "/pulls/comments/{comment_id}", do: s.getComment},
		{method: "PATCH", path: r + "/pulls/comments/{comment_id}", do: s.editComment},
		{method: "DELETE", path: r + "/pulls/comments/{comment_id}", do: s.deleteComment},
		{method: "GET", path: r + "/pulls/{pull_number}", do: s.getPull},
		{method: "PATCH", path: r + "/pulls/{pull_number}", do: s.editPull},
		{method: "GET", path: r + "/pulls/{pull_number}/comments", do: s.listLines},
		{method: "POST", path: r + "/pulls/{pull_number}/comments/{comment_id}/replies", do: s.replyLine},
		{method: "GET", path: r + "/pulls/{pull_number}/files", do: s.listFiles},
		{method: "PUT", path: r + "/pulls/{pull_number}/merge", do: s.mergePull},
		{method: "GET", path: r + "/pulls/{pull_number}/reviews", do: s.listReviews},
		{method: "POST", path: r + "/pulls/{pull_number}/reviews", do: s.createReview},
		{method: "GET", path: r + "/pulls/{pull_number}/reviews/{review_id}", do: s.getReview},
		{method: "PUT", path: r + "/pulls/{pull_number}/reviews/{review_id}", do: s.editReview},
		{method: "PUT", path: r + "/pulls/{pull_number}/reviews/{review_id}/dismissals", do: s.dismissReview},
	}
}

// match finds the route of a request. Words go before parameters, and a last parameter takes all that is left.
func (s *Server) match(r *http.Request) (*route, map[string]string) {
	path, ok := strings.CutPrefix(r.URL.Path, "/api/v3/")
	if !ok {
		return nil, nil
	}
	got := strings.Split(path, "/")
	for i := range s.routes {
		if rt := &s.routes[i]; rt.method == r.Method {
			if params, ok := rt.matches(got); ok {
				return rt, params
			}
		}
	}
	return nil, nil
}

func (rt *route) matches(got []string) (map[string]string, bool) {
	want := strings.Split(strings.TrimPrefix(rt.path, "/"), "/")
	params := map[string]string{}
	for i, w := range want {
		if i >= len(got) {
			return nil, false
		}
		name, is := strings.CutPrefix(w, "{")
		name = strings.TrimSuffix(name, "}")
		switch {
		case is && i == len(want)-1 && name == "ref":
			params[name] = strings.Join(got[i:], "/")
			return params, true
		case is && (strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_number")) &&
			strings.Trim(got[i], "0123456789") != "":
			return nil, false
		case is:
			params[name] = got[i]
		case w != got[i]:
			return nil, false
		}
	}
	return params, len(want) == len(got)
}

// find finds what the path of a request names, and says whether it is there.
func (c *call) find() bool {
	number := func(names ...string) (n int64) {
		for _, name := range names {
			n, _ = strconv.ParseInt(cmp.Or(c.params[name], fmt.Sprint(n)), 10, 64)
		}
		return n
	}
	pull, comment, review, job := number("pull_number", "issue_number"), number("comment_id"), number("review_id"),
		number("job_id")
	if c.repo == nil {
		return true
	}
	c.pull = c.repo.find(int(pull))
	onLines := strings.Contains(c.r.URL.Path, "/pulls/")
	for _, p := range c.repo.pulls {
		if pull != 0 && p != c.pull {
			continue
		}
		for _, v := range p.comments {
			if v.id == comment && !onLines {
				c.pull, c.comment = p, v
			}
		}
		for _, v := range p.lines {
			if v.id == comment && onLines {
				c.pull, c.comment, c.line = p, &v.comment, v
			}
		}
		for _, v := range p.reviews {
			if v.id == review {
				c.review = v
			}
		}
	}
	for _, j := range c.repo.jobs {
		if j.id == job {
			c.job = j
		}
	}
	for name, found := range map[string]bool{"pull_number": c.pull != nil, "issue_number": c.pull != nil,
		"comment_id": c.comment != nil, "review_id": c.review != nil, "job_id": c.job != nil} {
		if _, named := c.params[name]; named && !found {
			return false
		}
	}
	return true
}

func readBody(r *http.Request) ([]byte, error) {
	defer func() { _ = r.Body.Close() }()
	return io.ReadAll(io.LimitReader(r.Body, 10<<20))
}
