package githubfake

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vektah/gqlparser/v2"
	"github.com/vektah/gqlparser/v2/ast"
	"github.com/vektah/gqlparser/v2/validator"
	"github.com/vektah/gqlparser/v2/validator/rules"
)

// node is an object of GraphQL: fields are values, or functions of their arguments.
type node struct {
	kind   string
	fields object
}

type resolver = func(args map[string]any) any

// graphql answers a query or a mutation that follows the schema.
func (s *Server) graphql(c *call) answer {
	var in struct {
		Query     string
		Variables map[string]any
	}
	if err := json.Unmarshal(c.body, &in); err != nil {
		return fail(400, "Problems parsing JSON")
	}
	doc, errs := gqlparser.LoadQueryWithRules(s.contract.graph, in.Query, rules.NewDefaultRules())
	if errs != nil {
		s.contract.complain("GraphQL %s: %v", in.Query, errs)
		return refuse(errs.Error())
	}
	op := doc.Operations[0]
	vars, err := validator.VariableValues(s.contract.graph, op, in.Variables)
	if err != nil {
		s.contract.complain("GraphQL variables of %s: %v", in.Query, err)
		return refuse(err.Error())
	}
	root := node{"Query", object{
		"nodes": resolver(func(args map[string]any) any { return s.nodes(c, args["ids"]) }),
		"viewer": resolver(func(map[string]any) any {
			return node{"User", object{"login": c.who.login, "id": "U_" + c.who.login}}
		}),
	}}
	if op.Operation == ast.Mutation {
		if c.who.readOnly {
			return refuse("Resource not accessible by personal access token")
		}
		root = node{"Mutation", object{
			"markPullRequestReadyForReview": resolver(func(args map[string]any) any { return s.markReady(c, args) }),
			"resolveReviewThread":           resolver(func(args map[string]any) any { return s.resolveThread(c, args) }),
		}}
	}
	return answer{200, object{"data": s.project(op.SelectionSet, root, vars)}}
}

func refuse(message string) answer {
	return answer{200, object{"errors": []any{object{"message": message}}}}
}

// project picks the requested fields.
func (s *Server) project(set ast.SelectionSet, n node, vars map[string]any) object {
	out := object{}
	for _, sel := range set {
		switch sel := sel.(type) {
		case *ast.Field:
			if sel.Name == "__typename" {
				out[sel.Alias] = n.kind
				continue
			}
			v, known := n.fields[sel.Name]
			if !known {
				s.contract.complain("GraphQL: the fake has no %s.%s", n.kind, sel.Name)
			}
			if f, ok := v.(resolver); ok {
				v = f(sel.ArgumentMap(vars))
			}
			if v == nil && sel.Definition.Type.NonNull {
				s.contract.complain("GraphQL: %s.%s may not be null", n.kind, sel.Name)
			}
			out[sel.Alias] = s.value(sel.SelectionSet, v, vars)
		case *ast.InlineFragment:
			possible := s.contract.graph.GetPossibleTypes(s.contract.graph.Types[sel.TypeCondition])
			if slices.ContainsFunc(possible, func(d *ast.Definition) bool { return d.Name == n.kind }) {
				for k, v := range s.project(sel.SelectionSet, n, vars) {
					out[k] = v
				}
			}
		}
	}
	return out
}

func (s *Server) value(set ast.SelectionSet, v any, vars map[string]any) any {
	switch v := v.(type) {
	case node:
		return s.project(set, v, vars)
	case []any:
		out := []any{}
		for _, x := range v {
			out = append(out, s.value(set, x, vars))
		}
		return out
	}
	return v
}

// nodes finds pull requests by their ids.
func (s *Server) nodes(c *call, ids any) any {
	var out []any
	list, _ := ids.([]any)
	if len(list) > 100 {
		s.contract.complain("GraphQL: %d ids at once, GitHub takes 100", len(list))
	}
	for _, id := range list {
		out = append(out, s.pullNode(c, fmt.Sprint(id)))
	}
	return out
}

func (s *Server) byNode(kind, id string) (*repo, int64) {
	name, number, _ := strings.Cut(strings.TrimPrefix(id, kind+"_"), "#")
	n, _ := strconv.ParseInt(number, 10, 64)
	if !strings.HasPrefix(id, kind+"_") {
		return nil, 0
	}
	return s.repos[name], n
}

