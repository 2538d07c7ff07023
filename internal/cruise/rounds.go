package cruise

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// review has every domain that has not judged the present head do so, a few at once.
func (m *machine) review() error {
	if m.st.PR == nil {
		m.end(EndComplete, "There was nothing to review.")
		return nil
	}
	if err := m.ensure(); err != nil || m.st.Stage != StageReview {
		return err
	}
	todo := m.unjudged()
	for batch := range slices.Chunk(todo, reviewers) {
		if m.broke() {
			return nil
		}
		if err := m.reviewBatch(batch); err != nil || m.st.Stage != StageReview {
			return err
		}
	}
	if m.broke() {
		return nil
	}
	if err := m.drain(); err != nil || m.st.Stage != StageReview {
		return err
	}
	if m.st.approved() && len(m.st.Ledger.OpenOnes()) == 0 {
		m.end(EndApproved, "Every domain approved of "+abbrev(m.st.Head)+".")
		return nil
	}
	m.to(StageWatch)
	return nil
}

// unjudged gives the domains that have no verdict on the present head.
func (m *machine) unjudged() []string {
	var todo []string
	for _, d := range m.st.Spec.Domains {
		if !slices.ContainsFunc(m.st.Judgements, func(j Judgement) bool { return j.Domain == d && j.Head == m.st.Head && j.Verdict != "" }) {
			todo = append(todo, d)
		}
	}
	return todo
}

func (m *machine) reviewBatch(domains []string) error {
	left := domains
	failures := map[string]string{}
	for try := 1; try <= maxTries && len(left) > 0; try++ {
		var pending []Pending
		for _, d := range left {
			name := fmt.Sprintf("review-%s-%s-%d", d, abbrev(m.st.Head), try)
			job := m.job(Reviewer, name, m.st.Spec.Reviewer, reviewPrompt(*m.st, d))
			job.Domain = d
			pending = append(pending, m.Start(StepWork, job))
		}
		var again []string
		for i, d := range left {
			review, fault, err := m.reviewOf(pending[i])
			if err != nil {
				return err
			}
			if fault != "" {
				failures[d] = fault
				again = append(again, d)
				continue
			}
			if err := m.record(d, review); err != nil || m.st.Stage != StageReview {
				return err
			}
		}
		left = again
	}
	for _, d := range left {
		if err := m.recordFailure(d, failures[d]); err != nil || m.st.Stage != StageReview {
			return err
		}
	}
	return nil
}

// reviewOf waits for a reviewer. Whatever goes wrong with it is its fault, and never an approval.
func (m *machine) reviewOf(p Pending) (r Review, fault string, err error) {
	var report Report
	if err := p.Get(&report); err != nil {
		failure, ok := errors.AsType[*StepError](err)
		if !ok {
			return r, "", err
		}
		return r, failure.Msg, nil
	}
	m.pay(report)
	if !report.OK {
		return r, report.Error, nil
	}
	r, bad := ParseReview(report.Answer)
	if bad != nil {
		return r, "its answer can't be read: " + bad.Error(), nil
	}
	return r, "", nil
}

// record takes a review into the ledger and posts what of it is new.
func (m *machine) record(domain string, r Review) error {
	var fresh []Finding
	for _, f := range r.Findings {
		found := Finding{
			ID: f.ID, Domain: domain, Path: f.Path, Line: f.Line, Severity: f.Severity, Text: Harmless(f.Text),
			Author: m.st.Spec.Reviewer.Agent, Round: m.st.Round,
		}
		if r.Verdict == NeedsChanges && m.st.Ledger.Raise(found) {
			last := m.st.Ledger.Find(idOf(&m.st.Ledger, found))
			fresh = append(fresh, *last)
		}
	}
	verdict := r.Verdict
	if verdict == NeedsChanges && len(fresh) == 0 && !slices.ContainsFunc(m.st.Ledger.OpenOnes(), func(f Finding) bool { return f.Domain == domain }) {
		verdict = Approved // all that it wants was declined with a reason before
	}
	m.st.judge(Judgement{Domain: domain, Verdict: verdict, Head: m.st.Head})
	return m.post(domain, verdict, reviewBody(domain, verdict, r), fresh)
}

// idOf finds what a finding was taken in as.
func idOf(l *Ledger, f Finding) string {
	if f.ID != "" && l.Find(f.ID) != nil {
		return f.ID
	}
	return Identity(f.Domain, f.Path, f.Text)
}

func reviewBody(domain string, v Verdict, r Review) string {
	body := fmt.Sprintf("**%s**: %s", domain, v)
	if r.Summary != "" {
		body += "\n\n" + Harmless(r.Summary)
	}
	return body
}

func (m *machine) recordFailure(domain, fault string) error {
	m.st.judge(Judgement{Domain: domain, Head: m.st.Head, Failure: fault})
	return m.post(domain, "", fmt.Sprintf("**%s**: the review failed and is no approval: %s", domain, Harmless(short(fault))), nil)
}

func (m *machine) post(domain string, v Verdict, body string, findings []Finding) error {
	posted, done, err := attempt[[]Posted](m, StepPostReview, PostReviewIn{
		Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number, Key: fmt.Sprintf("review-%s-%s-%s", m.st.Kind, domain, m.st.Head),
		Domain: domain, Head: m.st.Head, Verdict: v, Body: body, Findings: findings,
	})
	if err != nil || !done {
		return err
	}
	for _, p := range posted {
		if f := m.st.Ledger.Find(p.Finding); f != nil {
			f.Comment, f.URL = p.Comment, p.URL
			if m.st.First == "" {
				m.st.First = p.URL
			}
		}
	}
	return nil
}

