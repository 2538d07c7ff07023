package cruise

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// review asks every domain that has not judged the present head for a verdict, a few at once.
func (m *machine) review() error {
	if m.PR == nil {
		m.end(EndComplete, "There was nothing to review.")
		return nil
	}
	if err := m.ensure(); err != nil || m.Stage != StageReview {
		return err
	}
	todo := m.unjudged()
	for batch := range slices.Chunk(todo, reviewers) {
		paid := slices.ContainsFunc(batch, func(d string) bool { return len(m.tries(m.reviewOf(d))) > 0 })
		if !paid && m.broke() {
			return nil
		}
		if err := m.reviewBatch(batch); err != nil || m.Stage != StageReview {
			return err
		}
	}
	if m.broke() {
		return nil
	}
	if done, err := m.judge(); err != nil || !done {
		return err
	}
	if j := m.failedReview(); j != nil {
		m.askWhy(fmt.Sprintf("the review of %s failed twice: %s: going on asks the reviewer again", j.Domain, j.Failure),
			"the review of "+j.Domain+" failed twice")
		return nil
	}
	if !m.settleDisputes() {
		m.to(StageWatch) // which reads people's comments before an approval ends it
	}
	return nil
}

// settleDisputes asks whether what reviewers insist on stays declined, and says whether it did.
func (m *machine) settleDisputes() bool {
	var words, ids []string
	for _, f := range m.Ledger.Findings {
		if f.disputed() {
			ids = append(ids, f.ID)
			words = append(words, fmt.Sprintf("%s wants %q (%s, %s), and the fixer declined it: %s", or(f.Domain, f.Author),
				short(f.Text), or(f.Severity, "said by a person"), place(f), short(f.Reason)))
		}
	}
	if len(ids) == 0 {
		return false
	}
	m.askWhy(strings.Join(words, "; ")+". `cco cruise resume` leaves it declined; `cco cruise fix --comment TEXT` has it "+
		"answered anew, with what you say", "a reviewer and the fixer disagree about "+strings.Join(ids, ", "))
	m.Ask.Disputed = ids
	return true
}

// rule does what a person says about disputed findings: they stay declined, or are work again.
func (m *machine) rule(declined bool) {
	for _, id := range m.Ask.Disputed {
		f := m.Ledger.Find(id)
		if f == nil || f.State != Declined {
			continue
		}
		if f.Ruled = declined; !declined {
			f.State, f.Round = Open, m.Round
		}
	}
	m.Ask.Disputed = nil
}

// unjudged gives the domains that have no verdict on the present head.
func (m *machine) unjudged() []string {
	var todo []string
	for _, d := range m.Spec.Domains {
		if !slices.ContainsFunc(m.Review.Judgements, func(j Judgement) bool {
			return j.Domain == d && j.Head == m.Head.Commit &&
				j.Verdict != ""
		}) {
			todo = append(todo, d)
		}
	}
	return todo
}

// reviewOf names the turns in which a domain is reviewed.
func (m *machine) reviewOf(domain string) string {
	return m.key("review-" + domain + "-" + abbrev(m.Head.Commit) + "-1")
}

func (m *machine) reviewBatch(domains []string) error {
	faults, wait := map[string]fault{}, firstWait
	for left := domains; len(left) > 0; {
		again, err := m.reviewOnce(left, faults)
		if err != nil || m.Stage != StageReview {
			return err
		}
		if err := m.drain(); err != nil || m.Stage != StageReview {
			return err // a cleanup stops the reviewers, and wants no others
		}
		left = slices.DeleteFunc(again, func(d string) bool { return m.failures(m.reviewOf(d)) >= maxTries })
		if i := slices.IndexFunc(left, func(d string) bool { return faults[d].passes }); i >= 0 {
			again := waitAfter(len(m.tries(m.reviewOf(left[i]))))
			if same, err := m.waitOut("the model of "+m.Spec.Reviewer.Agent+": "+faults[left[i]].words,
				max(wait, again)); err != nil || !same {
				return err
			}
			wait = min(2*wait, troubleTop)
		}
		for _, d := range left {
			m.again(m.reviewOf(d))
		}
	}
	for _, d := range domains {
		if m.failures(m.reviewOf(d)) < maxTries {
			continue
		}
		if err := m.reviewFailed(d, faults[d].words); err != nil || m.Stage != StageReview {
			return err
		}
	}
	return nil
}

