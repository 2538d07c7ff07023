package cruise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
)

// reviewing is the stage in which reviewers judge the present head.
type reviewing struct{ *machine }

// review asks every domain that has not judged the present head for a verdict, a few at once.
func (m reviewing) review() {
	if m.PR == nil {
		m.end(EndComplete, "There was nothing to review.")
		return
	}
	m.ensure()
	for wait := firstWait; ; {
		left := slices.DeleteFunc(m.unjudged(), func(d string) bool {
			return m.judgement(d) != nil && m.gaveUp(m.reviewOf(d))
		})
		batch := left[:min(len(left), reviewers)]
		paid := slices.ContainsFunc(batch, func(d string) bool { return len(m.tries(m.reviewOf(d))) > 0 })
		if len(batch) == 0 || !paid && m.spent() {
			break
		}
		trouble, again := m.reviewBatch(batch)
		m.drain()
		m.stay(StageReview) // a cleanup stops the reviewers, and wants no others
		if trouble != "" {
			m.waitOut("the model of "+m.Spec.Reviewer.Agent+": "+trouble, max(wait, again))
			wait = min(2*wait, troubleTop)
		}
	}
	if m.broke() {
		return
	}
	m.judge()
	if j := m.failedReview(); j != nil {
		m.askWhy(fmt.Sprintf("the review of %s failed twice: %s: going on asks the reviewer again", j.Domain, j.Failure),
			"the review of "+j.Domain+" failed twice")
		return
	}
	if !m.settleDisputes() {
		m.to(StageWatch) // which reads people's comments before an approval ends it
	}
}

// settleDisputes asks whether what reviewers insist on stays declined, and says whether it did.
func (s *State) settleDisputes() bool {
	var words, ids []string
	for _, f := range s.Ledger.Findings {
		if f.disputed() {
			ids = append(ids, f.ID)
			words = append(words, fmt.Sprintf("%s wants %q (%s, %s), and the fixer declined it: %s", cmp.Or(f.Domain, f.Author),
				Short(f.Text), cmp.Or(f.Severity, "said by a person"), place(f), Short(f.Reason)))
		}
	}
	if len(ids) == 0 {
		return false
	}
	s.askWhy(strings.Join(words, "; ")+". `cco cruise resume` leaves it declined; `cco cruise fix --comment TEXT` has it "+
		"answered anew, with what you say", "a reviewer and the fixer disagree about "+strings.Join(ids, ", "))
	s.Ask.Disputed = ids
	return true
}

// rule does what a person says about disputed findings: they stay declined, or are work again.
func (s *State) rule(declined bool) {
	for _, id := range s.Ask.Disputed {
		f := s.Ledger.Find(id)
		if f == nil || f.State != Declined {
			continue
		}
		if f.Ruled = declined; !declined {
			f.State, f.Round = Open, s.Round
		}
	}
	s.Ask.Disputed = nil
}

// reviewOf names the turns in which a domain is reviewed.
func (m reviewing) reviewOf(domain string) string {
	return m.key("review-" + domain + "-" + abbrev(m.Head.Commit) + "-1")
}

// reviewBatch has some domains reviewed at once. It says what trouble passes and how long that is waited out.
func (m reviewing) reviewBatch(domains []string) (trouble string, wait time.Duration) {
	jobs, pending := make([]Job, len(domains)), make([]func() (Report, error), len(domains))
	for i, d := range domains {
		jobs[i] = m.job(Reviewer, "", m.Spec.Reviewer,
			Prompt("review", briefing{State: *m.State, Domain: d, Since: m.since()}))
		jobs[i].Domain = d
		jobs[i].Key = m.try(m.reviewOf(d))
	}
	m.save()
	for i, job := range jobs {
		pending[i] = StepWork.Begin(m, job)
	}
	// Wait for all of them first, so that none is left running alone.
	reports, failures := make([]Report, len(domains)), make([]*StepError, len(domains))
	for i, done := range pending {
		reports[i], failures[i] = take(done, StepWork.Name)
	}
	for i, d := range domains {
		of := m.reviewOf(d)
		review, why, passes := m.read(jobs[i].Key, reports[i], failures[i])
		switch {
		case why == "":
			m.judged(d, review)
		case m.gaveUp(of):
			m.post(Judgement{Domain: d, Head: m.Head.Commit, Failure: why},
				fmt.Sprintf("**%s**: the review failed and is not an approval: %s", d, reading.Harmless(Short(why))), nil)
		default:
			if passes {
				trouble, wait = why, waitAfter(len(m.tries(of)))
			}
			m.again(of)
		}
	}
	return trouble, wait
}

