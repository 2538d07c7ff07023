package githubfake

import (
	"cmp"
	"fmt"
	"slices"
	"time"
)

func (s *Server) commentObject(c *call, p *pull, v *comment) object {
	api := fmt.Sprintf("%s/api/v3/repos/%s/issues", c.base, c.repo.full())
	return object{
		"id": v.id, "issue_url": fmt.Sprintf("%s/%d", api, p.number),
		"html_url": fmt.Sprintf("%s#issuecomment-%d", s.page(c, p), v.id), "body": v.body, "user": s.userObject(v.author),
		"created_at": stamp(v.created), "updated_at": stamp(v.updated), "author_association": c.repo.association(v.author),
	}
}

// placed is a comment and where it is.
type placed[T any] struct {
	pull *pull
	v    T
}

// since keeps what changed at or after the time that a request names, and sorts as it asks.
func since[T any](c *call, all []placed[T], of func(T) *comment) []placed[T] {
	q := c.r.URL.Query()
	if from, err := time.Parse(time.RFC3339, q.Get("since")); err == nil {
		all = slices.DeleteFunc(all, func(p placed[T]) bool { return of(p.v).updated.Before(from) })
	}
	slices.SortStableFunc(all, func(x, y placed[T]) int {
		a, b, order := of(x.v), of(y.v), 0
		switch q.Get("sort") {
		case "updated":
			order = a.updated.Compare(b.updated)
		case "created":
			order = a.created.Compare(b.created)
		}
		order = cmp.Or(order, cmp.Compare(a.id, b.id))
		if q.Get("direction") == "desc" {
			order = -order
		}
		return order
	})
	return all
}

// pulls is the request that a call is about, or all.
func (c *call) pulls() []*pull {
	if c.pull != nil {
		return []*pull{c.pull}
	}
	return c.repo.pulls
}

func (s *Server) listComments(c *call) answer {
	var all []placed[*comment]
	for _, p := range c.pulls() {
		for _, v := range p.comments {
			all = append(all, placed[*comment]{p, v})
		}
	}
	all = since(c, all, func(v *comment) *comment { return v })
	return list(c, all, func(v placed[*comment]) object { return s.commentObject(c, v.pull, v.v) })
}

func (s *Server) createComment(c *call) answer {
	body := posted[struct{ Body string }](c).Body
	if body == "" {
		return invalid("body can't be blank")
	}
	c.comment = s.say(c.repo, c.pull, c.who.login, body)
	return answer{201, s.shown(c)}
}

// say puts a comment below a request.
func (s *Server) say(r *repo, p *pull, author, body string) *comment {
	v := s.newComment(author, body)
	p.comments, p.updated = append(p.comments, &v), s.time()
	s.hook(r, "issue_comment", "created", p, nil)
	return &v
}

func (s *Server) newComment(author, body string) comment {
	return comment{id: s.id(), author: author, body: body, created: s.time(), updated: s.time()}
}

// shown is the comment that a call is about.
func (s *Server) shown(c *call) object {
	if c.line != nil {
		return s.lineObject(c, c.pull, c.line)
	}
	return s.commentObject(c, c.pull, c.comment)
}

func (s *Server) getComment(c *call) answer { return answer{200, s.shown(c)} }

// editComment does not touch the request's own time of change, as on GitHub.
func (s *Server) editComment(c *call) answer {
	c.comment.body, c.comment.updated = posted[struct{ Body string }](c).Body, s.time()
	s.hook(c.repo, c.event(), "edited", c.pull, nil)
	return answer{200, s.shown(c)}
}

func (s *Server) deleteComment(c *call) answer {
	p := c.pull
	p.comments = slices.DeleteFunc(p.comments, func(x *comment) bool { return x == c.comment })
	p.lines = slices.DeleteFunc(p.lines, func(x *lineComment) bool { return x == c.line })
	s.hook(c.repo, c.event(), "deleted", p, nil)
	return answer{status: 204}
}

// event is what hooks call a change of the comment that a call is about.
func (c *call) event() string {
	if c.line != nil {
		return "pull_request_review_comment"
	}
	return "issue_comment"
}
