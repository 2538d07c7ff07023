package githubfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"time"
)

func (s *Server) commentObject(c *call, p *pull, v *comment) object {
	api := fmt.Sprintf("%s/api/v3/repos/%s/issues", c.base, c.repo.full())
	return object{
		"id": v.id, "node_id": nodeID("IC", c.repo, v.id), "url": fmt.Sprintf("%s/comments/%d", api, v.id),
		"issue_url": fmt.Sprintf("%s/%d", api, p.number),
		"html_url":  fmt.Sprintf("%s#issuecomment-%d", s.page(c, p), v.id), "body": v.body, "user": s.userObject(v.author),
		"created_at": stamp(v.created), "updated_at": stamp(v.updated), "author_association": c.repo.association(v.author),
	}
}

// placed is a comment and where it is.
type placed[T any] struct {
	pull *pull
	v    T
}

// since keeps what changed at or after the time that a request names, and sorts as it asks.
func since[T any](c *call, all []placed[T], at func(T) (id int64, created, updated time.Time)) []placed[T] {
	q := c.r.URL.Query()
	if from, err := time.Parse(time.RFC3339, q.Get("since")); err == nil {
		all = slices.DeleteFunc(all, func(p placed[T]) bool {
			_, _, updated := at(p.v)
			return updated.Before(from)
		})
	}
	slices.SortStableFunc(all, func(a, b placed[T]) int {
		ai, ac, au := at(a.v)
		bi, bc, bu := at(b.v)
		order := 0
		switch q.Get("sort") {
		case "updated":
			order = au.Compare(bu)
		case "created":
			order = ac.Compare(bc)
		}
		if order == 0 {
			order = int(min(1, max(-1, ai-bi)))
		}
		if q.Get("direction") == "desc" {
			order = -order
		}
		return order
	})
	return all
}

func times(v *comment) (int64, time.Time, time.Time) { return v.id, v.created, v.updated }

func (s *Server) listComments(c *call) answer {
	p := s.pull(c)
	if p == nil {
		return fail(404, "Not Found")
	}
	var all []placed[*comment]
	for _, v := range p.comments {
		all = append(all, placed[*comment]{p, v})
	}
	return list(c, since(c, all, times), func(v placed[*comment]) object { return s.commentObject(c, v.pull, v.v) })
}

func (s *Server) listAllComments(c *call) answer {
	var all []placed[*comment]
	for _, p := range c.repo.pulls {
		for _, v := range p.comments {
			all = append(all, placed[*comment]{p, v})
		}
	}
	return list(c, since(c, all, times), func(v placed[*comment]) object { return s.commentObject(c, v.pull, v.v) })
}

func (s *Server) createComment(c *call) answer {
	p := s.pull(c)
	if p == nil {
		return fail(404, "Not Found")
	}
	var in struct{ Body string }
	if err := json.Unmarshal(c.body, &in); err != nil || in.Body == "" {
		return invalid("body can't be blank")
	}
	v := &comment{id: s.id(), author: c.who.login, body: in.Body, created: s.time(), updated: s.time()}
	p.comments, p.updated = append(p.comments, v), s.time()
	s.hook(c.repo, "issue_comment", "created", p, nil)
	return answer{201, s.commentObject(c, p, v)}
}

func (s *Server) findComment(c *call) (*pull, *comment) {
	id, _ := strconv.ParseInt(c.params["comment_id"], 10, 64)
	for _, p := range c.repo.pulls {
		for _, v := range p.comments {
			if v.id == id {
				return p, v
			}
		}
	}
	return nil, nil
}

func (s *Server) getComment(c *call) answer {
	p, v := s.findComment(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	return answer{200, s.commentObject(c, p, v)}
}

// editComment does not touch the request's own time of change, as on GitHub.
func (s *Server) editComment(c *call) answer {
	p, v := s.findComment(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	var in struct{ Body string }
	if err := json.Unmarshal(c.body, &in); err != nil {
		return fail(400, "Problems parsing JSON")
	}
	v.body, v.updated = in.Body, s.time()
	s.hook(c.repo, "issue_comment", "edited", p, nil)
	return answer{200, s.commentObject(c, p, v)}
}

func (s *Server) deleteComment(c *call) answer {
	p, v := s.findComment(c)
	if v == nil {
		return fail(404, "Not Found")
	}
	p.comments = slices.DeleteFunc(p.comments, func(x *comment) bool { return x == v })
	s.hook(c.repo, "issue_comment", "deleted", p, nil)
	return answer{status: 204}
}
