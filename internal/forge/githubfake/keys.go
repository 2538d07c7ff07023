package githubfake

import "slices"

// AddDeployKey makes a deploy key, as its owner adds one, with a token instead of an SSH key to push with. What is
// pushed with it is shown as pushed by who added it.
func (s *Server) AddDeployKey(owner, name, secret string, readOnly bool) {
	s.change(owner, name, func(r *repo) {
		r.keys = append(r.keys, object{"id": s.id(), "created_at": stamp(s.time()), "read_only": readOnly, "added_by": owner})
		s.tokens[secret] = token{login: owner, readOnly: readOnly}
	})
}

// listKeys answers administrators; to others there is nothing.
func (s *Server) listKeys(c *call) answer {
	if c.who.login != c.repo.owner {
		return fail(404, "Not Found")
	}
	out := []any{}
	for _, k := range c.repo.keys {
		out = append(out, k)
	}
	return answer{200, out}
}

func (s *Server) listCollaborators(c *call) answer {
	if !c.repo.canWrite(c.who.login) {
		return fail(403, "Must have push access to view repository collaborators.")
	}
	logins := []string{c.repo.owner}
	if c.r.URL.Query().Get("permission") != "admin" {
		logins = slices.Concat(logins, c.repo.writers, c.repo.readers, c.repo.members)
	}
	out := []any{}
	for _, login := range logins {
		o := s.userObject(login)
		o["role_name"] = "admin"
		if login != c.repo.owner {
			o["role_name"] = "write"
		}
		out = append(out, o)
	}
	return answer{200, out}
}
