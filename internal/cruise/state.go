package cruise

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
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
	// comments closer together than this share a round; 0 is ten seconds
	Quiet time.Duration `json:"quiet,omitempty"`
}

// Agents are those that work in its phase.
func (s Spec) Agents() []string { return []string{s.Planner.Agent, s.Reviewer.Agent, s.Fixer.Agent} }

func (s Spec) quiet() time.Duration {
	if s.Quiet > 0 {
		return s.Quiet
	}
	return 10 * time.Second
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
	Domain  string  `json:"domain"`
	Verdict Verdict `json:"verdict,omitempty"` // "" for a review that failed
	Head    string  `json:"head"`              // the commit that was reviewed
	Failure string  `json:"failure,omitempty"`
	// Wants are the findings of a verdict that wants changes.
	Wants []string `json:"wants,omitempty"`
}

// State is everything that a phase knows. The engine keeps it; people see a copy of some of it.
type State struct {
	Spec  Spec  `json:"spec"`
	Kind  Kind  `json:"kind"` // the present one, where a task goes through several
	Stage Stage `json:"stage"`

	Meta      Metadata     `json:"meta"`
	Workspace Workspace    `json:"workspace"`
	PR        *PullRequest `json:"pr,omitempty"`
	Head      string       `json:"head,omitempty"`      // the last commit that was pushed
	LastHead  string       `json:"last_head,omitempty"` // the one before this round
	Pushed    time.Time    `json:"pushed,omitzero"`     // when the head was on the forge, by its clock
	There     string       `json:"there,omitempty"`     // the head that Pushed belongs to
	Target    string       `json:"target,omitempty"`    // the branch that the pull request goes into
	// where the branch left its target, if the target has changed since the start
	From      string `json:"from,omitempty"`
	Onto      string `json:"onto,omitempty"`  // the commit that the target was at when it was last looked at
	Began     string `json:"began,omitempty"` // the first such commit
	Plan      string `json:"plan,omitempty"`  // the plan's path in the repository
	DiffLines int    `json:"diff_lines,omitempty"`
	Budget    int    `json:"budget,omitempty"` // changed lines; it grows when the user says so

	Round      int         `json:"round"`
	Attempt    int         `json:"attempt,omitempty"`  // of the present stage
	Underway   bool        `json:"underway,omitempty"` // that attempt has begun, and nothing was made of it yet
	Turns      []Turn      `json:"turns,omitempty"`    // of that attempt
	Judgements []Judgement `json:"judgements,omitempty"`
	Ledger     Ledger      `json:"ledger"`
	Held       []Comment   `json:"held,omitempty"`    // from strangers, waiting for the user
	Dropped    int         `json:"dropped,omitempty"` // of those, because there were too many
	Mark       string      `json:"mark,omitempty"`    // what was read on the forge
	Seen       []string    `json:"seen,omitempty"`    // ids of events that were taken in
	Heard      []string    `json:"heard,omitempty"`   // ids of comments that were taken in
	First      string      `json:"first,omitempty"`   // the link to the first comment

	Backoff      Backoff   `json:"backoff"`
	Started      time.Time `json:"started"`
	LastActivity time.Time `json:"last_activity"`
	NextLook     time.Time `json:"next_look,omitzero"`
	LastLook     time.Time `json:"last_look,omitzero"` // that succeeded
	Blind        bool      `json:"blind,omitempty"`    // looks have failed since then
	Cost         float64   `json:"cost"`
	Estimate     bool      `json:"estimate,omitempty"` // Cost is one, at least in part
	Tokens       int64     `json:"tokens"`

	// Report is what a validating agent says of the project's checks, made harmless and bounded.
	Report string `json:"report,omitempty"`
	// Published and Replies are the work of a round and the replies that are still to be posted.
	Published *Published `json:"published,omitempty"`
	Replies   []Reply    `json:"replies,omitempty"`
	// Refused is why the last work was not taken. Told is what a person must know of the change, Said what the pull
	// request says of that, and Kinds the same in a few words.
	Refused []string `json:"refused,omitempty"`
	Told    string   `json:"told,omitempty"`
	Said    string   `json:"said,omitempty"`
	Kinds   string   `json:"kinds,omitempty"`
	// Holding is the commit that waits for a person's consent before it is pushed, Let the last one that got it, and
	// Consented the kinds that are not asked about again.
	Holding   string   `json:"holding,omitempty"`
	Let       string   `json:"let,omitempty"`
	Consented []string `json:"consented,omitempty"`
	// Anew says that a person allows pushing a branch again that was deleted on the forge.
	Anew bool `json:"anew,omitempty"`

	// Foreign is a commit of somebody else on the branch that the user was told about, and when it was there by the
	// forge's clock.
	Foreign   string    `json:"foreign,omitempty"`
	ForeignAt time.Time `json:"foreign_at,omitzero"`
	// Unsure is such a commit of which the forge did not say at first who pushed it, and Take what the user said about it.
	Unsure      string    `json:"unsure,omitempty"`
	UnsureSince time.Time `json:"unsure_since,omitzero"`
	Take        Side      `json:"take,omitempty"`

	// Approval is what a merge rests on, Over lists those whose requests for changes the user ignores, and Verdict is the
	// last verdict of the reviewer's own account.
	Approval *Approval `json:"approval,omitempty"`
	Over     []string  `json:"over,omitempty"`
	Verdict  *Given    `json:"verdict,omitempty"`
	Ready    bool      `json:"ready,omitempty"` // a draft was marked as ready
	// RefusedSince is since when the forge refuses to merge it.
	RefusedSince time.Time `json:"refused_since,omitzero"`
	// Checks is how the checks stood when they were last looked at, ChecksOf the commit that they are waited for, since
	// ChecksSince, and ChecksAsked what was asked about them.
	Checks      *Checks   `json:"checks,omitempty"`
	ChecksOf    string    `json:"checks_of,omitempty"`
	ChecksSince time.Time `json:"checks_since,omitzero"`
	ChecksAsked string    `json:"checks_asked,omitempty"`
	Reruns      []Rerun   `json:"reruns,omitempty"`
	// Names are those of checks that reported on any head.
	Names []string `json:"names,omitempty"`
	// Red are the checks that failed, until they were seen green.
	Red []string `json:"red,omitempty"`
	// RedTests are the phase's own tests that changed while one was red, and LetFiles the files that a person let it
	// change then.
	RedTests []string `json:"red_tests,omitempty"`
	LetFiles []string `json:"let_files,omitempty"`
	// Notes wait to be posted on the pull request.
	Notes []Note `json:"notes,omitempty"`
	Waits string `json:"waits,omitempty"` // what or whom a merge waits for

	// Again counts how often a person let the phase go on. It is part of the names of agents' jobs, so that they run once
	// more.
	Again int `json:"again,omitempty"`
	// Flow counts how often the phase was revived after its end. Each life is a process of its own for the engine.
	Flow int `json:"flow,omitempty"`

	// Home is the machine that the phase is on, where there are several.
	Home string `json:"home,omitempty"`

	Paused   bool   `json:"paused,omitempty"`
	Question string `json:"question,omitempty"` // why it asks
	// Disputed are the findings that it asks about.
	Disputed []string `json:"disputed,omitempty"`
	Resume   Stage    `json:"resume,omitempty"`  // the stage that follows an answer
	Trouble  string   `json:"trouble,omitempty"` // the problem that it waits out
	Stuck    string   `json:"stuck,omitempty"`   // the last trouble that does not pass by itself
	End      End      `json:"end,omitempty"`
	EndWords string   `json:"end_words,omitempty"`
	Force    bool     `json:"force,omitempty"` // of a cleanup

	// Unpushed are the user's commits that the phase publishes and that had never been pushed.
	Unpushed []string `json:"unpushed,omitempty"`
}