// read reads what a reviewer has said, or why it failed, which may pass. Any failure is never an approval.
func (m reviewing) read(key string, r Report, failed *StepError) (_ reading.ReviewAnswer, why string, passes bool) {
	switch {
	case failed == nil:
		m.pay(key, r)
	case failed.Temporary:
		return reading.ReviewAnswer{}, failed.Msg, true
	default:
		r.Error, m.turnOf(key).Over = failed.Msg, true
	}
	why, passes = cmp.Or(r.Error, "it failed"), r.Transient && !m.spent()
	if r.OK {
		review, bad := reading.ParseReview(r.Answer)
		if bad == nil {
			return review, "", false
		}
		why = "its answer can't be read: " + bad.Error()
	}
	m.turnOf(key).Failed = !passes
	return reading.ReviewAnswer{}, why, passes
}

// judged adds a review to the ledger and posts what is new in it.
func (m reviewing) judged(domain string, r reading.ReviewAnswer) {
	var fresh []Finding
	var wants []string
	for _, f := range r.Findings {
		found := Finding{
			ID: f.ID, Domain: domain, Path: f.Path, Line: f.Line, Severity: Short(reading.Harmless(f.Severity)),
			Text:   reading.Harmless(f.Text),
			Author: m.Spec.Reviewer.Agent, Round: m.Round,
		}
		if r.Verdict != reading.NeedsChanges {
			// What an approval mentions needs no action, but people are told about it once.
			if noted := m.Ledger.Note(found); noted != nil {
				fresh = append(fresh, *noted)
			}
			continue
		}
		if twin := m.Ledger.twin(found); twin != "" {
			found.ID = twin
		}
		last, raised := m.Ledger.Raise(found)
		wants = append(wants, last.ID)
		unsaid := last.State == Open && last.Comment == "" &&
			!slices.ContainsFunc(fresh, func(f Finding) bool { return f.ID == last.ID })
		if raised || unsaid {
			fresh = append(fresh, *last)
		}
	}
	body := fmt.Sprintf("**%s**: %s", domain, r.Verdict)
	if r.Summary != "" {
		body += "\n\n" + reading.Harmless(r.Summary)
	}
	m.post(Judgement{Domain: domain, Verdict: r.Verdict, Head: m.Head.Commit, Wants: wants}, body, fresh)
}

// post posts a judgement on the forge. It counts only after that.
func (m reviewing) post(j Judgement, body string, findings []Finding) {
	posted := attempt(m.machine, StepPostReview, PostReviewIn{
		Where: m.where(), Key: fmt.Sprintf("review-%s-%s-%s-%d", m.Kind, j.Domain, m.Head.Commit, m.Life.Again),
		Head: m.Head.Commit, As: forge.Comments, Body: body, Findings: findings,
	})
	before := slices.DeleteFunc(m.Review.Judgements, func(o Judgement) bool { return o.Domain == j.Domain })
	m.Review.Judgements = append(before, j)
	for _, p := range posted {
		if f := m.Ledger.Find(p.ID); f != nil {
			f.Comment, f.URL = p.Comment, p.URL
			m.Inbox.First = cmp.Or(m.Inbox.First, p.URL)
		}
	}
}
