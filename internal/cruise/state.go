package cruise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
)

// State is everything that a phase knows. The engine keeps it; people see a copy of some of it. Its parts are embedded,
// so that they are flat in JSON: there every field keeps the place that it has always had.
type State struct {
	Spec  Spec  `json:"spec"`
	Kind  Kind  `json:"kind"` // the present one, where a task goes through several
	Stage Stage `json:"stage"`

	Meta      reading.Metadata `json:"meta"`
	Workspace Workspace        `json:"workspace"`
	PR        *PullRequest     `json:"pr,omitempty"`
	Plan      string           `json:"plan,omitempty"` // the plan's path in the repository
	Round     int              `json:"round"`
	Ledger    Ledger           `json:"ledger"`

	Started      time.Time `json:"started"`
	LastActivity time.Time `json:"last_activity"`
	Paused       bool      `json:"paused,omitempty"`
	End          End       `json:"end,omitempty"`
	EndWords     string    `json:"end_words,omitempty"`
	Force        bool      `json:"force,omitempty"` // of a cleanup

	Head
	Base
	Attempt
	Review
	Checks
	Consent
	Outbox
	Inbox
	Foreign
	Ask
	Waiting
	Looks
	Spent
	Life
}

// Head is where the work is.
type Head struct {
	Commit   string    `json:"head,omitempty"`      // the last one that is the phase's own, pushed or just about to be
	Before   string    `json:"last_head,omitempty"` // the one before this round
	Pushed   string    `json:"there,omitempty"`     // the last one that is on the forge
	PushedAt time.Time `json:"pushed,omitzero"`     // when that was there, by the forge's clock
	// Anew says that a person allows pushing a branch again that was deleted on the forge.
	Anew     bool `json:"anew,omitempty"`
	Lines    int  `json:"diff_lines,omitempty"` // changed in all
	MaxLines int  `json:"budget,omitempty"`     // of those; it grows when the user says so
	// Unpushed are the user's commits that the phase publishes and that had never been pushed.
	Unpushed []string `json:"unpushed,omitempty"`
}

// Base is the branch that the pull request goes into.
type Base struct {
	Branch string `json:"target,omitempty"`
	From   string `json:"from,omitempty"`  // where the work left it, if that has changed since the start
	Commit string `json:"onto,omitempty"`  // that it was at when it was last looked at
	Began  string `json:"began,omitempty"` // the first such commit
}

// Attempt is the present try of a stage.
type Attempt struct {
	Number   int    `json:"attempt,omitempty"`
	Underway bool   `json:"underway,omitempty"` // it has begun, and nothing was made of it yet
	Turns    []Turn `json:"turns,omitempty"`
}

// Review is what was judged.
type Review struct {
	Judgements []Judgement `json:"judgements,omitempty"`
	Given      *Given      `json:"verdict,omitempty"`  // the last verdict of the reviewer's own account
	Approval   *Approval   `json:"approval,omitempty"` // what a merge rests on
	Over       []string    `json:"over,omitempty"`     // those whose requests for changes the user ignores
	Ready      bool        `json:"ready,omitempty"`    // a draft was marked as ready
}

// Checks is what is known of the checks.
type Checks struct {
	Last  *Checked  `json:"checks,omitempty"`       // how they stood when they were last looked at
	Of    string    `json:"checks_of,omitempty"`    // the commit that they are waited for
	Since time.Time `json:"checks_since,omitzero"`  // when that wait began
	Asked string    `json:"checks_asked,omitempty"` // what was asked about them
	// Reruns are jobs that were run again, and Names those of checks that reported on any head.
	Reruns []Rerun  `json:"reruns,omitempty"`
	Names  []string `json:"names,omitempty"`
	// Red are the checks that failed, until they were seen green, and RedTests the phase's own tests that changed while
	// one was red.
	Red      []string `json:"red,omitempty"`
	RedTests []string `json:"red_tests,omitempty"`
}

// Consent is what a person lets be pushed.
type Consent struct {
	Refused []string `json:"refused,omitempty"`   // why the last work was not taken
	Holding string   `json:"holding,omitempty"`   // the commit that waits for consent before it is pushed
	Let     string   `json:"let,omitempty"`       // the last one that got it
	Kinds   []string `json:"consented,omitempty"` // that are not asked about again
	Files   []string `json:"let_files,omitempty"` // that may change while a check is red
}

