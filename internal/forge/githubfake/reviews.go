package githubfake

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

func (s *Server) reviewObject(c *call, p *pull, v *review) object {
	return object{
		"id": v.id, "node_id": nodeID("PRR", c.repo, v.id), "user": s.userObject(v.author), "body": v.body, "state": v.state,
		"html_url": s.reviewURL(c, p, v), "pull_request_url": fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", c.base,
			c.repo.full(), p.number),
		"submitted_at": stamp(v.submitted), "commit_id": v.commit, "author_association": c.repo.association(v.author),
		"_links": object{"html": object{"href": c.base}, "pull_request": object{"href": c.base}},
	}
}

func (s *Server) reviewURL(c *call, p *pull, v *review) string {
	return fmt.Sprintf("%s#pullrequestreview-%d", s.page(c, p), v.id)
}

func (s *Server) lineURL(c *call, p *pull, v *lineComment) string {
	return fmt.Sprintf("%s#discussion_r%d", s.page(c, p), v.id)
}

func (s *Server) lineObject(c *call, p *pull, v *lineComment) object {
	api := fmt.Sprintf("%s/api/v3/repos/%s/pulls", c.base, c.repo.full())
	side := "RIGHT"
	if v.old {
		side = "LEFT"
	}
	o := object{
		"id": v.id, "node_id": nodeID("PRRC", c.repo, v.id), "url": fmt.Sprintf("%s/comments/%d", api, v.id),
		"html_url":         s.lineURL(c, p, v),
		"pull_request_url": fmt.Sprintf("%s/%d", api, p.number), "pull_request_review_id": v.review.id,
		"diff_hunk": "@@ -1 +1 @@\n+" + v.text,
		"path":      v.path, "commit_id": v.commit, "original_commit_id": v.start, "user": s.userObject(v.author),
		"body":       v.body,
		"created_at": stamp(v.created), "updated_at": stamp(v.updated), "author_association": c.repo.association(v.author),
		"original_line": v.first, "side": side, "subject_type": "line",
		"_links": object{"self": object{"href": api}, "html": object{"href": api}, "pull_request": object{"href": api}},
	}
	if v.replyTo != 0 {
		o["in_reply_to_id"] = v.replyTo
	}
	if v.line != 0 {
		o["line"], o["position"] = v.line, v.line
	}
	return o
}

// reallyNull sets what GitHub really sends for outdated comments, against its schema. It comes after the check.
func reallyNull(v any) bool {
	switch v := v.(type) {
	case object:
		if _, has := v["line"]; v["subject_type"] == "line" && !has {
			v["line"], v["position"] = nil, nil
			return true
		}
	case []any:
		found := false
		for _, x := range v {
			found = reallyNull(x) || found
		}
		return found
	}
	return false
}

func (s *Server) lineTimes(v *lineComment) (int64, time.Time, time.Time) {
	return v.id, v.created, v.updated
}

func visible(p *pull) (all []placed[*lineComment]) {
	for _, v := range p.lines {
		if v.review.state != "PENDING" {
			all = append(all, placed[*lineComment]{p, v})
		}
	}
	return all
}

func (s *Server) listLines(c *call) answer {
	p := s.pull(c)
	if p == nil {
		return fail(404, "Not Found")
	}
	return list(c, since(c, visible(p), s.lineTimes),
		func(v placed[*lineComment]) object { return s.lineObject(c, v.pull, v.v) })
}

func (s *Server) listAllLines(c *call) answer {
	var all []placed[*lineComment]
	for _, p := range c.repo.pulls {
		all = append(all, visible(p)...)
	}
	return list(c, since(c, all, s.lineTimes), func(v placed[*lineComment]) object { return s.lineObject(c, v.pull, v.v) })
}

func (s *Server) findLine(c *call) (*pull, *lineComment) {
	id, _ := strconv.ParseInt(c.params["comment_id"], 10, 64)
	for _, p := range c.repo.pulls {
		for _, v := range p.lines {
			if v.id == id {
				return p, v
			}
		}
	}
	return nil, nil
}

