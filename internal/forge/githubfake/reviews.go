package githubfake

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

func (s *Server) reviewObject(c *call, p *pull, v *review) object {
	return object{
		"id": v.id, "user": s.userObject(v.author), "body": v.body, "state": v.state, "html_url": s.reviewURL(c, p, v),
		"submitted_at": stamp(v.submitted), "commit_id": v.commit, "author_association": c.repo.association(v.author),
	}
}

func (s *Server) reviewURL(c *call, p *pull, v *review) string {
	return fmt.Sprintf("%s#pullrequestreview-%d", s.page(c, p), v.id)
}

func (s *Server) lineURL(c *call, p *pull, v *lineComment) string {
	return fmt.Sprintf("%s#discussion_r%d", s.page(c, p), v.id)
}

func (s *Server) lineObject(c *call, p *pull, v *lineComment) object {
	side := "RIGHT"
	if v.old {
		side = "LEFT"
	}
	o := object{
		"id": v.id, "html_url": s.lineURL(c, p, v), "pull_request_review_id": v.review.id,
		"pull_request_url": fmt.Sprintf("%s/api/v3/repos/%s/pulls/%d", c.base, c.repo.full(), p.number),
		"path":             v.path, "commit_id": v.commit, "original_commit_id": v.start, "user": s.userObject(v.author),
		"body": v.body, "created_at": stamp(v.created), "updated_at": stamp(v.updated),
		"author_association": c.repo.association(v.author), "original_line": v.first, "side": side, "subject_type": "line",
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

func (s *Server) listLines(c *call) answer {
	var all []placed[*lineComment]
	for _, p := range c.pulls() {
		for _, v := range p.lines {
			if v.review.state != "PENDING" {
				all = append(all, placed[*lineComment]{p, v})
			}
		}
	}
	all = since(c, all, func(v *lineComment) *comment { return &v.comment })
	return list(c, all, func(v placed[*lineComment]) object { return s.lineObject(c, v.pull, v.v) })
}

// replyLine makes a review without words of its own for the reply, as GitHub does.
func (s *Server) replyLine(c *call) answer {
	root, body := c.line, posted[struct{ Body string }](c).Body
	switch {
	case root.replyTo != 0:
		return fail(404, "Not Found")
	case body == "":
		return fail(422, "body can't be blank")
	}
	v := *root
	v.comment, v.replyTo = s.newComment(c.who.login, body), root.id
	v.resolved, v.resolver = false, ""
	v.review = s.newReview(c.pull, c.who.login, "", "COMMENTED")
	c.line, c.comment, c.pull.lines = &v, &v.comment, append(c.pull.lines, &v)
	s.hook(c.repo, "pull_request_review_comment", "created", c.pull, nil)
	return answer{201, s.shown(c)}
}

// newReview puts a review of the head below a request.
func (s *Server) newReview(p *pull, author, body, state string) *review {
	v := &review{id: s.id(), author: author, body: body, state: state, commit: p.headSHA, submitted: s.time(),
		updated: s.time()}
	p.reviews, p.updated = append(p.reviews, v), s.time()
	return v
}

func (s *Server) listReviews(c *call) answer {
	return list(c, c.pull.reviews, func(v *review) object { return s.reviewObject(c, c.pull, v) })
}

func (s *Server) getReview(c *call) answer { return answer{200, s.reviewObject(c, c.pull, c.review)} }

func (s *Server) editReview(c *call) answer {
	if c.review.author != c.who.login {
		return fail(422, "Unprocessable Entity")
	}
	c.review.body, c.review.updated = posted[struct{ Body string }](c).Body, s.time()
	return s.getReview(c)
}

func (s *Server) dismissReview(c *call) answer {
	c.review.state, c.review.updated, c.pull.updated = "DISMISSED", s.time(), s.time()
	return s.getReview(c)
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
	p, in := c.pull, posted[newReview](c)
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
	commit := cmp.Or(in.CommitID, p.headSHA)
	if commit != p.headSHA {
		// An older commit of the request can be reviewed too, without line comments.
		if _, err := c.repo.git(c.ctx, "merge-base", "--is-ancestor", commit, p.headSHA); err != nil ||
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
		lines = append(lines, &lineComment{comment: s.newComment(c.who.login, l.Body), path: l.Path, text: text,
			line: l.Line, first: l.Line, old: old, commit: commit, start: commit})
	}
	c.review = s.newReview(p, c.who.login, in.Body, state)
	c.review.commit = commit
	for _, l := range lines {
		l.review = c.review
	}
	p.lines = append(p.lines, lines...)
	s.hook(c.repo, "pull_request_review", "submitted", p, nil)
	return s.getReview(c)
}

func unprocessable(message string) answer {
	return answer{422, object{"message": "Unprocessable Entity", "errors": []any{message},
		"documentation_url": "https://docs.github.com/rest"}}
}

// AddLateReview adds a review whose one line comment was drafted long before it was submitted, which its times show.
func (s *Server) AddLateReview(owner, name string, number int, author, body, path string, line int, drafted time.Time) {
	s.change(owner, name, func(r *repo) {
		p := r.find(number)
		v := &lineComment{comment: s.newComment(author, body), review: s.newReview(p, author, "", "COMMENTED"), path: path,
			line: line, first: line, commit: p.headSHA, start: p.headSHA}
		v.created, v.updated = drafted, drafted
		p.lines = append(p.lines, v)
	})
}
