package cruise

import (
	"errors"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// review asks every domain that has not judged the present head for a verdict, a few at once.
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
	if done, err := m.judge(); err != nil || !done {
		return err
	}
	m.to(StageWatch) // which reads people's comments before an approval ends it
	return nil
}

// unjudged gives the domains that have no verdict on the present head.
func (m *machine) unjudged() []string {
	var todo []string
	for _, d := range m.st.Spec.Domains {
		if !slices.ContainsFunc(m.st.Judgements, func(j Judgement) bool {
			return j.Domain == d && j.Head == m.st.Head &&
				j.Verdict != ""
		}) {
			todo = append(todo, d)
		}
	}
	return todo
}

func (m *machine) reviewBatch(domains []string) error {
	left, wait := domains, firstWait
	faults := map[string]fault{}
	for n, try := 1, 1; try <= maxTries && len(left) > 0; n++ {
		again, err := m.reviewOnce(left, n, faults)
		if err != nil || m.st.Stage != StageReview {
			return err
		}
		passing := slices.IndexFunc(again, func(d string) bool { return faults[d].passes })
		if left = again; passing < 0 || m.spent() {
			try++
			continue
		}
		if same, err := m.waitOut("the model of "+m.st.Spec.Reviewer.Agent+": "+faults[again[passing]].words,
			wait); err != nil || !same {
			return err
		}
		wait = min(2*wait, troubleTop)
	}
	unread := ""
	for _, d := range left {
		if err := m.reviewFailed(d, faults[d].words); err != nil || m.st.Stage != StageReview {
			return err
		}
		if faults[d].unread {
			unread = d
		}
	}
	if unread != "" {
		m.askWhy(fmt.Sprintf("the review of %s could not be read twice: %s: going on asks the reviewer again", unread,
			faults[unread].words))
	}
	return nil
}

