package fleet

import (
	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/safetext"
)

// Bounds of what a summary says: with its seal and its name it has at most 2 kB.
const (
	maxSaid  = 200 // bytes of a text
	maxSmall = 80
)

// Summarize is what others see of a phase while they don't have it: a state with little in it.
func Summarize(st cruise.State) cruise.State {
	spec := st.Spec
	s := cruise.State{
		Spec: cruise.Spec{Task: cut(spec.Task, maxSaid), Kind: spec.Kind, Through: spec.Through, Remote: spec.Remote,
			Box: cut(spec.Box, maxSmall), Planner: spec.Planner, Reviewer: spec.Reviewer, Fixer: spec.Fixer,
			MaxRounds: spec.MaxRounds, MaxCost: spec.MaxCost, Timeout: spec.Timeout, Merge: spec.Merge},
		Kind: st.Kind, Stage: st.Stage, PR: st.PR, Round: st.Round, Started: st.Started, LastActivity: st.LastActivity,
		Meta:   cruise.Metadata{Title: cut(st.Meta.Title, maxSaid), Branch: st.Meta.Branch},
		Paused: st.Paused, End: st.End, EndWords: cut(st.EndWords, maxSaid),
	}
	s.Head.Commit, s.Base.Branch = st.Head.Commit, cut(st.Base.Branch, maxSmall)
	s.Spent, s.Life = st.Spent, st.Life
	s.Ask.Question, s.Ask.Resume = cut(st.Ask.Question, maxSaid), st.Ask.Resume
	s.Waiting.Trouble, s.Waiting.For = cut(st.Waiting.Trouble, maxSaid), cut(st.Waiting.For, maxSmall)
	return s
}

func cut(s string, most int) string {
	if len(s) <= most {
		return s
	}
	return s[:safetext.Boundary(s, most-3)] + "…"
}
