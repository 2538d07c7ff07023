package forgetest

import (
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// Job is what a runner is given: a job of a commit, and which attempt it is.
type Job struct {
	Name, Commit string
	Attempt      int
}

// workflow has two jobs, which are one run on a forge that reads it.
const workflow = `name: ci
on: push
jobs:
  unit: {runs-on: linux, steps: [{run: make test}]}
  lint: {runs-on: linux, steps: [{run: make lint}]}
`

// runsJobsAgain reads the logs of two failed jobs and runs both again: one was a flake. A failed check that is not the
// forge's own has no job.
func runsJobsAgain(p *place) {
	f := p.as(Ada, "")
	base := p.commit("main", "ci", map[string]string{".github/workflows/ci.yml": workflow})
	var mu sync.Mutex
	ran := map[string]int{}
	p.server.Runner(p.T, p.remote, []string{"unit", "lint"}, func(j Job) (bool, string) {
		if j.Commit == base {
			return true, "fine\n"
		}
		mu.Lock()
		defer mu.Unlock()
		ran[j.Name]++
		return j.Name == "unit" && j.Attempt > 1, strings.Repeat(strings.Repeat("x", 99)+"\n", 3000) +
			"\x1b[31m--- FAIL\x1b[0m: in " + j.Name + "\nbell \a and \u202emorf\n"
	})
	p.push("main")
	pull := p.open(f, "topic")
	p.server.Report(p.T, p.remote, p.git("rev-parse", "topic"), "ci / unit (elsewhere)", forge.ChecksFailed, "no")
	first := p.awaitJobs(f, pull.Number, forge.ChecksFailed, forge.ChecksFailed)
	for _, c := range p.checks(f, pull.Number)[pull.Number].All {
		if c.Name == "ci / unit (elsewhere)" && (c.Job != 0 || c.Run != 0 || c.State != forge.ChecksFailed) {
			p.Errorf("what somebody else reported: %+v", c)
		}
	}
	attempts := map[string]int{}
	for name, c := range first {
		n, err := f.Attempt(p.Context(), c.Job)
		if p.must(err); n != 1 || c.Attempt > 1 {
			p.Errorf("%s is at attempt %d: %+v", name, n, c)
		}
		attempts[name] = n
		log, err := f.JobLog(p.Context(), c.Job)
		p.must(err)
		if !strings.Contains(log, "--- FAIL: in "+name+"\n") || !strings.Contains(log, "bell <U+0007> and <U+202E>morf") ||
			strings.ContainsAny(log, "\x1b\a") || len(log) > forge.MaxLogEnd {
			p.Errorf("the log of %s has %d bytes: %.80q", name, len(log), log[max(0, len(log)-80):])
		}
	}
	for range 2 {
		p.must(f.Rerun(p.Context(), first["unit"].Job, attempts["unit"]))
	}
	second := p.awaitJobs(f, pull.Number, forge.ChecksPassed, forge.ChecksFailed)
	if c := second["unit"]; c.Run != first["unit"].Run || c.Job == 0 {
		p.Errorf("after a second attempt: %+v", c)
	}
	for range 2 {
		p.must(f.Rerun(p.Context(), first["lint"].Job, attempts["lint"]))
	}
	var now forge.Check
	if !p.await(func() bool { // until it tells of the second attempt
		now = p.awaitJobs(f, pull.Number, forge.ChecksPassed, forge.ChecksFailed)["lint"]
		if now.Run != first["lint"].Run {
			p.Fatalf("another run: %+v", now)
		}
		return now.Job != first["lint"].Job || now.Attempt > attempts["lint"]
	}) {
		p.Fatalf("lint was not run again: %+v", now)
	}
	p.must(f.Rerun(p.Context(), first["lint"].Job, attempts["lint"])) // it has been
	p.must(p.clock.Sleep(p.Context(), 20*time.Second))
	mu.Lock()
	defer mu.Unlock()
	if ran["unit"] != 2 || ran["lint"] != 2 {
		p.Errorf("ran %v", ran)
	}
}

// awaitJobs waits until both jobs have a state, and gives their checks.
func (p *place) awaitJobs(f Forge, number int, unit, lint forge.CheckState) map[string]forge.Check {
	p.Helper()
	var got map[string]forge.Check
	var all []forge.Check
	if !p.await(func() bool {
		got, all = map[string]forge.Check{}, p.checks(f, number)[number].All
		for _, c := range all {
			for _, name := range []string{"unit", "lint"} {
				if strings.Contains(c.Name, name) && c.Job != 0 {
					got[name] = c
				}
			}
		}
		return got["unit"].State == unit && got["lint"].State == lint
	}) {
		p.Fatalf("the jobs are never %s and %s: %+v", unit, lint, all)
	}
	return got
}