func (s *Server) pullNode(c *call, id string) any {
	r, n := s.byNode("PR", id)
	if r == nil || r.private && !r.canWrite(c.who.login) {
		return nil
	}
	p := r.find(int(n))
	if p == nil {
		return nil
	}
	s.refresh(c.ctx, r, p)
	c.repo = r
	var reviews, threads []any
	for _, v := range p.reviews {
		reviews = append(reviews, s.reviewNode(c, p, v))
	}
	for _, v := range p.lines {
		if v.replyTo == 0 && v.review.state != "PENDING" {
			threads = append(threads, s.threadNode(c, p, v))
		}
	}
	return node{"PullRequest", object{
		"id": id, "number": p.number, "reviews": connection("PullRequestReviewConnection", reviews),
		"reviewThreads": connection("PullRequestReviewThreadConnection", threads),
		"baseRefName":   p.base, "baseRef": s.baseNode(c, p.base),
		"commits": resolver(func(map[string]any) any {
			return node{"PullRequestCommitConnection", object{
				"nodes": []any{node{"PullRequestCommit", object{"commit": s.commitNode(c, p.headSHA)}}}}}
		}),
	}}
}

// connection pages through a list. Its cursors are numbers, which clients must not rely on.
func connection(kind string, all []any) resolver {
	return func(args map[string]any) any {
		from := 0
		if after, ok := args["after"].(string); ok {
			from, _ = strconv.Atoi(strings.TrimPrefix(after, "cursor:"))
		}
		first := 0
		switch v := args["first"].(type) {
		case int64:
			first = int(v)
		case json.Number:
			first, _ = strconv.Atoi(v.String())
		}
		from = min(from, len(all))
		to := min(from+min(first, 100), len(all))
		end := any(nil)
		if to > from {
			end = "cursor:" + strconv.Itoa(to)
		}
		return node{kind, object{"nodes": all[from:to], "totalCount": len(all),
			"pageInfo": node{"PageInfo", object{"hasNextPage": to < len(all), "endCursor": end}}}}
	}
}

func (s *Server) reviewNode(c *call, p *pull, v *review) node {
	login, kind := strings.CutSuffix(v.author, "[bot]")
	typename := "User"
	if kind {
		typename = "Bot" // whose login GraphQL gives without the ending
	}
	var mine []any
	for _, l := range p.lines {
		if l.review == v {
			mine = append(mine, node{"PullRequestReviewComment", object{"url": s.lineURL(c, p, l)}})
		}
	}
	return node{"PullRequestReview", object{
		"id": nodeID("PRR", c.repo, v.id), "url": s.reviewURL(c, p, v), "state": v.state, "body": v.body,
		"authorAssociation": c.repo.association(v.author),
		"author":            node{typename, object{"login": login}}, "commit": node{"Commit", object{"oid": v.commit}},
		"createdAt": stamp(v.submitted),
		"updatedAt": stamp(v.updated), "submittedAt": stamp(v.submitted),
		"comments": connection("PullRequestReviewCommentConnection", mine),
	}}
}

func (s *Server) threadNode(c *call, p *pull, root *lineComment) node {
	all := []any{node{"PullRequestReviewComment", object{"url": s.lineURL(c, p, root)}}}
	for _, l := range p.lines {
		if l.replyTo == root.id {
			all = append(all, node{"PullRequestReviewComment", object{"url": s.lineURL(c, p, l)}})
		}
	}
	line, resolver := any(nil), any(nil)
	if root.line != 0 {
		line = root.line
	}
	if root.resolved {
		resolver = node{"User", object{"login": root.resolver, "id": "U_" + root.resolver}}
	}
	return node{"PullRequestReviewThread", object{
		"id": nodeID("PRRT", c.repo, root.id), "isResolved": root.resolved, "resolvedBy": resolver,
		"isOutdated": root.line == 0, "line": line, "path": root.path,
		"comments": connection("PullRequestReviewCommentConnection", all),
	}}
}

func input(args map[string]any, name string) string {
	in, _ := args["input"].(map[string]any)
	return fmt.Sprint(in[name])
}

func (s *Server) resolveThread(c *call, args map[string]any) any {
	r, id := s.byNode("PRRT", input(args, "threadId"))
	if r == nil {
		return nil
	}
	c.repo = r
	for _, p := range r.pulls {
		for _, v := range p.lines {
			if v.id == id {
				v.resolved, v.resolver = true, c.who.login
				r.version++
				return node{"ResolveReviewThreadPayload", object{"thread": s.threadNode(c, p, v)}}
			}
		}
	}
	return nil
}
