package cruise

import (
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

func (m *machine) publishIn() PublishIn {
	since := m.st.Head.Commit
	if since == "" {
		since = m.st.Workspace.Base
	}
	in := PublishIn{
		Phase: m.ID(), Repo: m.st.Spec.Repo, Workspace: m.st.Workspace, Since: since, Base: m.st.Base.From,
	}
	if f := m.baseToMerge(); f != nil {
		in.Onto = strings.TrimPrefix(f.Comment, fromBase)
	}
	return in
}

// recordPublished notes what came out of the workspace and will be pushed next.
func (m *machine) recordPublished(p Published) {
	if p.Head != "" && p.Head != m.st.Head.Commit {
		m.st.Head.Before, m.st.Head.Commit = m.st.Head.Commit, p.Head
	}
	if p.Plan != "" && m.st.Plan == "" {
		m.st.Plan = p.Plan
	}
	if p.Onto != "" {
		m.st.Base.From = p.Onto // what is reviewed begins there now
	}
	if m.st.red() {
		m.st.Checks.RedTests = p.Tests
	}
	m.st.Head.Lines = p.Lines
	m.st.Outbox.Told, m.st.Outbox.Kinds = p.Told, p.Kinds
}

// tell keeps one comment on the pull request about what a person must know of the change.
func (m *machine) tell() (bool, error) {
	if m.st.PR == nil || m.st.Outbox.Told == m.st.Outbox.Said {
		return true, nil
	}
	text := m.st.Outbox.Told
	if text == "" {
		text = "**cco**: there is nothing more in this change that a person must know before merging it."
	}
	_, done, err := attempt[struct{}](m, StepSay, SayIn{Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number,
		Key: "gate", Text: text, Keep: true})
	if done {
		m.st.Outbox.Said = m.st.Outbox.Told
	}
	return done, err
}

// publish pushes the first commits of a kind and makes sure that there is a pull request.
func (m *machine) publish() error {
	if p := m.st.Outbox.Published; p != nil {
		if may, err := m.mayPush(*p); err != nil || !may {
			return err
		}
		m.recordPublished(*p)
		m.st.Outbox.Published = nil
	}
	if pushed, err := m.push(); err != nil || !pushed {
		return err
	}
	if m.st.PR == nil && m.st.Head.Commit != m.st.Workspace.Base {
		pr, done, err := attempt[PullRequest](m, StepPullRequest, PullRequestIn{
			Phase: m.ID(), Repo: m.st.Spec.Repo, Branch: m.st.Meta.Branch, Title: m.st.Meta.Title, Body: prBody(*m.st),
			Draft: m.st.Spec.Draft,
		})
		if err != nil || !done {
			return err
		}
		m.st.PR, m.st.Base.Branch = &pr, pr.Base
	}
	if told, err := m.tell(); err != nil || !told {
		return err
	}
	if m.st.Outbox.Report != "" && m.st.PR != nil {
		_, done, err := attempt[struct{}](m, StepSay, SayIn{
			Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number, Key: fmt.Sprintf("report-%s-%d", m.st.Kind, m.st.Life.Again),
			Text: "**cco**: the project's checks, as the " + m.st.Spec.Planner.Agent + " agent reports them:\n\n" + m.st.Outbox.Report,
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
	if m.st.Head.Commit == "" || m.st.Head.Commit == m.st.Workspace.Base {
		return true, nil
	}
	if done, err := m.withdraw(); err != nil || !done {
		return false, err
	}
	pushed, done, err := attempt[Pushed](m, StepPush, PushIn{
		Phase: m.ID(), Repo: m.st.Spec.Repo, Branch: m.st.Meta.Branch, Old: m.st.Head.Before, New: m.st.Head.Commit, Anew: m.st.Head.Anew,
	})
	if done && m.st.Head.Pushed != m.st.Head.Commit {
		m.st.Head.Pushed, m.st.Head.PushedAt = m.st.Head.Commit, pushed.At
	}
	if done {
		m.st.Head.Anew = false
	}
	return done, err
}
