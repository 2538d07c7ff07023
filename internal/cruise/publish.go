package cruise

import (
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/safetext"
)

func (m *machine) publishIn() PublishIn {
	since := m.st.Head
	if since == "" {
		since = m.st.Workspace.Base
	}
	in := PublishIn{
		Phase: m.ID(), Repo: m.st.Spec.Repo, Workspace: m.st.Workspace, Since: since, Base: m.st.From,
	}
	if f := m.baseToMerge(); f != nil {
		in.Onto = strings.TrimPrefix(f.Comment, fromBase)
	}
	return in
}

// recordPublished notes what came out of the workspace and will be pushed next.
func (m *machine) recordPublished(p Published) {
	if p.Head != "" && p.Head != m.st.Head {
		m.st.LastHead, m.st.Head = m.st.Head, p.Head
	}
	if p.Plan != "" && m.st.Plan == "" {
		m.st.Plan = p.Plan
	}
	if p.Onto != "" {
		m.st.From = p.Onto // what is reviewed begins there now
	}
	if m.st.red() {
		m.st.RedTests = p.Tests
	}
	m.st.DiffLines = p.Lines
	m.st.Told, m.st.Kinds = p.Told, p.Kinds
}

// tell keeps one comment on the pull request about what a person must know of the change.
func (m *machine) tell() (bool, error) {
	if m.st.PR == nil || m.st.Told == m.st.Said {
		return true, nil
	}
	text := m.st.Told
	if text == "" {
		text = "**cco**: there is nothing more in this change that a person must know before merging it."
	}
	_, done, err := attempt[struct{}](m, StepSay, SayIn{Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number,
		Key: "gate", Text: text, Keep: true})
	if done {
		m.st.Said = m.st.Told
	}
	return done, err
}

// publish pushes the first commits of a kind and makes sure that there is a pull request.
func (m *machine) publish() error {
	if p := m.st.Published; p != nil {
		if may, err := m.mayPush(*p); err != nil || !may {
			return err
		}
		m.recordPublished(*p)
		m.st.Published = nil
	}
	if pushed, err := m.push(); err != nil || !pushed {
		return err
	}
	if m.st.PR == nil && m.st.Head != m.st.Workspace.Base {
		pr, done, err := attempt[PullRequest](m, StepPullRequest, PullRequestIn{
			Phase: m.ID(), Repo: m.st.Spec.Repo, Branch: m.st.Meta.Branch, Title: m.st.Meta.Title, Body: prBody(*m.st),
			Draft: m.st.Spec.Draft,
		})
		if err != nil || !done {
			return err
		}
		m.st.PR, m.st.Target = &pr, pr.Base
	}
	if told, err := m.tell(); err != nil || !told {
		return err
	}
	if m.st.Report != "" && m.st.PR != nil {
		_, done, err := attempt[struct{}](m, StepSay, SayIn{
			Phase: m.ID(), Repo: m.st.Spec.Repo, PR: m.st.PR.Number, Key: fmt.Sprintf("report-%s-%d", m.st.Kind, m.st.Again),
			Text: "**cco**: the project's checks, as the " + m.st.Spec.Planner.Agent + " agent reports them:\n\n" + m.st.Report,
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
	if m.st.Head == "" || m.st.Head == m.st.Workspace.Base {
		return true, nil
	}
	if done, err := m.withdraw(); err != nil || !done {
		return false, err
	}
	pushed, done, err := attempt[Pushed](m, StepPush, PushIn{
		Phase: m.ID(), Repo: m.st.Spec.Repo, Branch: m.st.Meta.Branch, Old: m.st.LastHead, New: m.st.Head, Anew: m.st.Anew,
	})
	if done && m.st.There != m.st.Head {
		m.st.There, m.st.Pushed = m.st.Head, pushed.At
	}
	if done {
		m.st.Anew = false
	}
	return done, err
}
