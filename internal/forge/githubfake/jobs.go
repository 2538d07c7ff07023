package githubfake

import (
	"context"
	"fmt"
	"net/http"
	"path"
	"slices"
	"strconv"
)

// Runner carries out a job of a commit. Dir is the bare repository, and the first attempt is 1.
type Runner func(ctx context.Context, dir, sha, job string, attempt int) (ok bool, log string)

// job is one attempt of a job. Each has a run of its own.
type job struct {
	id, run   int64
	name, sha string
	attempt   int
	ok        bool
	log       string
}

// SetRunner has the repository's own runner carry out jobs for every head that is asked about.
func (s *Server) SetRunner(owner, name string, jobs []string, run Runner) {
	s.change(owner, name, func(r *repo) { r.pipeline, r.runner = jobs, run })
}

// Attempts is how often a job of a commit was carried out.
func (s *Server) Attempts(owner, name, sha, of string) (n int) {
	s.change(owner, name, func(r *repo) {
		for _, j := range r.jobs {
			if j.sha == sha && j.name == of {
				n++
			}
		}
	})
	return n
}

// pipelineOf carries out the jobs of a commit once.
func (s *Server) pipelineOf(ctx context.Context, r *repo, sha string) {
	if r.runner == nil || slices.ContainsFunc(r.jobs, func(j *job) bool { return j.sha == sha }) {
		return
	}
	for _, name := range r.pipeline {
		s.carryOut(ctx, r, &job{run: int64(5000 + len(r.jobs)), name: name, sha: sha, attempt: 1})
	}
}

func (s *Server) carryOut(ctx context.Context, r *repo, j *job) {
	j.id = int64(9000 + len(r.jobs))
	j.ok, j.log = r.runner(context.WithoutCancel(ctx), r.dir, j.sha, j.name, j.attempt)
	r.jobs = append(r.jobs, j)
	conclusion := "success"
	if !j.ok {
		conclusion = "failure"
	}
	o := object{"id": j.id, "name": j.name, "status": "completed", "conclusion": conclusion, "head_sha": j.sha,
		"output": object{"title": nil, "summary": nil, "text": nil}, "own": j.run}
	replace(r.checks, j.sha, "name", o)
	r.version++
}

func (s *Server) getJob(c *call) answer {
	j := c.job
	return answer{200, object{"id": j.id, "run_id": j.run, "run_attempt": j.attempt, "name": j.name, "head_sha": j.sha,
		"status": "completed", "conclusion": "failure"}}
}

func (s *Server) getRun(c *call) answer {
	attempt := 0
	for _, j := range c.repo.jobs {
		if fmt.Sprint(j.run) == c.params["run_id"] {
			attempt = max(attempt, j.attempt)
		}
	}
	if attempt == 0 {
		return fail(http.StatusNotFound, "Not Found")
	}
	run, _ := strconv.Atoi(c.params["run_id"])
	return answer{200, object{"id": run, "run_attempt": attempt}}
}

func (s *Server) rerunJob(c *call) answer {
	j := c.job
	if !c.repo.canWrite(c.who.login) {
		return fail(http.StatusForbidden, "Must have admin rights to Repository.")
	}
	s.carryOut(c.ctx, c.repo, &job{run: j.run, name: j.name, sha: j.sha, attempt: j.attempt + 1})
	return answer{201, object{}}
}

// getJobLog says where a log is.
func (s *Server) getJobLog(c *call) answer {
	c.header.Set("Location", fmt.Sprintf("%s/joblogs/%s/%d", c.base, c.repo.full(), c.job.id))
	return answer{status: http.StatusFound}
}

// serveLog gives a log to everyone who knows where it is, and wants no token.
func (s *Server) serveLog(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r.Header.Get("Authorization") != "" {
		s.contract.complain("a token was sent to %s", r.URL)
	}
	id := path.Base(r.URL.Path)
	for _, rp := range s.repos {
		for _, j := range rp.jobs {
			if fmt.Sprint(j.id) == id && path.Dir(r.URL.Path) == "/joblogs/"+rp.full() {
				_, _ = w.Write([]byte(j.log))
				return
			}
		}
	}
	http.NotFound(w, r)
}