// Outbox is what is still to be pushed or said.
type Outbox struct {
	Published *Published `json:"published,omitempty"` // the work of a round
	Replies   []Reply    `json:"replies,omitempty"`
	Notes     []Note     `json:"notes,omitempty"`
	// Report is what a validating agent says of the project's checks, made harmless and bounded.
	Report string `json:"report,omitempty"`
	// Told is what a person must know of the change, Said what the pull request says of that, and Kinds the same in a few
	// words.
	Told  string `json:"told,omitempty"`
	Said  string `json:"said,omitempty"`
	Kinds string `json:"kinds,omitempty"`
}

// Inbox is what was read on the forge, or sent.
type Inbox struct {
	Mark     string    `json:"mark,omitempty"`    // up to where the forge was read
	Events   []string  `json:"seen,omitempty"`    // ids of those that were taken in
	Comments []string  `json:"heard,omitempty"`   // ids of those that were taken in
	Held     []Comment `json:"held,omitempty"`    // from strangers, waiting for the user
	Dropped  int       `json:"dropped,omitempty"` // of those, because there were too many
	Remarks  []Comment `json:"remarks,omitempty"` // of trusted people, which want nothing
	First    string    `json:"first,omitempty"`   // the link to the first comment
}

// Foreign is what somebody else pushed to the branch.
type Foreign struct {
	Commit string    `json:"foreign,omitempty"` // that the user was told about
	At     time.Time `json:"foreign_at,omitzero"`
	Take   Side      `json:"take,omitempty"` // what the user said about it
}

// Ask is what a person is asked.
type Ask struct {
	Question string   `json:"question,omitempty"`
	Disputed []string `json:"disputed,omitempty"` // the findings that it is about
	Resume   Stage    `json:"resume,omitempty"`   // the stage that follows an answer
}

// Waiting is what the phase waits for or waits out.
type Waiting struct {
	For          string    `json:"waits,omitempty"`        // what or whom, with an approval
	RefusedSince time.Time `json:"refused_since,omitzero"` // the forge refuses to merge it
	Trouble      string    `json:"trouble,omitempty"`      // that passes
	Stuck        string    `json:"stuck,omitempty"`        // the last trouble that does not pass by itself
}

// Looks is when the phase looks at the forge.
type Looks struct {
	Backoff Backoff   `json:"backoff"`
	Next    time.Time `json:"next_look,omitzero"`
	Last    time.Time `json:"last_look,omitzero"` // that succeeded
	Blind   bool      `json:"blind,omitempty"`    // looks have failed since then
}

// Spent is what the phase has cost.
type Spent struct {
	Cost     float64 `json:"cost"`
	Estimate bool    `json:"estimate,omitempty"` // Cost is one, at least in part
	Tokens   int64   `json:"tokens"`
}

// Life is which life of the phase this is, and where.
type Life struct {
	// Again counts how often a person let the phase go on. It is part of the names of agents' jobs, so that they run once
	// more.
	Again int `json:"again,omitempty"`
	// Number counts how often the phase was revived after its end. Each life is a process of its own for the engine.
	Number int `json:"flow,omitempty"`
	// Home is the machine that the phase is on, where there are several.
	Home string `json:"home,omitempty"`
}

// NewState is a phase that has not begun.
func NewState(spec Spec) State {
	return State{Spec: spec, Kind: spec.Kind, Stage: StageName, Head: Head{MaxLines: spec.DiffBudget},
		Looks: Looks{Backoff: Backoff{Min: int(spec.PollMin / time.Second), Max: int(spec.PollMax / time.Second)}}}
}

// Bounds on what is kept: all of it is recorded with every step.
const (
	maxSeen      = 2000 // of a list; of handled ids the forge's mark covers everything older
	maxHeld      = 100  // comments of strangers, and remarks
	maxHeldBytes = 512 << 10
)

// remember says whether something is new to a list, and keeps it there. Events and comments each have a list: many
// comments of strangers must not make us forget what the user sent.
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

