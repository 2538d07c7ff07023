package cruise

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
)

// fix runs one round: a fresh fixer, its commits pushed, its answers posted.
func (m *machine) fix() error {
	if !m.Attempt.Underway && m.stopsBeforeRound() {
		return nil
	}
	if err := m.ensure(); err != nil || m.Stage != StageFix {
		return err
	}
	if m.Attempt.Number == 0 {
		if err := m.lookBeforeRound(); err != nil || m.Stage != StageFix {
			return err
		}
		if left, err := m.dropWithdrawn(); err != nil || !left {
			return err
		}
		m.Round++
	}
	m.begin()
	if done, err := m.lend(); err != nil || !done {
		return err
	}
	open := m.Ledger.OpenOnes()
	name := fmt.Sprintf("fix-%d-%d", m.Round, m.Attempt.Number)
	job := m.job(Fixer, name, m.Spec.Fixer, fixPrompt(*m.State, open))
	job.Message = fmt.Sprintf("Keep what was left uncommitted (round %d, turn %d)", m.Round, m.Attempt.Number)
	for _, f := range open {
		job.Findings = append(job.Findings, f.ID)
	}
	report, published, done, err := m.turnAndPublish(job)
	if err != nil || !done {
		return err
	}
	if !report.OK || len(published.Refused) > 0 {
		m.over()
		return m.nothingDone(report, published) // what it left answers nothing
	}
	said := m.inWords(open, report)
	if len(published.Commits) == 0 && len(said) == 0 {
		m.over()
		return m.nothingDone(report, published)
	}
	if done, err := m.attribute(published.Commits, job, report); err != nil || !done {
		return err
	}
	m.Outbox.Published, m.Outbox.Replies = &published, append(m.Outbox.Replies, said...)
	m.to(StageAnswer)
	return nil
}

// attribute finds out what leftovers answer: the only open finding, or what the agent names in its report, or else when
// it is asked for that.
func (m *machine) attribute(commits []Commit, turn Job, r Report) (done bool, err error) {
	at := slices.IndexFunc(commits, func(c Commit) bool { return c.Subject == turn.Message && len(c.Files) > 0 })
	if at < 0 {
		return true, nil
	}
	open := slices.DeleteFunc(m.Ledger.OpenOnes(), func(f Finding) bool {
		return slices.ContainsFunc(commits, func(c Commit) bool {
			return slices.Contains(c.Findings, f.ID) ||
				slices.ContainsFunc(c.Declined, func(d Reason) bool { return d.Finding == f.ID })
		})
	})
	named := func(text string) (ids []string) {
		for _, f := range open {
			if strings.Contains(text, f.ID) {
				ids = append(ids, f.ID)
			}
		}
		return ids
	}
	ids := named(r.Answer)
	switch {
	case len(ids) > 0:
	case len(turn.Findings) == 1 && len(open) == 1:
		ids = turn.Findings
	case len(open) > 0 && !m.spent():
		job := m.job(Reviewer, fmt.Sprintf("which-%d", m.Round), m.Spec.Fixer, whichPrompt(commits[at], open))
		answer, done, err := m.turn(job)
		if err != nil || !done {
			return false, err
		}
		for line := range strings.Lines(answer.Answer) {
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), TrailerFinding+":"); ok && answer.OK {
				ids = append(ids, named(id)...)
			}
		}
	}
	commits[at].Findings = ids
	return true, nil
}

// lookBeforeRound sees what others pushed or said until now, before a fixer is paid for something else.
func (m *machine) lookBeforeRound() error {
	if m.PR == nil {
		return nil
	}
	m.asked = true
	_, err := m.look()
	if err == nil && m.Stage == StageFix && (!m.saw || m.unsure()) {
		m.to(StageWatch) // the next look may say more
	}
	return err
}

