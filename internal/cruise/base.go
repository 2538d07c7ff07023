package cruise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// TargetIn asks for the branch that a request goes into, and whether it can be merged.
type TargetIn struct {
	Where
	Base    string `json:"base"`              // the branch that the request goes into
	Head    string `json:"head"`              // of the request
	Demands bool   `json:"demands,omitempty"` // the forge is asked whether it demands that the request contains it
}

// Target is where that branch is, and why it has to be merged first.
type Target struct {
	Commit    string   `json:"commit,omitempty"`
	From      string   `json:"from,omitempty"`      // where the request's branch left it
	Contained bool     `json:"contained,omitempty"` // the request has it already
	Conflicts []string `json:"conflicts,omitempty"` // files
	Demanded  bool     `json:"demanded,omitempty"`  // the forge merges only what contains its base
	Merged    bool     `json:"merged,omitempty"`    // it has the request's head
}

// Behind says that the target has moved since the work began or last took it in.
func (s State) Behind() bool {
	return s.Base.Commit != "" && s.Base.Commit != s.Base.Began && s.Base.Commit != s.Base.From
}

// fromBase begins the ids of findings about the branch that the request goes into.
const fromBase = LocalComment + "base:"

// baseMoved notices that the branch which the request goes into has moved, also before the first look. It is merged
// when it conflicts, or if the user wants the request to keep up with it.
func (m *machine) baseMoved(at string) {
	looking := slices.Contains([]Stage{StageWatch, StageChecks, StageMerge}, m.Stage)
	if at == "" || at == m.Base.Commit || !looking {
		return
	}
	m.Base.Began = cmp.Or(m.Base.Began, m.since())
	if at == m.since() {
		m.Base.Commit = at // the work begins there, or has merged it
		return
	}
	if t := m.compareTarget(false); !t.Contained && (len(t.Conflicts) > 0 || m.Spec.KeepCurrent) {
		m.raiseBase(t)
	}
}

// compareTarget brings the target and notes where it is. The forge is asked whether it demands that only where that
// decides something.
func (m *machine) compareTarget(demands bool) Target {
	t := attempt(m, StepTarget, TargetIn{Where: m.where(), Base: m.Base.Branch, Head: m.Head.Commit, Demands: demands})
	if m.Base.Commit = t.Commit; t.Contained {
		m.Base.Began = t.Commit
	}
	return t
}

// endApproved ends an approved phase that does not merge, unless the forge would not let anybody merge it: where the
// target has to be taken in first, a fixer does that, and the merge needs an approval of its own.
func (m merging) endApproved() {
	if m.lastKind() && m.Behind() {
		if t := m.compareTarget(true); !t.Contained && (t.Demanded || len(t.Conflicts) > 0) {
			m.raiseBase(t)
			m.to(StageWatch)
			return
		}
	}
	m.end(m.Review.Approval.End, m.Review.Approval.Words)
}

// raiseBase makes a finding of a base that has to be merged. An older one is about a commit that the new one contains.
func (s *State) raiseBase(t Target) {
	s.Ledger.drop(func(f Finding) bool {
		return strings.HasPrefix(f.Comment, fromBase) && f.Comment != fromBase+t.Commit
	})
	why := "this branch has to keep up with it"
	switch {
	case len(t.Conflicts) > 0:
		why = "it conflicts with this branch in " + strings.Join(t.Conflicts, ", ")
	case t.Demanded:
		why = "the forge merges only what contains it"
	}
	s.Base.Commit = t.Commit
	s.Ledger.Raise(Finding{Author: "cco", Comment: fromBase + t.Commit, Round: s.Round, Text: fmt.Sprintf(
		"The branch %s, which this goes into, is at %s now, and %s. Merge it with `git merge %[2]s`, which is in this "+
			"repository, keep what both sides want, and commit the merge. Rebase and rewrite nothing.",
		s.Base.Branch, t.Commit, why)})
}

// mergedBase is the reply to a finding about the base, which only the history answers: a trailer does not suffice.
func (s *State) mergedBase(f Finding, p Published) (Reply, bool) {
	if p.Onto == "" || f.Comment != fromBase+p.Onto {
		return Reply{}, false
	}
	s.Ledger.Settle(f.ID, Fixed, "", p.Head)
	return Reply{Finding: f.ID, Comment: f.Comment, Commit: true, Text: fmt.Sprintf("%s is merged: %s contains %s.",
		Code(s.Base.Branch), abbrev(p.Head), abbrev(p.Onto))}, true
}