// fix runs one round: a fresh fixer, its commits pushed, its answers posted.
func (m *machine) fix() error {
	if stop := m.mayFix(); stop {
		return nil
	}
	if err := m.ensure(); err != nil || m.st.Stage != StageFix {
		return err
	}
	if m.st.Attempt == 0 {
		m.st.Round++
	}
	m.st.Attempt++
	open := m.st.Ledger.OpenOnes()
	name := fmt.Sprintf("fix-%d-%d", m.st.Round, m.st.Attempt)
	job := m.job(Fixer, name, m.st.Spec.Fixer, fixPrompt(*m.st, open))
	job.Message = leftoverMessage(m.st.Round, open)
	for _, f := range open {
		job.Findings = append(job.Findings, f.ID)
	}
	report, done, err := attempt[Report](m, StepWork, job)
	if err != nil || !done {
		return err
	}
	m.pay(report)
	if err := m.active(); err != nil {
		return err
	}
	published, done, err := attempt[Published](m, StepPublish, m.publishIn())
	if err != nil || !done {
		return err
	}
	if len(published.Commits) == 0 {
		return m.nothingDone(report)
	}
	return m.closeRound(open, published)
}

// mayFix says whether the phase stops before another round.
func (m *machine) mayFix() bool {
	if m.broke() {
		return true
	}
	if m.st.Attempt > 0 {
		return false // this round has begun
	}
	if m.st.Spec.MaxRounds > 0 && m.st.Round >= m.st.Spec.MaxRounds {
		m.end(EndRounds, strconv.Itoa(m.st.Round)+" rounds were run.")
		return true
	}
	why := m.st.Ledger.Circles()
	if why == "" && m.st.Budget > 0 && m.st.DiffLines > m.st.Budget {
		why = fmt.Sprintf("the change has grown to %d lines, more than %d", m.st.DiffLines, m.st.Budget)
	}
	if why != "" {
		m.askWhy("this goes in circles: " + why)
		return true
	}
	return false
}

// nothingDone is a round without a commit: nothing is said to be fixed.
func (m *machine) nothingDone(r Report) error {
	if m.broke() || m.st.Attempt < maxTries {
		return nil
	}
	why := r.Error
	if r.OK {
		why = "it committed nothing"
	}
	m.st.Attempt = 0
	m.st.Round-- // the round that a person lets run again is the same
	m.askWhy(fmt.Sprintf("the fixer %s did not do its work: %s", m.st.Spec.Fixer.Agent, why))
	return nil
}

func (m *machine) closeRound(open []Finding, p Published) error {
	m.take(p)
	if pushed, err := m.push(); err != nil || !pushed {
		return err
	}
	var files []string
	var replies []Reply
	for _, c := range p.Commits {
		files = append(files, c.Files...)
	}
	for _, f := range open {
		if r, ok := m.settle(f, p); ok {
			replies = append(replies, r)
		}
	}
	if len(replies) > 0 && m.st.PR != nil {
		if _, done, err := attempt[struct{}](m, StepAnswer, AnswerIn{
			Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number, Round: m.st.Round, Answers: replies,
		}); err != nil || !done {
			return err
		}
	}
	m.st.Ledger.Stir(files)
	m.st.Ledger.Close()
	m.st.Backoff = m.st.Backoff.Reset()
	m.to(StageReview)
	return nil
}

// settle says what became of a finding in a round. What no commit names stays open, and nothing is said of it.
func (m *machine) settle(f Finding, p Published) (Reply, bool) {
	for _, c := range p.Commits {
		if !slices.Contains(c.Findings, f.ID) || len(c.Files) == 0 {
			continue
		}
		m.st.Ledger.Settle(f.ID, Fixed, "", c.ID)
		touches := f.Path == "" || slices.Contains(c.Files, path.Clean(f.Path))
		text := fmt.Sprintf("Done in %s: %s", c.ID, Harmless(c.Subject))
		if !touches {
			text += fmt.Sprintf("\n\nIt does not touch %s, so this stays for you to resolve.", "`"+strings.ReplaceAll(f.Path, "`", "")+"`")
		}
		return Reply{Finding: f.ID, Comment: f.Comment, Text: text, Resolve: touches}, true
	}
	for _, c := range p.Commits {
		for _, d := range c.Declined {
			if d.Finding == f.ID && strings.TrimSpace(d.Text) != "" {
				m.st.Ledger.Settle(f.ID, Declined, Harmless(d.Text), c.ID)
				return Reply{Finding: f.ID, Comment: f.Comment, Text: "Declined: " + Harmless(d.Text), Resolve: true}, true
			}
		}
	}
	return Reply{}, false
}

// leftoverMessage names what a fixer was asked to do, on a commit of what it left uncommitted.
func leftoverMessage(round int, open []Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Answer the findings of round %d\n\n", round)
	for _, f := range open {
		fmt.Fprintf(&b, "%s: %s\n", TrailerFinding, f.ID)
	}
	return b.String()
}

func abbrev(commit string) string { return commit[:min(len(commit), 12)] }
