package cruise

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/forge"
)

// Rerun is a job that was run again, to tell a flake from a fault.
type Rerun struct {
	Commit  string `json:"commit"`
	Check   string `json:"check"`
	Job     int64  `json:"job"`
	Run     int64  `json:"run,omitempty"`
	Attempt int    `json:"attempt"`           // that had failed
	Due     bool   `json:"due,omitempty"`     // it may not have been run again yet
	Refused bool   `json:"refused,omitempty"` // the forge does not let us
	Flake   bool   `json:"flake,omitempty"`   // it passed then
}

// JobIn asks about a job of the forge's own.
type JobIn struct {
	Where
	Job int64 `json:"job"`
	// Attempt is the one that has failed. A job that is at another one is not run again.
	Attempt int `json:"attempt,omitempty"`
}

// rerunOf is what was done about a check of a commit, nil if nothing was.
func (k *Checks) rerunOf(commit string, c forge.Check) *Rerun {
	return First(k.Reruns, func(r Rerun) bool { return r.Commit == commit && r.Check == c.Name && r.Run == c.Run })
}

// withReruns sees checks in the light of what was run again: one that still shows the job that had failed is pending,
// and one that passes now was a flake.
func (m checking) withReruns(got Checked) Checked {
	got.All = slices.Clone(got.All)
	for i := range got.All {
		c := &got.All[i]
		r := m.rerunOf(got.Head, *c)
		switch {
		case r == nil || r.Refused || r.Due && c.State == forge.ChecksFailed:
		case c.State == forge.ChecksFailed && c.Job == r.Job && c.Attempt <= r.Attempt:
			c.State = forge.ChecksPending
		case c.State == forge.ChecksPassed && !r.Flake:
			r.Flake = true
			m.note("flake-"+c.Name+"-"+got.Head, fmt.Sprintf("the check %s failed on %s, and passed when it was run again.",
				Code(c.Name), abbrev(got.Head)))
		}
	}
	return got
}

// maxReruns bounds what is remembered.
const maxReruns = 100

// runAgain runs failed jobs again that were not yet, each once for a commit, and says whether there were any.
func (m checking) runAgain(head string, failed []forge.Check) (any bool) {
	for _, c := range failed {
		if c.Job == 0 {
			continue
		}
		if m.rerunOf(head, c) == nil {
			m.intendRerun(head, c)
		}
		if r := m.rerunOf(head, c); r.Due {
			_, refused := persist(m.machine, StepRerun, JobIn{Where: m.where(), Job: r.Job, Attempt: r.Attempt})
			r.Due, r.Refused = false, refused != nil
			any = any || !r.Refused
		}
	}
	return any
}

// intendRerun records which attempt of a job has failed. That is saved before the job is run again: a machine that goes
// on from there repeats the request, which does nothing if the job is at another attempt.
func (m checking) intendRerun(head string, c forge.Check) {
	r := Rerun{Commit: head, Check: c.Name, Job: c.Job, Run: c.Run, Attempt: c.Attempt, Due: true}
	if r.Attempt == 0 {
		attempt, refused := persist(m.machine, StepAttempt, JobIn{Where: m.where(), Job: c.Job})
		r.Attempt, r.Refused, r.Due = attempt, refused != nil, refused == nil
	}
	m.Checks.Reruns = append(m.Checks.Reruns, r)
	m.Checks.Reruns = m.Checks.Reruns[max(0, len(m.Checks.Reruns)-maxReruns):]
	m.save()
}

// readLogs adds what the logs of failed jobs say. A log that can't be read is none.
func (m checking) readLogs(failed []forge.Check) []forge.Check {
	failed = slices.Clone(failed)
	for i := range failed {
		if failed[i].Job == 0 {
			continue
		}
		log, _ := persist(m.machine, StepLog, JobIn{Where: m.where(), Job: failed[i].Job})
		failed[i].Summary = cmp.Or(excerpt(log), failed[i].Summary)
	}
	return failed
}

var stamped = regexp.MustCompile(`^\d{4}-\d\d-\d\dT[\d:.]+Z `)

// Lines of a log around its first error.
const (
	linesBefore = 3
	linesAfter  = 40
)

// excerpt is the part of a log that tells what went wrong: from its first error on, or else its end.
func excerpt(log string) string {
	lines := strings.Split(strings.TrimRight(log, "\n"), "\n")
	for i, l := range lines {
		lines[i] = strings.TrimRight(stamped.ReplaceAllString(l, ""), " \r")
	}
	at := slices.IndexFunc(lines, errorLine.MatchString)
	if at < 0 {
		at = max(0, len(lines)-linesAfter)
	}
	return strings.TrimSpace(strings.Join(lines[max(0, at-linesBefore):min(len(lines), at+linesAfter)], "\n"))
}