// dropWithdrawn drops findings that people deleted or resolved themselves, and checks that are green again, before a
// fixer is paid for them, and says whether any are left.
func (m *machine) dropWithdrawn() (bool, error) {
	var ids, gone []string
	var checks Checked
	failed := false
	for _, f := range m.Ledger.OpenOnes() {
		if failed = failed || f.Check != ""; f.Comment != "" && !strings.HasPrefix(f.Comment, LocalComment) {
			ids = append(ids, f.Comment)
		}
	}
	done := true
	var err error
	if len(ids) > 0 {
		gone, done, err = attempt(m, StepCheck, CheckIn{Where: m.where(),
			Comments: ids})
	}
	if failed && err == nil && done {
		checks, done, err = m.readChecks()
	}
	if err != nil || !done {
		return false, err
	}
	for i := range m.Ledger.Findings {
		f := &m.Ledger.Findings[i]
		if f.State == Open && (slices.Contains(gone, f.Comment) || checks.green(m.Head.Commit, f.Check)) {
			f.State = Dropped
		}
	}
	if len(m.Ledger.OpenOnes()) > 0 {
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
			m.Ledger.Settle(f.ID, Answered, "", "")
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
	if m.Attempt.Number > 0 {
		return false // this round has begun
	}
	if m.Spec.MaxRounds > 0 && m.Round >= m.Spec.MaxRounds {
		m.end(EndRounds, strconv.Itoa(m.Round)+" rounds were run.")
		return true
	}
	why := m.Ledger.Circles()
	if why == "" && m.Head.MaxLines > 0 && m.Head.Lines > m.Head.MaxLines {
		why = fmt.Sprintf("the change has grown to %d lines, more than %d", m.Head.Lines, m.Head.MaxLines)
	}
	if why != "" {
		m.askWhy("this goes in circles: "+why, "this goes in circles: findings come back, or the change grows too large")
		return true
	}
	return false
}

// nothingDone handles a round without a commit: nothing is reported as fixed.
func (m *machine) nothingDone(r Report, p Published) error {
	if m.broke() || m.Attempt.Number < maxTries {
		return nil
	}
	why := or(r.Error, "it failed")
	switch {
	case p.Rewritten != "":
		why = rewrote(p)
	case len(p.Refused) > 0:
		why = refused(p)
	case r.OK:
		why = "it committed nothing"
	}
	m.Attempt.Number = 0
	m.Round-- // if a person lets it run again, it has the same number
	m.askWhy(fmt.Sprintf("the fixer %s did not do its work: %s", m.Spec.Fixer.Agent, why),
		"the fixer "+m.Spec.Fixer.Agent+" did not do its work twice")
	return nil
}

func rewrote(p Published) string {
	return "it rewrote commits that were pushed; what it made of them is at " + p.Rewritten + " in your repository"
}

// refused says what kept an agent's work from being pushed.
func refused(p Published) string {
	return "its commits have what must not be pushed: " + strings.Join(p.Refused, "; ") +
		"; your setting pull.refuse says what that is"
}

// answer pushes the commits of a round and replies to its findings.
func (m *machine) answer() error {
	p := m.Outbox.Published
	if p == nil {
		m.to(StageReview)
		return nil
	}
	if may, err := m.mayPush(*p); err != nil || !may {
		return err
	}
	if open, err := m.stillOpen(); err != nil || !open {
		return err
	}
	m.recordPublished(*p)
	if len(p.Commits) > 0 {
		if pushed, err := m.push(); err != nil || !pushed {
			return err
		}
		if told, err := m.tell(); err != nil || !told {
			return err
		}
	}
	for _, f := range m.Ledger.OpenOnes() {
		if r, ok := m.outcome(f, *p); ok {
			m.Outbox.Replies = append(m.Outbox.Replies, r)
		}
	}
	if len(m.Outbox.Replies) > 0 {
		if _, done, err := attempt(m, StepAnswer, AnswerIn{
			Where: m.where(), Round: m.Round, Answers: m.Outbox.Replies,
			Kind: m.laterKind(), Head: headOf(*p),
		}); err != nil || !done {
			return err
		}
	}
	var files []string
	for _, c := range p.Commits {
		files = append(files, c.Files...)
	}
	m.Ledger.Stir(files)
	m.Ledger.Close()
	m.Outbox.Published, m.Outbox.Replies = nil, nil
	m.Looks.Backoff = m.Looks.Backoff.Reset()
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
	if m.Kind == m.Spec.Kind {
		return ""
	}
	return m.Kind
}

// stillOpen asks whether the pull request was merged or closed while the fixer was at work. Nothing is pushed to one
// that was: the person who closed it did not see that work. It is kept in the user's repository.
func (m *machine) stillOpen() (bool, error) {
	news, done, err := attempt(m, StepLook, LookIn{Where: m.where(),
		Mark: m.Inbox.Mark, Now: true})
	if err != nil || !done {
		return false, err
	}
	end := map[PullState]End{PullMerged: EndMerged, PullClosed: EndClosed}[news.State]
	if end == "" {
		return m.nobodyPushed(news)
	}
	m.end(end, fmt.Sprintf("The work of round %d came too late and was not pushed; it is at refs/cco/%s in the "+
		"repository that the phase was started in.",
		m.Round, m.Workspace.Session))
	m.Outbox.Published = nil
	return false, nil
}

// nobodyPushed joins what others pushed while the fixer was at work, or asks, and says whether the round can be pushed.
func (m *machine) nobodyPushed(news News) (bool, error) {
	before := m.Outbox.Published.Head
	m.head = news.Head
	if news.Head == before && before != m.Head.Commit {
		return true, nil // an earlier life pushed it and died before it could say so
	}
	if err := m.otherHands(news.Updated); err != nil || m.Stage != StageAnswer {
		return false, err
	}
	if m.unsure() {
		_, err := m.waitOut("the forge does not say yet who pushed "+abbrev(m.head), firstWait)
		return false, err
	}
	return m.Outbox.Published.Head == before, nil // the stage begins again with a head that joins both
}

// outcome gives the reply to a finding after a round. A finding that no commit names stays open and gets no reply.
func (m *machine) outcome(f Finding, p Published) (Reply, bool) {
	if strings.HasPrefix(f.Comment, fromBase) {
		return m.mergedBase(f, p)
	}
	for _, c := range p.Commits {
		if !slices.Contains(c.Findings, f.ID) || len(c.Files) == 0 {
			continue
		}
		m.Ledger.Settle(f.ID, Fixed, "", c.ID)
		touches := f.Path == "" || slices.Contains(c.Files, path.Clean(f.Path))
		text := fmt.Sprintf("Done in %s: %s", abbrev(c.ID), Harmless(c.Subject))
		if !touches {
			text += fmt.Sprintf("\n\nIt does not touch %s, so this stays for you to resolve.", code(f.Path))
		}
		return Reply{Finding: f.ID, Comment: f.Comment, Text: text, Resolve: touches, Commit: true}, true
	}
	for _, c := range p.Commits {
		for _, d := range c.Declined {
			if d.Finding == f.ID && strings.TrimSpace(d.Text) != "" {
				m.Ledger.Settle(f.ID, Declined, Harmless(d.Text), c.ID)
				return Reply{Finding: f.ID, Comment: f.Comment, Text: "Declined: " + Harmless(d.Text)}, true
			}
		}
	}
	return Reply{}, false
}

func abbrev(commit string) string { return commit[:min(len(commit), 10)] }
