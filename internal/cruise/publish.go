package cruise

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/safetext"
)

// recordPublished notes what came out of the workspace and will be pushed next.
func (s *State) recordPublished(p Published) {
	if p.Head != "" && p.Head != s.Head.Commit {
		s.Head.Before, s.Head.Commit = s.Head.Commit, p.Head
	}
	if p.Plan != "" && s.Plan == "" {
		s.Plan = p.Plan
	}
	if p.Onto != "" {
		s.Base.From = p.Onto // what is reviewed begins there now
	}
	if s.red() {
		s.Checks.RedTests = p.Tests
	}
	s.Head.Lines = p.Lines
	s.Outbox.Told, s.Outbox.Kinds = p.Told, p.Kinds
}

// tell keeps one comment on the pull request about what a person must know of the change.
func (m *machine) tell() {
	if m.PR == nil || m.Outbox.Told == m.Outbox.Said {
		return
	}
	attempt(m, StepSay, SayIn{Where: m.where(), Key: "gate", Keep: true, Text: cmp.Or(m.Outbox.Told,
		"**cco**: there is nothing more in this change that a person must know before merging it.")})
	m.Outbox.Said = m.Outbox.Told
}

// publish pushes the first commits of a kind and makes sure that there is a pull request.
func (m *machine) publish() {
	if p := m.Outbox.Published; p != nil {
		m.mayPush(*p)
		m.recordPublished(*p)
		m.Outbox.Published = nil
	}
	m.push()
	if m.PR == nil && m.Head.Commit != m.Workspace.Base {
		pr := attempt(m, StepPullRequest, PullRequestIn{Where: m.where(), Title: m.Meta.Title, Body: prBody(*m.State),
			Draft: m.Spec.Draft})
		m.PR, m.Base.Branch = &pr, pr.Base
	}
	m.tell()
	if m.Outbox.Report != "" && m.PR != nil {
		attempt(m, StepSay, SayIn{Where: m.where(), Key: fmt.Sprintf("report-%s-%d", m.Kind, m.Life.Again),
			Text: "**cco**: the project's checks, as the " + m.Spec.Planner.Agent + " agent reports them:\n\n" +
				m.Outbox.Report})
	}
	m.to(StageReview)
}

// Bounds of what is copied onto the forge.
const (
	maxBody   = 8 << 10
	maxReport = 8 << 10
)

func prBody(st State) string {
	body := reading.Harmless(safetext.Cut(st.Spec.Task, maxBody))
	if st.Plan != "" {
		body += "\n\nPlan: " + Code(st.Plan)
	}
	return body
}

// Code quotes what an agent wrote, so that the forge shows it as it is and as nothing else.
func Code(words string) string {
	return "`" + strings.ReplaceAll(reading.Harmless(words), "`", "'") + "`"
}

func (m *machine) push() {
	if m.Head.Commit == "" || m.Head.Commit == m.Workspace.Base {
		return
	}
	m.withdraw()
	pushed := attempt(m, StepPush, PushIn{Where: m.where(), Old: m.Head.Before, New: m.Head.Commit,
		Anew: m.Head.Anew})
	if m.Head.Pushed != m.Head.Commit {
		m.Head.Pushed, m.Head.PushedAt = m.Head.Commit, pushed
	}
	m.Head.Anew = false
}
