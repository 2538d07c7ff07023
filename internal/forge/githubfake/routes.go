package githubfake

import (
	"io"
	"net/http"
	"strings"
)

// route is one operation, under the path that GitHub's schema has for it.
type route struct {
	method, path string
	app          bool // authorised as an App
	do           func(*call) answer
}

func (s *Server) table() []route {
	const r = "/repos/{owner}/{repo}"
	return []route{
		{"GET", "/app", true, s.getApp},
		{"POST", "/app/installations/{installation_id}/access_tokens", true, s.createInstallationToken},
		{"GET", r + "/installation", true, s.getInstallation},
		{"GET", "/user", false, s.getUser},
		{"GET", r, false, s.getRepo},
		{"GET", r + "/commits/{ref}/check-runs", false, s.listCheckRuns},
		{"GET", r + "/commits/{ref}/status", false, s.getStatus},
		{"GET", r + "/git/ref/{ref}", false, s.getRef},
		{"DELETE", r + "/git/refs/{ref}", false, s.deleteRef},
		{"GET", r + "/issues/comments", false, s.listAllComments},
		{"GET", r + "/issues/comments/{comment_id}", false, s.getComment},
		{"PATCH", r + "/issues/comments/{comment_id}", false, s.editComment},
		{"DELETE", r + "/issues/comments/{comment_id}", false, s.deleteComment},
		{"POST", r + "/issues/comments/{comment_id}/reactions", false, s.reactComment},
		{"GET", r + "/issues/{issue_number}/comments", false, s.listComments},
		{"POST", r + "/issues/{issue_number}/comments", false, s.createComment},
		{"GET", r + "/pulls", false, s.listPulls},
		{"POST", r + "/pulls", false, s.createPull},
		{"GET", r + "/pulls/comments", false, s.listAllLines},
		{"GET", r + "/pulls/comments/{comment_id}", false, s.getLine},
		{"PATCH", r + "/pulls/comments/{comment_id}", false, s.editLine},
		{"DELETE", r + "/pulls/comments/{comment_id}", false, s.deleteLine},
		{"POST", r + "/pulls/comments/{comment_id}/reactions", false, s.reactLine},
		{"GET", r + "/pulls/{pull_number}", false, s.getPull},
		{"PATCH", r + "/pulls/{pull_number}", false, s.editPull},
		{"GET", r + "/pulls/{pull_number}/comments", false, s.listLines},
		{"POST", r + "/pulls/{pull_number}/comments/{comment_id}/replies", false, s.replyLine},
		{"GET", r + "/pulls/{pull_number}/files", false, s.listFiles},
		{"PUT", r + "/pulls/{pull_number}/merge", false, s.mergePull},
		{"GET", r + "/pulls/{pull_number}/reviews", false, s.listReviews},
		{"POST", r + "/pulls/{pull_number}/reviews", false, s.createReview},
		{"GET", r + "/pulls/{pull_number}/reviews/{review_id}", false, s.getReview},
		{"PUT", r + "/pulls/{pull_number}/reviews/{review_id}/dismissals", false, s.dismissReview},
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
		case is && (strings.HasSuffix(name, "_id") || strings.HasSuffix(name, "_number")) && strings.Trim(got[i], "0123456789") != "":
			return nil, false
		case is:
			params[name] = got[i]
		case w != got[i]:
			return nil, false
		}
	}
	return params, len(want) == len(got)
}

func readBody(r *http.Request) ([]byte, error) {
	defer func() { _ = r.Body.Close() }()
	return io.ReadAll(io.LimitReader(r.Body, 10<<20))
}