// reviewOnce asks every reviewer of a batch at once, and gives those that have to be asked again.
func (m *machine) reviewOnce(domains []string, faults map[string]fault) (again []string, err error) {
	jobs := make([]Job, len(domains))
	for i, d := range domains {
		jobs[i] = m.job(Reviewer, "", m.Spec.Reviewer, reviewPrompt(*m.State, d))
		jobs[i].Domain = d
		jobs[i].Key = m.try(m.reviewOf(d))
	}
	if err := m.save(); err != nil {
		return nil, err
	}
	var pending []Pending
	for _, job := range jobs {
		pending = append(pending, m.Start(StepWork.Name, job))
	}
	// Wait for all of them first, so that none is left running alone.
	reviews := make([]ReviewAnswer, len(domains))
	for i, d := range domains {
		var f fault
		if reviews[i], f, err = m.reviewIn(jobs[i].Key, pending[i]); err != nil {
			return nil, err
		}
		if f.words != "" {
			faults[d] = f
			again = append(again, d)
		}
	}
	for i, d := range domains {
		if slices.Contains(again, d) {
			continue
		}
		if err := m.judged(d, reviews[i]); err != nil || m.Stage != StageReview {
			return again, err
		}
	}
	return again, nil
}

// fault is what is wrong with a review.
type fault struct {
	words  string
	passes bool
}

// reviewIn waits for a reviewer. Any failure is a fault of the review, and never an approval.
func (m *machine) reviewIn(key string, p Pending) (r ReviewAnswer, f fault, err error) {
	var report Report
	if err := p.Get(&report); err != nil {
		failure, ok := errors.AsType[*StepError](err)
		if !ok {
			return r, f, err
		}
		if !failure.Temporary {
			t := m.turnOf(key)
			t.Over, t.Failed = true, true
		}
		return r, fault{words: failure.Msg, passes: failure.Temporary}, nil
	}
	m.pay(key, report)
	words := or(report.Error, "it failed")
	if report.OK {
		bad := error(nil)
		if r, bad = ParseReview(report.Answer); bad == nil {
			return r, fault{}, nil
		}
		words = "its answer can't be read: " + bad.Error()
	}
	passes := report.Transient && !m.spent()
	m.turnOf(key).Failed = !passes
	return r, fault{words: words, passes: passes}, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// judged adds a review to the ledger and posts what is new in it.
func (m *machine) judged(domain string, r ReviewAnswer) error {
	var fresh []Finding
	var wants []string
	for _, f := range r.Findings {
		found := Finding{
			ID: f.ID, Domain: domain, Path: f.Path, Line: f.Line, Severity: short(Harmless(f.Severity)), Text: Harmless(f.Text),
			Author: m.Spec.Reviewer.Agent, Round: m.Round,
		}
		if r.Verdict != NeedsChanges {
			// What an approval mentions needs no action, but people are told about it once.
			if noted := m.Ledger.Note(found); noted != nil {
				fresh = append(fresh, *noted)
			}
			continue
		}
		if twin := m.Ledger.twin(found); twin != "" {
			found.ID = twin
		}
		raised := m.Ledger.Raise(found)
		last := m.Ledger.Find(idOf(&m.Ledger, found))
		wants = append(wants, last.ID)
		unsaid := last.State == Open && last.Comment == "" &&
			!slices.ContainsFunc(fresh, func(f Finding) bool { return f.ID == last.ID })
		if raised || unsaid {
			fresh = append(fresh, *last)
		}
	}
	return m.post(Judgement{Domain: domain, Verdict: r.Verdict, Head: m.Head.Commit, Wants: wants},
		reviewBody(domain, r.Verdict, r), fresh)
}

// idOf gives the ledger's id for a finding of a review.
func idOf(l *Ledger, f Finding) string {
	if f.ID != "" && l.Find(f.ID) != nil {
		return f.ID
	}
	return Identity(f.Domain, f.Path, f.Text)
}

func reviewBody(domain string, v Verdict, r ReviewAnswer) string {
	body := fmt.Sprintf("**%s**: %s", domain, v)
	if r.Summary != "" {
		body += "\n\n" + Harmless(r.Summary)
	}
	return body
}

func (m *machine) reviewFailed(domain, why string) error {
	body := fmt.Sprintf("**%s**: the review failed and is not an approval: %s", domain, Harmless(short(why)))
	return m.post(Judgement{Domain: domain, Head: m.Head.Commit, Failure: why}, body, nil)
}

// post posts a judgement on the forge. It counts only after that.
func (m *machine) post(j Judgement, body string, findings []Finding) error {
	posted, done, err := attempt(m, StepPostReview, PostReviewIn{
		Where: m.where(), Key: fmt.Sprintf("review-%s-%s-%s-%d", m.Kind, j.Domain,
			m.Head.Commit, m.Life.Again),
		Domain: j.Domain, Head: m.Head.Commit, Verdict: j.Verdict, Body: body, Findings: findings,
	})
	if err != nil || !done {
		return err
	}
	m.Review.record(j)
	for _, p := range posted {
		if f := m.Ledger.Find(p.Finding); f != nil {
			f.Comment, f.URL = p.Comment, p.URL
			if m.Inbox.First == "" {
				m.Inbox.First = p.URL
			}
		}
	}
	return nil
}