// NewState is a phase that has not begun.
func NewState(spec Spec) State {
	return State{Spec: spec, Kind: spec.Kind, Stage: StageName, Budget: spec.DiffBudget}
}

// maxSeen bounds how many handled ids are remembered. The forge's mark covers everything older.
const maxSeen = 2000

// rememberEvent says whether an event is new, and remembers it. Strangers' comments are remembered elsewhere: many of
// them must not make us forget what the user sent.
func (s *State) rememberEvent(id string) bool { return remember(&s.Seen, id) }

// rememberComment says whether a comment is new, and remembers it.
func (s *State) rememberComment(id string) bool {
	return !slices.Contains(s.Seen, id) && remember(&s.Heard, id)
}

func remember(list *[]string, id string) bool {
	if id == "" || slices.Contains(*list, id) {
		return false
	}
	*list = append(*list, id)
	if n := len(*list); n > maxSeen {
		*list = slices.Clone((*list)[n-maxSeen:])
	}
	return true
}

// Bounds on what is kept of strangers' comments: all of it is recorded with every step.
const (
	maxHeld      = 100
	maxHeldBytes = 512 << 10
)

// hold keeps a stranger's comment until the user decides. If there are too many, the oldest stay on the forge only.
func (s *State) hold(c Comment) {
	s.Held = append(s.Held, c)
	size := 0
	for _, h := range s.Held {
		size += len(h.Body)
	}
	for len(s.Held) > maxHeld || size > maxHeldBytes {
		size -= len(s.Held[0].Body)
		s.Held = slices.Delete(s.Held, 0, 1)
		s.Dropped++
	}
}

// judge replaces a domain's last verdict with a new one.
func (s *State) judge(j Judgement) {
	i := slices.IndexFunc(s.Judgements, func(old Judgement) bool { return old.Domain == j.Domain })
	if i < 0 {
		s.Judgements = append(s.Judgements, j)
		return
	}
	s.Judgements[i] = j
}

