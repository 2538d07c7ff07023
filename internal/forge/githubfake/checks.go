package githubfake

import (
	"fmt"
	"slices"
	"strings"
)

// SetCheck puts a check run on a commit: status is queued, in_progress or completed. It says what is in the summary.
func (s *Server) SetCheck(owner, name, sha, check, status, conclusion string, summary ...string) {
	o := object{"name": check, "status": status, "conclusion": nil, "head_sha": sha,
		"output": object{"title": nil, "summary": strings.Join(summary, "\n"), "text": nil}}
	if conclusion != "" {
		o["conclusion"] = conclusion
	}
	s.change(owner, name, func(r *repo) { replace(r.checks, sha, "name", o) })
}

// replace puts a report on a commit, instead of one of the same name.
func replace(all map[string][]object, sha, by string, o object) {
	all[sha] = append(slices.DeleteFunc(all[sha], func(old object) bool { return old[by] == o[by] }), o)
}

func (s *Server) listCheckRuns(c *call) answer {
	runs := []any{}
	for i, o := range c.repo.checks[c.params["ref"]] {
		run := object{"id": i + 1, "html_url": c.base, "app": object{"slug": "another-app"}, "check_suite": object{"id": 1}}
		for k, v := range o {
			if k == "own" {
				run["app"], run["check_suite"] = object{"slug": "github-actions"}, object{"id": v}
			} else {
				run[k] = v
			}
		}
		runs = append(runs, run)
	}
	return answer{200, object{"total_count": len(runs), "check_runs": runs}}
}

func (s *Server) getStatus(c *call) answer {
	list := []any{}
	for _, o := range c.repo.statuses[c.params["ref"]] {
		list = append(list, o)
	}
	return answer{200, object{"state": "pending", "statuses": list, "sha": c.params["ref"], "total_count": len(list),
		"repository": s.repoObject(c)}}
}

// SetStatus puts one of the older statuses on a commit: success, pending, failure or error.
func (s *Server) SetStatus(owner, name, sha, context, state, description string) {
	s.change(owner, name, func(r *repo) {
		replace(r.statuses, sha, "context", object{"context": context, "state": state, "description": description,
			"target_url": "https://ci.example/1"})
	})
}

// Points has a status point somewhere.
func (s *Server) Points(owner, name, sha, context, address string) {
	s.change(owner, name, func(r *repo) {
		for _, o := range r.statuses[sha] {
			if o["context"] == context {
				o["target_url"] = address
			}
		}
	})
}

// Require has the repository's branches require checks: by their protection, and by a ruleset.
func (s *Server) Require(owner, name string, protection, ruleset []string) {
	s.change(owner, name, func(r *repo) { r.required, r.ruled = protection, ruleset })
}

func (s *Server) listRules(c *call) answer {
	rules := []any{}
	if len(c.repo.ruled) > 0 || c.repo.byRule {
		checks := []any{}
		for _, name := range c.repo.ruled {
			checks = append(checks, object{"context": name})
		}
		rules = append(rules, object{"type": "required_status_checks", "ruleset_source_type": "Repository",
			"ruleset_source": c.repo.full(), "ruleset_id": 1,
			"parameters": object{"required_status_checks": checks, "strict_required_status_checks_policy": c.repo.byRule}})
	}
	return answer{200, rules}
}

// commitNode is a commit with what was reported on it.
func (s *Server) commitNode(c *call, sha string) node {
	s.pipelineOf(c.ctx, c.repo, sha)
	var all []any
	for i, o := range c.repo.checks[sha] {
		app, id, suite := "another-app", any(i+1), any(1)
		if o["own"] != nil {
			app, id, suite = "github-actions", o["id"], o["own"]
		}
		conclusion := any(nil)
		if v, ok := o["conclusion"].(string); ok {
			conclusion = strings.ToUpper(v)
		}
		said, _ := o["output"].(object)
		all = append(all, node{"CheckRun", object{"name": o["name"], "status": strings.ToUpper(fmt.Sprint(o["status"])),
			"conclusion": conclusion, "title": said["title"], "summary": said["summary"], "url": c.base, "databaseId": id,
			"checkSuite": node{"CheckSuite", object{"app": node{"App", object{"slug": app}}, "databaseId": suite}}}})
	}
	for _, o := range c.repo.statuses[sha] {
		all = append(all, node{"StatusContext", object{"context": o["context"],
			"state": strings.ToUpper(fmt.Sprint(o["state"])), "description": o["description"], "targetUrl": o["target_url"]}})
	}
	rollup := any(nil)
	if len(all) > 0 {
		rollup = node{"StatusCheckRollup", object{"contexts": connection("StatusCheckRollupContextConnection", all)}}
	}
	return node{"Commit", object{"oid": sha, "statusCheckRollup": rollup}}
}

// baseNode is the branch that a request goes into.
func (s *Server) baseNode(c *call, branch string) any {
	sha := c.repo.ref(branch)
	if sha == "" {
		return nil
	}
	rule := any(nil)
	if len(c.repo.required) > 0 {
		names := []any{}
		for _, n := range c.repo.required {
			names = append(names, n)
		}
		rule = node{"RefUpdateRule", object{"requiredStatusCheckContexts": names}}
	}
	return node{"Ref", object{"name": branch, "refUpdateRule": rule, "target": s.commitNode(c, sha)}}
}
