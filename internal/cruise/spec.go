package cruise

import (
	"cmp"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
)

// Kind is what a phase is for.
type Kind string

// The kinds of phases, in the order in which a task goes through them.
const (
	Planning   Kind = "planning"
	Building   Kind = "building"
	Validating Kind = "validating"
)

// Kinds is every kind, in order.
func Kinds() []Kind { return []Kind{Planning, Building, Validating} }

// Spec is what the user asked for. It does not change.
type Spec struct {
	Task     string   `json:"task"`
	Kind     Kind     `json:"kind"`
	Through  Kind     `json:"through,omitempty"` // the last of several kinds in a row
	Repo     string   `json:"repo"`              // the user's repository on this machine
	Remote   string   `json:"remote,omitempty"`  // its address, where any machine may run the phase and Repo is that one's
	Base     string   `json:"base,omitempty"`    // the commit to begin at; "" is the repository's HEAD
	Box      string   `json:"box"`
	On       string   `json:"on,omitempty"` // a label that its machine must have
	Planner  Worker   `json:"planner"`
	Reviewer Worker   `json:"reviewer"`
	Fixer    Worker   `json:"fixer"`
	Domains  []string `json:"domains"`
	Trusted  []string `json:"trusted,omitempty"` // names that are heard beside those who may write

	MaxRounds  int           `json:"max_rounds"`
	MaxCost    float64       `json:"max_cost"`
	DiffBudget int           `json:"diff_budget"` // changed lines in all; a phase with more asks
	Timeout    time.Duration `json:"timeout"`     // without activity
	Draft      bool          `json:"draft,omitempty"`
	Ready      bool          `json:"ready,omitempty"` // a draft is marked as ready when it is approved
	Merge      bool          `json:"merge,omitempty"`
	Branch     string        `json:"branch,omitempty"` // given by the user, instead of one that is made up
	// Checks says which checks have to be green before an approval counts, but for those to ignore, by name or pattern.
	Checks       CheckRule `json:"checks,omitempty"`
	IgnoreChecks []string  `json:"ignore_checks,omitempty"`
	// MayChange are kinds of change that are pushed without asking.
	MayChange []string `json:"may_change,omitempty"`
	// KeepCurrent has the branch contain its target whenever that moves.
	KeepCurrent bool `json:"keep_current,omitempty"`
	// PollMin and PollMax are the shortest and the longest wait between two looks; 0 is the usual.
	PollMin time.Duration `json:"poll_min,omitempty"`
	PollMax time.Duration `json:"poll_max,omitempty"`
	// comments closer together than this share a round; 0 is ten seconds
	Quiet time.Duration `json:"quiet,omitempty"`
}

// Agents are those that work in its phase.
func (s Spec) Agents() []string { return []string{s.Planner.Agent, s.Reviewer.Agent, s.Fixer.Agent} }

func (s Spec) quiet() time.Duration { return cmp.Or(s.Quiet, 10*time.Second) }

// Domains are what reviewers look at where nothing else is set.
func Domains() []string {
	return []string{"Security", "TechnicalFeasibility", "TaskGranularity", "DependencyCompleteness", "GeneralPolish"}
}

// Worker is an agent and its model.
type Worker struct {
	Agent string `json:"agent"`
	Model string `json:"model,omitempty"`
}

// Stage is where a phase is.
type Stage string

// The stages. Every one of them can be begun again from its start: what it did already is found and not done twice.
const (
	StageName     Stage = "naming"
	StageOpen     Stage = "preparing"
	StageWork     Stage = "working"
	StagePublish  Stage = "publishing"
	StageReview   Stage = "reviewing"
	StageWatch    Stage = "watching"
	StageFix      Stage = "fixing"
	StageAnswer   Stage = "answering"
	StageReady    Stage = "readying"
	StageChecks   Stage = "checking"
	StageMerge    Stage = "merging"
	StageCompare  Stage = "comparing"
	StageAsk      Stage = "asking"
	StageEnding   Stage = "ending"
	StageEnded    Stage = "ended"
	StageCleaning Stage = "cleaning"
)

// End is why a phase ended.
type End string

// The ends of a phase.
const (
	EndApproved End = "approved"
	EndComplete End = "review complete"
	EndMerged   End = "merged"
	EndClosed   End = "closed"
	EndRounds   End = "round limit"
	EndCost     End = "spend limit"
	EndIdle     End = "idle"
	EndCleanup  End = "cleaned up"
	EndService  End = "ended in the service, by its operator"
)

// PullRequest is where a phase's work is reviewed.
type PullRequest struct {
	Number int    `json:"number"`
	URL    string `json:"url"`
	Base   string `json:"base,omitempty"` // the branch that it was opened for
}

// Workspace is where a phase's agents work.
type Workspace struct {
	Session string `json:"session"`
	Path    string `json:"path"`
	Base    string `json:"base"` // the commit that the branch began at
}

// Judgement is a reviewer's last word on a domain.
type Judgement struct {
	Domain  string          `json:"domain"`
	Verdict reading.Verdict `json:"verdict,omitempty"` // "" for a review that failed
	Head    string          `json:"head"`              // the commit that was reviewed
	Failure string          `json:"failure,omitempty"`
	// Wants are the findings of a verdict that wants changes.
	Wants []string `json:"wants,omitempty"`
}