// hold keeps a comment until the user decides. If there are too many, the oldest stay on the forge only.
func hold(list *[]Comment, c Comment) (dropped int) {
	*list = append(*list, c)
	size := 0
	for _, h := range *list {
		size += len(h.Body)
	}
	for ; len(*list) > maxHeld || size > maxHeldBytes; dropped++ {
		size -= len((*list)[0].Body)
		*list = slices.Delete(*list, 0, 1)
	}
	return dropped
}

// judgement is what a domain says of the present head, nil if it has said nothing.
func (s *State) judgement(domain string) *Judgement {
	return First(s.Judgements, func(j Judgement) bool { return j.Domain == domain && j.Head == s.Head.Commit })
}

// unjudged gives the domains that have no verdict on the present head.
func (s *State) unjudged() []string {
	return slices.DeleteFunc(slices.Clone(s.Spec.Domains), func(d string) bool {
		j := s.judgement(d)
		return j != nil && j.Verdict != ""
	})
}

// verdicts sorts the domains by what they say of the present head: those that approve, that want only what was declined
// for good, and all others, without a verdict too. A skipped domain says nothing.
func (s *State) verdicts() (approve, overruled, others []string) {
	for _, d := range s.Spec.Domains {
		switch j := s.judgement(d); {
		case j == nil:
			others = append(others, d)
		case j.Verdict == reading.Skipped:
		case j.Verdict == reading.Approved:
			approve = append(approve, d)
		case s.overruled(*j):
			overruled = append(overruled, d)
		default:
			others = append(others, d)
		}
	}
	return approve, overruled, others
}

// failedReview is a review of the present head that failed, nil if there is none.
func (s *State) failedReview() *Judgement {
	return First(s.Judgements, func(j Judgement) bool { return j.Head == s.Head.Commit && j.Verdict == "" })
}

// overruled says that a verdict wants nothing but what was declined for good.
func (s *State) overruled(j Judgement) bool {
	return len(j.Wants) > 0 && !slices.ContainsFunc(j.Wants, func(id string) bool {
		f := s.Ledger.Find(id)
		return f == nil || !f.overruled()
	})
}

// names says whether the user trusts somebody by name.
func (s *State) names(author string) bool { return author != "" && Among(s.Spec.Trusted, author) }

// Among says whether an account is one of some.
func Among(names []string, login string) bool {
	return slices.ContainsFunc(names, func(name string) bool { return strings.EqualFold(name, login) })
}

// since is the commit that reviews and the size of the change begin at.
func (s *State) since() string { return cmp.Or(s.Base.From, s.Workspace.Base) }

// lastKind says whether no other kind of the task follows.
func (s *State) lastKind() bool {
	return s.Spec.Through == "" || slices.Index(Kinds(), s.Kind) >= slices.Index(Kinds(), s.Spec.Through)
}

// merges says whether an approval has the request merged.
func (s *State) merges() bool { return s.Spec.Merge && s.lastKind() }

// Domain names the domain under review: the first that has not judged the present head, "" if there is none.
func (s *State) Domain() string {
	if left := s.unjudged(); s.Stage == StageReview && len(left) > 0 {
		return left[0]
	}
	return ""
}

// EndedError says that a phase has ended and can't go on as asked.
type EndedError struct {
	End End
	Why string
}

func (e *EndedError) Error() string {
	return strings.TrimSuffix(fmt.Sprintf("the phase has ended (%s): %s", e.End, e.Why), ": ")
}

// WrongState marks an error about a state.
func (e *EndedError) WrongState() {}

// Revive starts a phase again that has ended, to clean it up or to go on, with higher limits if they are given.
func (s State) Revive(ev Event, now time.Time) (State, error) {
	s.Life.Number++
	s.Life.Again++
	s.Paused, s.Ask.Question, s.Waiting.Trouble, s.Consent.Holding, s.Ask.Disputed = false, "", "", "", nil
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
				"$%.2f%s are spent: say how much more it may cost with --max-cost", s.Spent.Cost, s.roughly())}
		}
		s.Spec.MaxCost = s.Spent.Cost + ev.MoreCost
	}
	s.Stage, s.LastActivity = StageOpen, now
	s.End, s.EndWords = "", ""
	if s.PR != nil {
		s.Stage = StageWatch
	}
	return s, nil
}