// reviewOnce asks every reviewer of a batch at once, and gives those that have to be asked again.
func (m *machine) reviewOnce(domains []string, n int, faults map[string]fault) (again []string, err error) {
	var pending []Pending
	for _, d := range domains {
		job := m.job(Reviewer, fmt.Sprintf("review-%s-%s-%d", d, abbrev(m.st.Head), n), m.st.Spec.Reviewer,
			reviewPrompt(*m.st, d))
		job.Domain = d
		pending = append(pending, m.Start(StepWork, job))
	}
	// Wait for all of them first, so that none is left running alone.
	reviews := make([]Review, len(domains))
	for i, d := range domains {
		var f fault
		if reviews[i], f, err = m.reviewOf(pending[i]); err != nil {
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
		if err := m.judged(d, reviews[i]); err != nil || m.st.Stage != StageReview {
			return again, err
		}
	}
	return again, nil
}

// fault is what is wrong with a review.
type fault struct {
	words  string
	passes bool
	unread bool // its answer could not be parsed
}

// reviewOf waits for a reviewer. Any failure is a fault of the review, and never an approval.
func (m *machine) reviewOf(p Pending) (r Review, f fault, err error) {
	var report Report
	if err := p.Get(&report); err != nil {
		failure, ok := errors.AsType[*StepError](err)
		if !ok {
			return r, f, err
		}
		return r, fault{words: failure.Msg, passes: failure.Temporary}, nil
	}
	m.pay(report)
	if !report.OK {
		return r, fault{words: or(report.Error, "it failed"), passes: report.Transient}, nil
	}
	r, bad := ParseReview(report.Answer)
	if bad != nil {
		return r, fault{words: "its answer can't be read: " + bad.Error(), unread: true}, nil
	}
	return r, fault{}, nil
}

func or(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

// judged adds a review to the ledger and posts what is new in it.
func (m *machine) judged(domain string, r Review) error {
	var fresh []Finding
	for _, f := range r.Findings {
		found := Finding{
			ID: f.ID, Domain: domain, Path: f.Path, Line: f.Line, Severity: short(Harmless(f.Severity)), Text: Harmless(f.Text),
			Author: m.st.Spec.Reviewer.Agent, Round: m.st.Round,
		}
		if r.Verdict != NeedsChanges {
			// What an approval mentions needs no action, but people are told about it once.
			if noted := m.st.Ledger.Note(found); noted != nil {
				fresh = append(fresh, *noted)
			}
			continue
		}
		raised := m.st.Ledger.Raise(found)
		last := m.st.Ledger.Find(idOf(&m.st.Ledger, found))
		unsaid := last.State == Open && last.Comment == "" &&
			!slices.ContainsFunc(fresh, func(f Finding) bool { return f.ID == last.ID })
		if raised || unsaid {
			fresh = append(fresh, *last)
		}
	}
	verdict := r.Verdict
	if verdict == NeedsChanges && len(fresh) == 0 &&
		!slices.ContainsFunc(m.st.Ledger.OpenOnes(), func(f Finding) bool { return f.Domain == domain }) {
		verdict = Approved // everything that it wants was declined with a reason before
	}
	return m.post(Judgement{Domain: domain, Verdict: verdict, Head: m.st.Head}, reviewBody(domain, verdict, r), fresh)
}

// idOf gives the ledger's id for a finding of a review.
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

func (m *machine) reviewFailed(domain, why string) error {
	body := fmt.Sprintf("**%s**: the review failed and is no approval: %s", domain, Harmless(short(why)))
	return m.post(Judgement{Domain: domain, Head: m.st.Head, Failure: why}, body, nil)
}

// post posts a judgement on the forge. It counts only after that.
func (m *machine) post(j Judgement, body string, findings []Finding) error {
	posted, done, err := attempt[[]Posted](m, StepPostReview, PostReviewIn{
		Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number, Key: fmt.Sprintf("review-%s-%s-%s-%d", m.st.Kind, j.Domain,
			m.st.Head, m.st.Again),
		Domain: j.Domain, Head: m.st.Head, Verdict: j.Verdict, Body: body, Findings: findings,
	})
	if err != nil || !done {
		return err
	}
	m.st.judge(j)
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
	if stop := m.stopsBeforeRound(); stop {
		return nil
	}
	if err := m.ensure(); err != nil || m.st.Stage != StageFix {
		return err
	}
	if m.st.Attempt == 0 {
		if left, err := m.dropWithdrawn(); err != nil || !left {
			return err
		}
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
	report, published, done, err := m.turnAndPublish(job)
	if err != nil || !done {
		return err
	}
	said := m.inWords(open, report)
	if len(published.Commits) == 0 && len(said) == 0 {
		return m.nothingDone(report, published)
	}
	m.st.Published, m.st.Replies = &published, said
	m.to(StageAnswer)
	return nil
}

// dropWithdrawn drops findings that people deleted or resolved themselves, before a fixer is paid for them, and says
// whether any are left.
func (m *machine) dropWithdrawn() (bool, error) {
	var ids []string
	for _, f := range m.st.Ledger.OpenOnes() {
		if f.Comment != "" && !strings.HasPrefix(f.Comment, LocalComment) {
			ids = append(ids, f.Comment)
		}
	}
	if len(ids) == 0 {
		return true, nil
	}
	gone, done, err := attempt[[]string](m, StepCheck, CheckIn{Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number,
		Comments: ids})
	if err != nil || !done {
		return false, err
	}
	for i := range m.st.Ledger.Findings {
		if f := &m.st.Ledger.Findings[i]; f.State == Open && slices.Contains(gone, f.Comment) {
			f.State = Dropped
		}
	}
	if len(m.st.Ledger.OpenOnes()) > 0 {
		return true, nil
	}
	m.to(StageWatch)
	return false, nil
}

// inWords gives a fixer's answers without a commit: a person may only have asked a question.
func (m *machine) inWords(open []Finding, r Report) (list []Reply) {
	words := answersIn(r.Answer)
	for _, f := range open {
		if text := words[f.ID]; r.OK && f.Domain == "" && text != "" {
			m.st.Ledger.Settle(f.ID, Answered, "", "")
			list = append(list, Reply{Finding: f.ID, Comment: f.Comment, Text: text})
		}
	}
	return list
}

// stopsBeforeRound ends the phase, or asks, if no other round may begin, and says whether it did.
func (m *machine) stopsBeforeRound() bool {
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

// nothingDone handles a round without a commit: nothing is reported as fixed.
func (m *machine) nothingDone(r Report, p Published) error {
	if m.broke() || m.st.Attempt < maxTries {
		return nil
	}
	why := r.Error
	switch {
	case p.Rewritten != "":
		why = rewrote(p)
	case r.OK:
		why = "it committed nothing"
	}
	m.st.Attempt = 0
	m.st.Round-- // if a person lets it run again, it has the same number
	m.askWhy(fmt.Sprintf("the fixer %s did not do its work: %s", m.st.Spec.Fixer.Agent, why))
	return nil
}

func rewrote(p Published) string {
	return "it rewrote commits that were pushed; what it made of them is at " + p.Rewritten + " in your repository"
}

// answer pushes the commits of a round and replies to its findings.
func (m *machine) answer() error {
	p := m.st.Published
	if p == nil {
		m.to(StageReview)
		return nil
	}
	if open, err := m.stillOpen(); err != nil || !open {
		return err
	}
	m.recordPublished(*p)
	if len(p.Commits) > 0 {
		if pushed, err := m.push(); err != nil || !pushed {
			return err
		}
	}
	for _, f := range m.st.Ledger.OpenOnes() {
		if r, ok := m.outcome(f, *p); ok {
			m.st.Replies = append(m.st.Replies, r)
		}
	}
	if len(m.st.Replies) > 0 {
		if _, done, err := attempt[struct{}](m, StepAnswer, AnswerIn{
			Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number, Round: m.st.Round, Answers: m.st.Replies,
			Kind: m.laterKind(), Head: headOf(*p),
		}); err != nil || !done {
			return err
		}
	}
	var files []string
	for _, c := range p.Commits {
		files = append(files, c.Files...)
	}
	m.st.Ledger.Stir(files)
	m.st.Ledger.Close()
	m.st.Published, m.st.Replies = nil, nil
	m.st.Backoff = m.st.Backoff.Reset()
	m.to(StageReview)
	return nil
}

// headOf is the commit that a request must have before its answers are posted, "" if no answer refers to a commit.
func headOf(p Published) string {
	if len(p.Commits) == 0 {
		return ""
	}
	return p.Head
}

// laterKind is the present kind if a task is past its first. It is part of an answer's name: the same finding in the
// same round of another kind needs another answer.
func (m *machine) laterKind() Kind {
	if m.st.Kind == m.st.Spec.Kind {
		return ""
	}
	return m.st.Kind
}

// stillOpen asks whether the pull request was merged or closed while the fixer was at work. Nothing is pushed to one
// that was: the person who closed it did not see that work. It is kept in the user's repository.
func (m *machine) stillOpen() (bool, error) {
	news, done, err := attempt[News](m, StepLook, LookIn{Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number,
		Mark: m.st.Mark, Now: true})
	if err != nil || !done {
		return false, err
	}
	end := map[PullState]End{PullMerged: EndMerged, PullClosed: EndClosed}[news.State]
	if end == "" {
		return true, nil
	}
	m.end(end, fmt.Sprintf("The work of round %d came too late and was not pushed; it is at refs/cco/%s in the "+
		"repository that the phase was started in.",
		m.st.Round, m.st.Workspace.Session))
	m.st.Published = nil
	return false, nil
}

// outcome gives the reply to a finding after a round. A finding that no commit names stays open and gets no reply.
func (m *machine) outcome(f Finding, p Published) (Reply, bool) {
	for _, c := range p.Commits {
		if !slices.Contains(c.Findings, f.ID) || len(c.Files) == 0 {
			continue
		}
		m.st.Ledger.Settle(f.ID, Fixed, "", c.ID)
		touches := f.Path == "" || slices.Contains(c.Files, path.Clean(f.Path))
		text := fmt.Sprintf("Done in %s: %s", c.ID, Harmless(c.Subject))
		if !touches {
			text += fmt.Sprintf("\n\nIt does not touch %s, so this stays for you to resolve.", code(f.Path))
		}
		return Reply{Finding: f.ID, Comment: f.Comment, Text: text, Resolve: touches, Commit: true}, true
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

// leftoverMessage is the message of a commit of what a fixer left uncommitted: it says what the fixer was asked to do.
func leftoverMessage(round int, open []Finding) string {
	var b strings.Builder
	fmt.Fprintf(&b, "Answer the findings of round %d\n\n", round)
	for _, f := range open {
		fmt.Fprintf(&b, "%s: %s\n", TrailerFinding, f.ID)
	}
	return b.String()
}

func abbrev(commit string) string { return commit[:min(len(commit), 12)] }
