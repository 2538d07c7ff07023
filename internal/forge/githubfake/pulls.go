package githubfake

import (
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"
)

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339) }

func (s *Server) userObject(login string) object {
	kind := "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	return object{"login": login, "id": 1, "node_id": "U_" + login, "type": kind, "site_admin": false}
}

func (s *Server) repoObject(c *call) object {
	r := c.repo
	return object{
		"id": 1, "name": r.name, "full_name": r.full(), "private": r.private, "owner": s.userObject(r.owner),
		"default_branch": "main",
	}
}

func (s *Server) getUser(c *call) answer {
	o := s.userObject(c.who.login)
	o["user_view_type"] = "private"
	return answer{200, o}
}

func (s *Server) getRepo(c *call) answer {
	o := s.repoObject(c)
	w := c.repo.canWrite(c.who.login) && !c.who.readOnly
	o["permissions"] = object{"admin": false, "maintain": false, "push": w, "triage": w, "pull": true}
	return answer{200, o}
}

// getPermission answers those who may push, as GitHub does.
func (s *Server) getPermission(c *call) answer {
	if !c.repo.canWrite(c.who.login) {
		return fail(403, "Must have push access to view collaborator permission.")
	}
	login := c.params["username"]
	permission := "read" // of a public repository, for everyone
	switch {
	case !slices.ContainsFunc(slices.Collect(maps.Values(s.tokens)), func(t token) bool { return t.login == login }):
		return fail(404, login+" is not a user")
	case login == c.repo.owner:
		permission = "admin"
	case c.repo.canWrite(login):
		permission = "write"
	}
	return answer{200, object{"permission": permission, "role_name": permission, "user": s.userObject(login)}}
}

// AddCollaborator lets somebody into a repository, or lets them only read.
func (s *Server) AddCollaborator(owner, name, login string, write bool) {
	s.change(owner, name, func(r *repo) {
		is := func(who string) bool { return who == login }
		r.writers, r.readers = slices.DeleteFunc(r.writers, is), slices.DeleteFunc(r.readers, is)
		if write {
			r.writers = append(r.writers, login)
		} else {
			r.readers = append(r.readers, login)
		}
	})
}

// compare gives the merge base of two commits, and little else of what GitHub gives.
func (s *Server) compare(c *call) answer {
	base, head, ok := strings.Cut(c.params["basehead"], "...")
	if at := c.repo.ref(base); at != "" {
		base = at
	}
	at, err := c.repo.git(c.ctx, "merge-base", base, head)
	if !ok || err != nil {
		return fail(404, "Not Found")
	}
	return answer{200, object{"base_commit": object{"sha": base}, "merge_base_commit": object{"sha": at}}}
}

func (s *Server) pullObject(c *call, p *pull) object {
	state, merged := "open", any(nil)
	if p.closed {
		state = "closed"
	}
	if p.merged != nil {
		merged = stamp(*p.merged)
	}
	end := func(ref, sha string) object {
		return object{"label": c.repo.owner + ":" + ref, "ref": ref, "sha": sha, "user": s.userObject(c.repo.owner),
			"repo": s.repoObject(c)}
	}
	return object{
		"id": p.number, "node_id": nodeID("PR", c.repo, int64(p.number)), "html_url": s.page(c, p), "number": p.number,
		"state": state, "title": p.title, "body": p.body, "user": s.userObject(p.author),
		"created_at": stamp(p.created), "updated_at": stamp(p.updated), "merged_at": merged, "draft": p.draft,
		"head": end(p.head, p.headSHA), "base": end(p.base, p.baseSHA),
		"author_association": c.repo.association(p.author),
	}
}

func nodeID(kind string, r *repo, n int64) string { return fmt.Sprintf("%s_%s#%d", kind, r.full(), n) }

func (s *Server) page(c *call, p *pull) string {
	return fmt.Sprintf("%s/%s/pull/%d", c.base, c.repo.full(), p.number)
}

func (s *Server) getPull(c *call) answer {
	p := c.pull
	o := s.pullObject(c, p)
	o["merged"] = p.merged != nil
	o["mergeable"] = nil
	if !p.closed {
		o["mergeable"] = c.repo.mergeTree(c.ctx, c.repo.ref(p.base), p.headSHA) != ""
	}
	o["mergeable_state"], o["comments"], o["review_comments"] = "unknown", len(p.comments), len(p.lines)
	if c.repo.behind(c.ctx, p) {
		o["mergeable_state"] = "behind"
	}
	if c.repo.byRule {
		o["mergeable_state"] = "blocked"
	}
	return answer{200, o}
}

