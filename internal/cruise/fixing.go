package cruise

import (
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
	"github.com/cco-dev/cco/internal/unit"
)

// fixing are the stages in which a fixer answers findings, and its answers are posted.
type fixing struct{ *machine }

// fix runs one round: a fresh fixer, its commits pushed, its answers posted.
func (m fixing) fix() {
	if !m.Attempt.Underway && m.stopsBeforeRound() {
		return
	}
	if m.Attempt.Number == 0 {
		m.lookBeforeRound()
		m.dropGreen()
		m.Round++
	}
	m.begin()
	m.ensure()
	open := m.Ledger.OpenOnes()
	name := fmt.Sprintf("fix-%d-%d", m.Round, m.Attempt.Number)
	job := m.job(Fixer, name, m.Spec.Fixer, Prompt("fix", briefing{State: *m.State, Open: open, Red: m.red()}))
	job.Message = fmt.Sprintf("Keep what was left uncommitted (round %d, turn %d)", m.Round, m.Attempt.Number)
	for _, f := range open {
		job.Findings = append(job.Findings, f.ID)
	}
	report, published := m.turnAndPublish(job)
	why := fault(report, published)
	var said []Reply
	if why == "" { // else what it left answers nothing
		said = m.inWords(open, report)
	}
	if why == "" && len(published.Commits) == 0 && len(said) == 0 {
		why = "it committed nothing"
	}
	if why != "" {
		if m.notDone("fixer "+m.Spec.Fixer.Agent, why) {
			m.Round-- // if a person lets it run again, it has the same number
		}
		return
	}
	m.attribute(published.Commits, job, report)
	m.Outbox.Published, m.Outbox.Replies = &published, append(m.Outbox.Replies, said...)
	m.to(StageAnswer)
}

// attribute finds out what leftovers answer: the only open finding, or what the agent names in its report, or else when
// it is asked for that.
func (m fixing) attribute(commits []Commit, turn Job, r Report) {
	at := slices.IndexFunc(commits, func(c Commit) bool { return c.Subject == turn.Message && len(c.Files) > 0 })
	if at < 0 {
		return
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
		question := Prompt("which", briefing{State: *m.State, Commit: commits[at].ID, Open: open})
		answer := m.turn(m.job(Reviewer, fmt.Sprintf("which-%d", m.Round), m.Spec.Fixer, question))
		for line := range strings.Lines(answer.Answer) {
			if id, ok := strings.CutPrefix(strings.TrimSpace(line), TrailerFinding+":"); ok && answer.OK {
				ids = append(ids, named(id)...)
			}
		}
	}
	commits[at].Findings = ids
}

// lookBeforeRound sees what others pushed, said or took back until now, before a fixer is paid for something else.
func (m fixing) lookBeforeRound() {
	m.asked = true
	m.look()
	if m.Looks.Blind {
		m.to(StageWatch) // the next look may say more
		leave()
	}
}

// dropGreen drops checks that are green again, before a fixer is paid for them. If no finding is left, there is no
// round.
func (m fixing) dropGreen() {
	if slices.ContainsFunc(m.Ledger.OpenOnes(), func(f Finding) bool { return f.Check != "" }) {
		m.readChecks()
		m.Ledger.drop(func(f Finding) bool { return f.Check != "" && !slices.Contains(m.Checks.Red, f.Check) })
	}
	if len(m.Ledger.OpenOnes()) == 0 {
		m.to(StageWatch)
		leave()
	}
}

// inWords gives a fixer's answers without a commit: a person may only have asked a question.
func (s *State) inWords(open []Finding, r Report) (list []Reply) {
	words := answersIn(r.Answer)
	for _, f := range open {
		if text := words[f.ID]; f.Domain == "" && text != "" {
			s.Ledger.Settle(f.ID, Answered, "", "")
			list = append(list, Reply{Finding: f.ID, Comment: f.Comment, Text: text})
		}
	}
	return list
}

