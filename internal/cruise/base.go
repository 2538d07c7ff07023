package cruise

import (
	"fmt"
	"slices"
	"strings"
)

// TargetIn asks for the branch that a request goes into, and whether it can be merged.
type TargetIn struct {
	Where
	Workspace Workspace `json:"workspace"`
	Branch    string    `json:"branch"`            // that the request goes into
	Head      string    `json:"head"`              // of the request
	Demands   bool      `json:"demands,omitempty"` // the forge is asked whether it demands that the request contains it
}

// Target is where that branch is, and why it has to be merged first.
type Target struct {
	Commit    string   `json:"commit,omitempty"`
	Contained bool     `json:"contained,omitempty"` // the request has it already
	Conflicts []string `json:"conflicts,omitempty"` // files
	Demanded  bool     `json:"demanded,omitempty"`  // the forge merges only what contains its base
	Merged    bool     `json:"merged,omitempty"`    // it has the request's head
}

// Behind says that the target has moved since the work began or last took it in.
func (s State) Behind() bool {
	return s.Base.Commit != "" && s.Base.Commit != s.Base.Began && s.Base.Commit != s.Base.From
}

// LendIn asks to make a commit known in the workspace, so that a fixer can merge it.
type LendIn struct {
	Phase     string    `json:"phase"`
	Workspace Workspace `json:"workspace"`
	Commit    string    `json:"commit"`
}

// fromBase begins the ids of findings about the branch that the request goes into.
const fromBase = LocalComment + "base:"

// baseMoved notices that the branch which the request goes into has moved, also before the first look. It is merged
// when it conflicts, or if the user wants the request to keep up with it.
func (m *machine) baseMoved(at string) error {
	looking := slices.Contains([]Stage{StageWatch, StageChecks, StageMerge}, m.Stage)
	if at == "" || at == m.Base.Commit || !looking {
		return nil
	}
	if m.Base.Began == "" {
		m.Base.Began = m.since()
	}
	if at == m.since() {
		m.Base.Commit = at // the work begins there, or has merged it
		return nil
	}
	t, done, err := m.compareTarget(m.targetIn())
	if err == nil && done && !t.Contained && (len(t.Conflicts) > 0 || m.Spec.KeepCurrent) {
		m.raiseBase(t)
	}
	return err
}

// compareTarget brings the target and notes where it is. done is false if the phase has moved to another stage.
func (m *machine) compareTarget(in TargetIn) (t Target, done bool, err error) {
	stage := m.Stage
	t, done, err = attempt(m, StepTarget, in)
	if err != nil || !done || m.Stage != stage {
		return t, false, err
	}
	if m.Base.Commit = t.Commit; t.Contained {
		m.Base.Began = t.Commit
	}
	return t, true, nil
}

// endApproved ends an approved phase that does not merge, unless the forge would not let anybody merge it: where the
// target has to be taken in first, a fixer does that, and the merge needs an approval of its own.
func (m *machine) endApproved() error {
	if !m.lastKind() || !m.Behind() {
		m.end(m.Review.Approval.End, m.Review.Approval.Words)
		return nil
	}
	in := m.targetIn()
	in.Demands = true
	t, done, err := m.compareTarget(in)
	switch {
	case err != nil || !done:
	case !t.Contained && (t.Demanded || len(t.Conflicts) > 0):
		m.raiseBase(t)
		m.to(StageWatch)
	default:
		m.end(m.Review.Approval.End, m.Review.Approval.Words)
	}
	return err
}

func (m *machine) targetIn() TargetIn {
	return TargetIn{Where: m.where(), Workspace: m.Workspace, Branch: m.Base.Branch, Head: m.Head.Commit}
}

// raiseBase makes a finding of a base that has to be merged. An older one is about a commit that the new one contains.
func (m *machine) raiseBase(t Target) {
	for i := range m.Ledger.Findings {
		if f := &m.Ledger.Findings[i]; f.State == Open && strings.HasPrefix(f.Comment, fromBase) &&
			f.Comment != fromBase+t.Commit {
			f.State = Dropped
		}
	}
	why := "this branch has to keep up with it"
	switch {
	case len(t.Conflicts) > 0:
		why = "it conflicts with this branch in " + strings.Join(t.Conflicts, ", ")
	case t.Demanded:
		why = "the forge merges only what contains it"
	}
	m.Base.Commit = t.Commit
	m.Ledger.Raise(Finding{Author: "cco", Comment: fromBase + t.Commit, Round: m.Round, Text: fmt.Sprintf(
		"The branch %s, which this goes into, is at %s now, and %s. Merge it with `git merge %[2]s`, which is in this "+
			"repository, keep what both sides want, and commit the merge. Rebase and rewrite nothing.",
		m.Base.Branch, t.Commit, why)})
}

// baseToMerge is the finding about a base that a fixer has to merge, nil if there is none.
func (m *machine) baseToMerge() *Finding {
	for i := range m.Ledger.Findings {
		if f := &m.Ledger.Findings[i]; f.State == Open && strings.HasPrefix(f.Comment, fromBase) {
			return f
		}
	}
	return nil
}

// lend makes the base known in the workspace if the fixer has to merge it.
func (m *machine) lend() (bool, error) {
	f := m.baseToMerge()
	if f == nil {
		return true, nil
	}
	_, done, err := attempt(m, StepLend, LendIn{Phase: m.ID(), Workspace: m.Workspace,
		Commit: strings.TrimPrefix(f.Comment, fromBase)})
	return done, err
}

// mergedBase is the reply to a finding about the base, which only the history answers: a trailer does not suffice.
func (m *machine) mergedBase(f Finding, p Published) (Reply, bool) {
	if p.Onto == "" || f.Comment != fromBase+p.Onto {
		return Reply{}, false
	}
	m.Ledger.Settle(f.ID, Fixed, "", p.Head)
	return Reply{Finding: f.ID, Comment: f.Comment, Commit: true, Text: fmt.Sprintf("%s is merged: %s contains %s.",
		code(m.Base.Branch), abbrev(p.Head), abbrev(p.Onto))}, true
}