// verdicts sorts the domains by what they say of the present head: those that approve, that want only what was declined
// for good, and all others, without a verdict too. A skipped domain says nothing.
func (s *State) verdicts() (approve, overruled, others []string) {
	for _, d := range s.Spec.Domains {
		i := slices.IndexFunc(s.Judgements, func(j Judgement) bool { return j.Domain == d && j.Head == s.Head })
		switch {
		case i < 0:
			others = append(others, d)
		case s.Judgements[i].Verdict == Skipped:
		case s.Judgements[i].Verdict == Approved:
			approve = append(approve, d)
		case s.overruled(s.Judgements[i]):
			overruled = append(overruled, d)
		default:
			others = append(others, d)
		}
	}
	return approve, overruled, others
}

// failedReview is a review of the present head that failed, nil if there is none.
func (s *State) failedReview() *Judgement {
	for i, j := range s.Judgements {
		if j.Head == s.Head && j.Verdict == "" {
			return &s.Judgements[i]
		}
	}
	return nil
}

// overruled says that a verdict wants nothing but what was declined for good.
func (s *State) overruled(j Judgement) bool {
	return len(j.Wants) > 0 && !slices.ContainsFunc(j.Wants, func(id string) bool {
		f := s.Ledger.Find(id)
		return f == nil || !f.overruled()
	})
}

// Trusts says whether a comment's author may give work to an agent that writes: those who may write to the repository
// may, and those whom the user names. An association with the repository says little about what its holder may do.
func (s *State) Trusts(c Comment) bool { return c.Write || s.names(c.Author) }

// names says whether the user trusts somebody by name.
func (s *State) names(author string) bool {
	return author != "" && slices.ContainsFunc(s.Spec.Trusted,
		func(name string) bool { return strings.EqualFold(name, author) })
}

// since is the commit that reviews and the size of the change begin at.
func (s *State) since() string {
	if s.From != "" {
		return s.From
	}
	return s.Workspace.Base
}

// lastKind says whether no other kind of the task follows.
func (s *State) lastKind() bool {
	return s.Spec.Through == "" || slices.Index(Kinds(), s.Kind) >= slices.Index(Kinds(), s.Spec.Through)
}

// merges says whether an approval has the request merged.
func (s *State) merges() bool { return s.Spec.Merge && s.lastKind() }

// Domain names the domain under review: the first that has not judged the present head, "" if there is none.
func (s *State) Domain() string {
	if s.Stage != StageReview {
		return ""
	}
	for _, d := range s.Spec.Domains {
		if !slices.ContainsFunc(s.Judgements, func(j Judgement) bool { return j.Domain == d && j.Head == s.Head }) {
			return d
		}
	}
	return ""
}

// FlowID names one life of a phase for the engine.
func FlowID(phase string, flow int) string {
	if flow == 0 {
		return phase
	}
	return phase + "." + strconv.Itoa(flow)
}

// PhaseOf is the phase that a life belongs to.
func PhaseOf(flow string) string {
	phase, _, _ := strings.Cut(flow, ".")
	return phase
}

// EndedError says that a phase has ended and can't go on as asked.
type EndedError struct {
	End End
	Why string
}

func (e *EndedError) Error() string {
	if e.Why == "" {
		return fmt.Sprintf("the phase has ended (%s)", e.End)
	}
	return fmt.Sprintf("the phase has ended (%s): %s", e.End, e.Why)
}

// WrongState marks an error about a state.
func (e *EndedError) WrongState() {}

// Revive starts a phase again that has ended, to clean it up or to go on, with higher limits if they are given.
func (s State) Revive(ev Event, now time.Time) (State, error) {
	s.Flow++
	s.Again++
	s.Paused, s.Question, s.Trouble, s.Holding, s.Disputed = false, "", "", "", nil
	switch {
	case ev.Kind == EventCleanup:
		s.Stage, s.Force = StageCleaning, ev.Force
		return s, nil
	case ev.Kind != EventResume && ev.Kind != EventComment && ev.Kind != EventNews:
		return s, &EndedError{End: s.End}
	case s.End == EndMerged || s.End == EndCleanup || s.End == EndClosed && ev.Kind != EventResume:
		return s, &EndedError{End: s.End, Why: "its workspace is gone"}
	}
	if s.End == EndRounds {
		s.Spec.MaxRounds = max(s.Spec.MaxRounds, s.Round) + max(1, ev.MoreRounds)
	}
	if s.End == EndCost {
		if ev.MoreCost <= 0 {
			return s, &EndedError{End: s.End, Why: fmt.Sprintf(
				"$%.2f%s are spent: say how much more it may cost with --max-cost", s.Cost, s.roughly())}
		}
		s.Spec.MaxCost = s.Cost + ev.MoreCost
	}
	s.Stage, s.LastActivity = StageOpen, now
	s.End, s.EndWords = "", ""
	if s.PR != nil {
		s.Stage = StageWatch
	}
	return s, nil
}