// stopsBeforeRound ends the phase, or asks, if no other round may begin, and says whether it did.
func (s *State) stopsBeforeRound() bool {
	switch {
	case s.broke():
		return true
	case s.Attempt.Number > 0:
		return false // this round has begun
	case s.Spec.MaxRounds > 0 && s.Round >= s.Spec.MaxRounds:
		s.end(EndRounds, "Rounds that were run: "+strconv.Itoa(s.Round)+".")
		return true
	}
	why := s.Ledger.Circles()
	if why == "" && s.Head.MaxLines > 0 && s.Head.Lines > s.Head.MaxLines {
		why = fmt.Sprintf("the change has grown to %s, more than %d", unit.Count(s.Head.Lines, "line"), s.Head.MaxLines)
	}
	if why != "" {
		s.askWhy("this goes in circles: "+why, "this goes in circles: findings come back, or the change grows too large")
	}
	return why != ""
}

// answer pushes the commits of a round and replies to its findings.
func (m fixing) answer() {
	p := m.Outbox.Published
	m.mayPush(*p)
	m.stillOpen()
	m.recordPublished(*p)
	in := AnswerIn{Where: m.where(), Round: m.Round, Kind: m.Kind}
	if len(p.Commits) > 0 {
		m.push()
		m.tell()
		in.Head = p.Head // no answer refers to a commit that is not there
	}
	for _, f := range m.Ledger.OpenOnes() {
		if r, ok := m.outcome(f, *p); ok {
			m.Outbox.Replies = append(m.Outbox.Replies, r)
		}
	}
	if in.Answers = m.Outbox.Replies; len(in.Answers) > 0 {
		attempt(m.machine, StepAnswer, in)
	}
	for _, c := range p.Commits {
		m.Ledger.Stir(c.Files)
	}
	m.Ledger.Close()
	m.Outbox.Published, m.Outbox.Replies = nil, nil
	m.Looks.Backoff.Secs = 0
	m.to(StageReview)
}

// stillOpen asks whether the pull request was merged or closed while the fixer was at work. Nothing is pushed to one
// that was: the person who closed it did not see that work. It is kept in the user's repository. What others pushed
// meanwhile is joined, or asked about.
func (m fixing) stillOpen() {
	news := attempt(m.machine, StepLook, m.lookIn(true))
	if end := map[forge.State]End{forge.Merged: EndMerged, forge.Closed: EndClosed}[news.State]; end != "" {
		m.end(end, fmt.Sprintf("The work of round %d came too late and was not pushed; it is at refs/cco/%s in the "+
			"repository that the phase was started in.", m.Round, m.Workspace.Session))
		m.Outbox.Published = nil
		leave()
	}
	before := m.Outbox.Published.Head
	m.head = news.Head
	if news.Head == before && before != m.Head.Commit {
		return // an earlier life pushed it and died before it could say so
	}
	m.otherHands(news.Updated)
	m.stay(StageAnswer)
	if m.Outbox.Published.Head != before {
		leave() // the stage begins again with a head that joins both
	}
}

// outcome gives the reply to a finding after a round. A finding that no commit names stays open and gets no reply.
func (s *State) outcome(f Finding, p Published) (Reply, bool) {
	if strings.HasPrefix(f.Comment, fromBase) {
		return s.mergedBase(f, p)
	}
	for _, c := range p.Commits {
		if !slices.Contains(c.Findings, f.ID) || len(c.Files) == 0 {
			continue
		}
		s.Ledger.Settle(f.ID, Fixed, "", c.ID)
		touches := f.Path == "" || slices.Contains(c.Files, path.Clean(f.Path))
		text := fmt.Sprintf("Done in %s: %s", abbrev(c.ID), reading.Harmless(c.Subject))
		if !touches {
			text += fmt.Sprintf("\n\nIt does not touch %s, so this stays for you to resolve.", Code(f.Path))
		}
		return Reply{Finding: f.ID, Comment: f.Comment, Text: text, Resolve: touches, Commit: true}, true
	}
	for _, c := range p.Commits {
		for _, d := range c.Declined {
			if d.Finding == f.ID && strings.TrimSpace(d.Text) != "" {
				s.Ledger.Settle(f.ID, Declined, reading.Harmless(d.Text), c.ID)
				return Reply{Finding: f.ID, Comment: f.Comment, Text: "Declined: " + reading.Harmless(d.Text)}, true
			}
		}
	}
	return Reply{}, false
}

func abbrev(commit string) string { return commit[:min(len(commit), 10)] }
