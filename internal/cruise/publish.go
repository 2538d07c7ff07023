package cruise

import (
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

func (m *machine) publishIn() PublishIn {
	since := m.Head.Commit
	if since == "" {
		since = m.Workspace.Base
	}
	in := PublishIn{
		Where: m.where(), Workspace: m.Workspace, Since: since, Base: m.Base.From,
	}
	if f := m.baseToMerge(); f != nil {
		in.Onto = strings.TrimPrefix(f.Comment, fromBase)
	}
	return in
}

// recordPublished notes what came out of the workspace and will be pushed next.
func (m *machine) recordPublished(p Published) {
	if p.Head != "" && p.Head != m.Head.Commit {
		m.Head.Before, m.Head.Commit = m.Head.Commit, p.Head
	}
	if p.Plan != "" && m.Plan == "" {
		m.Plan = p.Plan
	}
	if p.Onto != "" {
		m.Base.From = p.Onto // what is reviewed begins there now
	}
	if m.red() {
		m.Checks.RedTests = p.Tests
	}
	m.Head.Lines = p.Lines
	m.Outbox.Told, m.Outbox.Kinds = p.Told, p.Kinds
}

// tell keeps one comment on the pull request about what a person must know of the change.
func (m *machine) tell() (bool, error) {
	if m.PR == nil || m.Outbox.Told == m.Outbox.Said {
		return true, nil
	}
	text := m.Outbox.Told
	if text == "" {
		text = "**cco**: there is nothing more in this change that a person must know before merging it."
	}
	_, done, err := attempt(m, StepSay, SayIn{Where: m.where(),
		Key: "gate", Text: text, Keep: true})
	if done {
		m.Outbox.Said = m.Outbox.Told
	}
	return done, err
}

// publish pushes the first commits of a kind and makes sure that there is a pull request.
func (m *machine) publish() error {
	if p := m.Outbox.Published; p != nil {
		if may, err := m.mayPush(*p); err != nil || !may {
			return err
		}
		m.recordPublished(*p)
		m.Outbox.Published = nil
	}
	if pushed, err := m.push(); err != nil || !pushed {
		return err
	}
	if m.PR == nil && m.Head.Commit != m.Workspace.Base {
		pr, done, err := attempt(m, StepPullRequest, PullRequestIn{
			Where: m.where(), Branch: m.Meta.Branch, Title: m.Meta.Title, Body: prBody(*m.State),
			Draft: m.Spec.Draft,
		})
		if err != nil || !done {
			return err
		}
		m.PR, m.Base.Branch = &pr, pr.Base
	}
	if told, err := m.tell(); err != nil || !told {
		return err
	}
	if m.Outbox.Report != "" && m.PR != nil {
		_, done, err := attempt(m, StepSay, SayIn{
			Where: m.where(), Key: fmt.Sprintf("report-%s-%d", m.Kind, m.Life.Again),
			Text: "**cco**: the project's checks, as the " + m.Spec.Planner.Agent + " agent reports them:\n\n" + m.Outbox.Report,
		})
		if err != nil || !done {
			return err
		}
	}
	m.to(StageReview)
	return nil
}

// Bounds of what is copied onto the forge.
const (
	maxBody   = 8 << 10
	maxReport = 8 << 10
)

func prBody(st State) string {
	body := Harmless(safetext.Cut(st.Spec.Task, maxBody))
	if st.Plan != "" {
		body += "\n\nPlan: " + code(st.Plan)
	}
	return body
}

// code quotes a name that an agent chose, so that the forge shows it as a name and nothing else.
func code(name string) string { return "`" + strings.ReplaceAll(Harmless(name), "`", "") + "`" }

func (m *machine) push() (bool, error) {
	if m.Head.Commit == "" || m.Head.Commit == m.Workspace.Base {
		return true, nil
	}
	if done, err := m.withdraw(); err != nil || !done {
		return false, err
	}
	pushed, done, err := attempt(m, StepPush, PushIn{
		Where: m.where(), Branch: m.Meta.Branch, Old: m.Head.Before, New: m.Head.Commit, Anew: m.Head.Anew,
	})
	if done && m.Head.Pushed != m.Head.Commit {
		m.Head.Pushed, m.Head.PushedAt = m.Head.Commit, pushed.At
	}
	if done {
		m.Head.Anew = false
	}
	return done, err
}