func (s *Server) getLine(c *call) answer {
	p, v := s.findLine(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	return answer{200, s.lineObject(c, p, v)}
}

func (s *Server) editLine(c *call) answer {
	p, v := s.findLine(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	var in struct{ Body string }
	if err := json.Unmarshal(c.body, &in); err != nil {
		return fail(400, "Problems parsing JSON")
	}
	v.body, v.updated = in.Body, s.time()
	s.hook(c.repo, "pull_request_review_comment", "edited", p, nil)
	return answer{200, s.lineObject(c, p, v)}
}

func (s *Server) deleteLine(c *call) answer {
	p, v := s.findLine(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	p.lines = slices.DeleteFunc(p.lines, func(x *lineComment) bool { return x == v })
	return answer{status: 204}
}

// replyLine makes a review without words of its own for the reply, as GitHub does.
func (s *Server) replyLine(c *call) answer {
	p, root := s.findLine(c)
	if root == nil || p != s.pull(c) || root.replyTo != 0 {
		return fail(404, "Not Found")
	}
	var in struct{ Body string }
	if err := json.Unmarshal(c.body, &in); err != nil || in.Body == "" {
		return fail(422, "body can't be blank")
	}
	now := s.time()
	rv := &review{id: s.id(), author: c.who.login, state: "COMMENTED", commit: p.headSHA, submitted: now, updated: now}
	v := &lineComment{
		comment: comment{id: s.id(), author: c.who.login, body: in.Body, created: now, updated: now}, review: rv,
		replyTo: root.id,
		path:    root.path, text: root.text, line: root.line, first: root.first, old: root.old, commit: root.commit,
		start: root.start,
	}
	p.reviews, p.lines, p.updated = append(p.reviews, rv), append(p.lines, v), now
	s.hook(c.repo, "pull_request_review_comment", "created", p, nil)
	return answer{201, s.lineObject(c, p, v)}
}

func (s *Server) listReviews(c *call) answer {
	p := s.pull(c)
	if p == nil {
		return fail(404, "Not Found")
	}
	return list(c, p.reviews, func(v *review) object { return s.reviewObject(c, p, v) })
}

func (s *Server) findReview(c *call) (*pull, *review) {
	id, _ := strconv.ParseInt(c.params["review_id"], 10, 64)
	p := s.pull(c)
	if p != nil {
		for _, v := range p.reviews {
			if v.id == id {
				return p, v
			}
		}
	}
	return nil, nil
}

func (s *Server) getReview(c *call) answer {
	p, v := s.findReview(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	return answer{200, s.reviewObject(c, p, v)}
}

func (s *Server) editReview(c *call) answer {
	p, v := s.findReview(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	var in struct{ Body string }
	if err := json.Unmarshal(c.body, &in); err != nil || v.author != c.who.login {
		return fail(422, "Unprocessable Entity")
	}
	v.body, v.updated = in.Body, s.time()
	return answer{200, s.reviewObject(c, p, v)}
}

func (s *Server) dismissReview(c *call) answer {
	p, v := s.findReview(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	v.state, v.updated, p.updated = "DISMISSED", s.time(), s.time()
	return answer{200, s.reviewObject(c, p, v)}
}

type newReview struct {
	Body     string
	Event    string
	CommitID string `json:"commit_id"`
	Comments []struct {
		Path, Body, Side string
		Line             int
	}
}

// createReview is all or nothing, as GitHub is: one line outside the diff and the whole review is refused.
func (s *Server) createReview(c *call) answer {
	p := s.pull(c)
	if p == nil {
		return fail(404, "Not Found")
	}
	var in newReview
	if err := json.Unmarshal(c.body, &in); err != nil {
		return fail(400, "Problems parsing JSON")
	}
	state, ok := map[string]string{"": "PENDING", "COMMENT": "COMMENTED", "APPROVE": "APPROVED",
		"REQUEST_CHANGES": "CHANGES_REQUESTED"}[in.Event]
	switch {
	case !ok:
		return unprocessable("event is not included in the list")
	case p.author == c.who.login && (in.Event == "APPROVE" || in.Event == "REQUEST_CHANGES"):
		return unprocessable("Can not " + strings.ToLower(strings.ReplaceAll(in.Event, "_", " ")) + " your own pull request")
	case in.Event == "COMMENT" && strings.TrimSpace(in.Body) == "" && len(in.Comments) == 0,
		in.Event == "REQUEST_CHANGES" && strings.TrimSpace(in.Body) == "":
		return unprocessable("body can't be blank")
	}
	now := s.time()
	rv := &review{id: s.id(), author: c.who.login, body: in.Body, state: state, commit: cmp.Or(in.CommitID, p.headSHA),
		submitted: now, updated: now}
	if in.CommitID != "" && in.CommitID != p.headSHA {
		// An older commit of the request can be reviewed too, without line comments.
		if _, err := c.repo.git(c.ctx, "merge-base", "--is-ancestor", in.CommitID, p.headSHA); err != nil ||
			len(in.Comments) > 0 {
			return unprocessable("Commit is not part of the pull request")
		}
	}
	diff, _ := s.diff(c.ctx, c.repo, p)
	var lines []*lineComment
	for _, l := range in.Comments {
		old := l.Side == "LEFT"
		text, ok := diff.Line(l.Path, l.Line, old)
		if !ok {
			return unprocessable("Pull request review thread line must be part of the diff")
		}
		lines = append(lines, &lineComment{
			comment: comment{id: s.id(), author: c.who.login, body: l.Body, created: now, updated: now}, review: rv,
			path: l.Path, text: text, line: l.Line, first: l.Line, old: old, commit: rv.commit, start: rv.commit,
		})
	}
	p.reviews, p.lines, p.updated = append(p.reviews, rv), append(p.lines, lines...), now
	s.hook(c.repo, "pull_request_review", "submitted", p, nil)
	return answer{200, s.reviewObject(c, p, rv)}
}

func unprocessable(message string) answer {
	return answer{422, object{"message": "Unprocessable Entity", "errors": []any{message},
		"documentation_url": "https://docs.github.com/rest"}}
}

// AddLateReview adds a review whose one line comment was drafted long before it was submitted, which its times show.
func (s *Server) AddLateReview(owner, name string, number int, author, body, path string, line int, drafted time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	r := s.repos[owner+"/"+name]
	p := r.find(number)
	r.version++
	rv := &review{id: s.id(), author: author, state: "COMMENTED", commit: p.headSHA, submitted: s.time(),
		updated: s.time()}
	p.reviews, p.updated = append(p.reviews, rv), s.time()
	p.lines = append(p.lines, &lineComment{
		comment: comment{id: s.id(), author: author, body: body, created: drafted, updated: drafted}, review: rv,
		path: path, line: line, first: line, commit: p.headSHA, start: p.headSHA,
	})
}