func (s *Server) listPulls(c *call) answer {
	q := c.r.URL.Query()
	var all []*pull
	for _, p := range c.repo.pulls {
		state := q.Get("state")
		if state == "" {
			state = "open"
		}
		if state != "all" && (state == "closed") != p.closed {
			continue
		}
		if head := q.Get("head"); head != "" && head != c.repo.owner+":"+p.head {
			continue
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b *pull) int {
		if q.Get("sort") == "updated" {
			return a.updated.Compare(b.updated)
		}
		return a.number - b.number
	})
	if q.Get("direction") == "desc" || q.Get("direction") == "" && q.Get("sort") != "updated" {
		slices.Reverse(all)
	}
	return list(c, all, func(p *pull) object { return s.pullObject(c, p) })
}

func (s *Server) createPull(c *call) answer {
	in := posted[struct {
		Title, Head, Base, Body string
		Draft                   bool
	}](c)
	if !c.repo.canWrite(c.who.login) {
		return fail(403, "Resource not accessible by personal access token")
	}
	for _, p := range c.repo.pulls {
		if p.head == in.Head && p.base == in.Base && !p.closed {
			return invalid("A pull request already exists for " + c.repo.owner + ":" + in.Head + ".")
		}
	}
	head, base := c.repo.ref(in.Head), c.repo.ref(in.Base)
	if head == "" || base == "" {
		return invalid("head or base is not a branch")
	}
	if head == base {
		return invalid("No commits between " + in.Base + " and " + in.Head)
	}
	p := &pull{
		number: len(c.repo.pulls) + 1, title: in.Title, body: in.Body, author: c.who.login, head: in.Head, base: in.Base,
		headSHA: head, baseSHA: base,
		draft: in.Draft, created: s.time(), updated: s.time(),
	}
	c.repo.pulls = append(c.repo.pulls, p)
	s.hook(c.repo, "pull_request", "opened", p, nil)
	o := s.pullObject(c, p)
	o["merged"], o["mergeable"], o["mergeable_state"] = false, nil, "unknown"
	return answer{201, o}
}

func invalid(message string) answer {
	return answer{422, object{"message": "Validation Failed", "documentation_url": "https://docs.github.com/rest",
		"errors": []any{object{"resource": "PullRequest", "code": "custom", "message": message}}}}
}

func (s *Server) editPull(c *call) answer {
	p := c.pull
	in := posted[struct{ Title, Body, State, Base *string }](c)
	if in.Title != nil {
		p.title = *in.Title
	}
	if in.Body != nil {
		p.body = *in.Body
	}
	if in.State != nil {
		p.closed = *in.State == "closed"
	}
	if in.Base != nil {
		if c.repo.ref(*in.Base) == "" {
			return invalid("Proposed base branch '" + *in.Base + "' was not found")
		}
		p.base, p.baseSHA = *in.Base, c.repo.ref(*in.Base)
	}
	p.updated = s.time()
	s.hook(c.repo, "pull_request", "edited", p, nil)
	return s.getPull(c)
}

func (s *Server) mergePull(c *call) answer {
	p := c.pull
	in := posted[struct{ SHA string }](c)
	if !c.repo.canWrite(c.who.login) {
		return fail(403, "Must have write access")
	}
	if in.SHA != "" && in.SHA != p.headSHA {
		return fail(409, "Head branch was modified. Review and try the merge again.")
	}
	if p.closed {
		return fail(405, "Pull Request is not mergeable")
	}
	if c.repo.behind(c.ctx, p) {
		return fail(405, "Head branch is out of date: review and try the merge again.")
	}
	sha, err := c.repo.merge(c.ctx, p)
	if err != nil {
		return fail(405, "Pull Request is not mergeable")
	}
	now := s.time()
	p.closed, p.merged, p.updated = true, &now, now
	s.hook(c.repo, "pull_request", "closed", p, nil)
	return answer{200, object{"sha": sha, "merged": true, "message": "Pull Request successfully merged"}}
}

func (s *Server) listFiles(c *call) answer {
	p := c.pull
	_, files := s.diff(c.ctx, c.repo, p)
	return list(c, files, maps.Clone[object])
}

func (s *Server) getRef(c *call) answer {
	branch := strings.TrimPrefix(c.params["ref"], "heads/")
	sha := c.repo.ref(branch)
	if sha == "" {
		return fail(404, "Not Found")
	}
	return answer{200, object{"ref": "refs/heads/" + branch, "node_id": "REF", "url": c.base,
		"object": object{"type": "commit", "sha": sha, "url": c.base}}}
}

func (s *Server) deleteRef(c *call) answer {
	branch := strings.TrimPrefix(c.params["ref"], "heads/")
	if c.repo.ref(branch) == "" {
		return invalid("Reference does not exist")
	}
	if err := os.Remove(filepath.Join(c.repo.dir, "refs", "heads", filepath.FromSlash(branch))); err != nil {
		return fail(http.StatusConflict, err.Error())
	}
	return answer{status: 204}
}
