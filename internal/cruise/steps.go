package cruise

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
)

// Steps is everything that a phase does to the world. Each may run more than once, so it first checks whether its
// effect is already there. A failure that passes by itself is a *Temporary; any other is shown to a person.
type Steps interface {
	Metadata(context.Context, MetadataIn) (reading.Metadata, error)
	Workspace(context.Context, WorkspaceIn) (Workspace, error)
	Work(context.Context, Job) (Report, error)
	Publish(context.Context, PublishIn) (Published, error)
	// Push says by when the commit was surely on the forge, by its own clock.
	Push(context.Context, PushIn) (time.Time, error)
	PullRequest(context.Context, PullRequestIn) (PullRequest, error)
	// PostReview gives the findings with where they stand on the forge.
	PostReview(context.Context, PostReviewIn) ([]Finding, error)
	Look(context.Context, LookIn) (News, error)
	Sort(context.Context, SortIn) (Sort, error)
	Answer(context.Context, AnswerIn) error
	Say(context.Context, SayIn) error
	Close(context.Context, CloseIn) error
	// Pushers says who moved the branch on the forge away from our head.
	Pushers(context.Context, HeadsIn) (Pushers, error)
	Take(context.Context, TakeIn) (Took, error)
	Target(context.Context, TargetIn) (Target, error)
	Ready(context.Context, Where) error
	Merge(context.Context, MergeIn) (Merged, error)
	Checks(context.Context, ChecksIn) (Checked, error)
	Attempt(context.Context, JobIn) (int, error)
	Rerun(context.Context, JobIn) error
	Log(context.Context, JobIn) (string, error)
	Save(context.Context, SaveIn) (Saved, error)
}

// Where is the phase that a step is of, its repository on this machine, its branch, and its pull request and workspace,
// if any.
type Where struct {
	Phase     string    `json:"phase"`
	Repo      string    `json:"repo"`
	Branch    string    `json:"branch"`
	PR        int       `json:"pr,omitempty"`
	Workspace Workspace `json:"workspace,omitzero"`
}

// Temporary is a failure that passes by itself: a forge that is down, a disk that is full, a database that is locked.
type Temporary struct{ Err error }

func (e *Temporary) Error() string { return e.Err.Error() }
func (e *Temporary) Unwrap() error { return e.Err }

// MetadataIn asks for the names of a phase.
type MetadataIn struct {
	Phase string `json:"phase"`
	Spec  Spec   `json:"spec"`
}

// WorkspaceIn asks for the workspace, made or found.
type WorkspaceIn struct {
	Where
	Spec Spec   `json:"spec"`
	Head string `json:"head,omitempty"` // what was pushed last, to restore a workspace that is gone
	Lend string `json:"lend,omitempty"` // a commit of the target to make known there, so that a fixer can merge it
}

// Role is what an agent is asked to be.
type Role string

// The roles. Only a reviewer sees the workspace read-only.
const (
	Author   Role = "author"
	Reviewer Role = "reviewer"
	Fixer    Role = "fixer"
)

// Job is one short-lived agent. Key names it for ever: a job that ran already is not run again.
type Job struct {
	Key       string    `json:"key"`
	Phase     string    `json:"phase"`
	Workspace Workspace `json:"workspace"`
	Role      Role      `json:"role"`
	Worker    Worker    `json:"worker"`
	Prompt    string    `json:"prompt"`
	Task      string    `json:"task"`              // for agents that are scripts: they carry it out in every role
	Message   string    `json:"message,omitempty"` // for a commit of what a writer leaves uncommitted
	MaxCost   float64   `json:"max_cost"`
	Kind      Kind      `json:"kind"`
	Domain    string    `json:"domain,omitempty"`
	Round     int       `json:"round"`
	Findings  []string  `json:"findings,omitempty"` // for a fixer to answer
}

// Env tells an agent's program who it is, for agents that are scripts.
func (j Job) Env() []string {
	return []string{"CCO_ROLE=" + string(j.Role), "CCO_PHASE=" + string(j.Kind), "CCO_DOMAIN=" + j.Domain, "CCO_ROUND=" +
		strconv.Itoa(j.Round),
		"CCO_FINDINGS=" + strings.Join(j.Findings, " ")}
}

// Report is how a job ended. Success is what the agent's exit and its events say, never its words.
type Report struct {
	OK     bool    `json:"ok"`
	Error  string  `json:"error,omitempty"`
	Answer string  `json:"answer,omitempty"` // its last words, bounded
	Cost   float64 `json:"cost,omitempty"`
	Tokens int64   `json:"tokens,omitempty"`
	// Estimate says that Cost is one.
	Estimate bool `json:"estimate,omitempty"`
	// Transient says that it failed because its model is down or overloaded, which passes.
	Transient bool `json:"transient,omitempty"`
}

// PublishIn asks for the workspace's commits, leftovers included, out of the agents' reach.
type PublishIn struct {
	Where
	Since string `json:"since"`          // the last commit that the host has
	Base  string `json:"base,omitempty"` // of the whole change, if it is not the workspace's
	Onto  string `json:"onto,omitempty"` // the commit of the target that was to be merged
}

// Commit is a commit of a round.
type Commit struct {
	ID       string   `json:"id"`
	Subject  string   `json:"subject"`
	Files    []string `json:"files"`
	Findings []string `json:"findings,omitempty"` // that its trailer names
	Declined []Reason `json:"declined,omitempty"` // that its trailers decline
}

// Reason is why a finding was declined.
type Reason struct {
	Finding string `json:"finding"`
	Text    string `json:"text"`
}

// Published is what came out of the workspace.
type Published struct {
	Head    string   `json:"head"`
	Commits []Commit `json:"commits,omitempty"`
	Plan    string   `json:"plan,omitempty"` // a plan that was written
	Lines   int      `json:"lines"`          // changed since the branch began
	// Rewritten is the ref of an agent's version of commits that were pushed before. The workspace is back at what was
	// pushed.
	Rewritten string `json:"rewritten,omitempty"`
	Onto      string `json:"onto,omitempty"` // the commit of the target, if it was merged
	// Refused says what of it must not be pushed, without a secret's value.
	Refused []string `json:"refused,omitempty"`
	// Holds are the kinds of change that may need consent before they are pushed.
	Holds []Hold `json:"holds,omitempty"`
	// Tests are files of tests that came or changed and that the base does not have.
	Tests []string `json:"tests,omitempty"`
	// Told is what a person must know of the whole change, as Markdown, and Kinds the same in a few words.
	Told  string `json:"told,omitempty"`
	Kinds string `json:"kinds,omitempty"`
}

// PushIn asks to move the forge's branch from the old commit to the new one, and only from there.
type PushIn struct {
	Where
	Old  string `json:"old,omitempty"` // "" for a branch that is new
	New  string `json:"new"`
	Anew bool   `json:"anew,omitempty"` // make the branch again if it was deleted there
}

// PullRequestIn asks for the branch's pull request, opened or found.
type PullRequestIn struct {
	Where
	Title string `json:"title"`
	Body  string `json:"body"`
	Draft bool   `json:"draft,omitempty"`
}

// PostReviewIn asks to post a review, once. One that approves or requests changes is posted where the reviewer has an
// account of its own.
type PostReviewIn struct {
	Where
	Key      string        `json:"key"`
	Head     string        `json:"head"`
	As       forge.Verdict `json:"as"`
	Body     string        `json:"body"`
	Findings []Finding     `json:"findings,omitempty"`
}

// LookIn asks what was said and done since the mark.
type LookIn struct {
	Where
	Mark string `json:"mark,omitempty"`
	Now  bool   `json:"now,omitempty"` // don't use what the watcher read a moment ago
	// Check asks which of these comments people withdrew.
	Check []string `json:"check,omitempty"`
}

// Comment is something that was said on the pull request. Its words are data. The kind is what the forge calls
// it, and only shown: a phase goes by whether the author may write.
type Comment struct {
	ID      string             `json:"id"`
	Kind    string             `json:"kind"`
	Author  string             `json:"author"`
	Body    string             `json:"body"`
	Path    string             `json:"path,omitempty"`
	Line    int                `json:"line,omitempty"`
	URL     string             `json:"url,omitempty"`
	State   forge.CommentState `json:"state,omitempty"`
	Commit  string             `json:"commit,omitempty"` // that a review is about
	At      time.Time          `json:"at,omitzero"`
	Changed time.Time          `json:"changed,omitzero"`  // when it was said or last edited, by the forge's clock
	Ours    bool               `json:"ours,omitempty"`    // by recorded id or sealed marker
	Foreign bool               `json:"foreign,omitempty"` // of a cco with another key
	Write   bool               `json:"write,omitempty"`   // its author may write to the repository
	Why     string             `json:"why,omitempty"`     // why that is not known
	Bot     bool               `json:"bot,omitempty"`     // its author is a program
}

func (c Comment) approves() bool { return c.State == forge.ReviewApproved }

// News is what a look brought.
type News struct {
	Mark     string      `json:"mark"`
	Comments []Comment   `json:"comments,omitempty"`
	State    forge.State `json:"state"`
	Head     string      `json:"head,omitempty"`   // the commit that the request is at, "" where that is not known
	Base     string      `json:"base,omitempty"`   // the branch that it goes into, "" where that is not known
	Branch   string      `json:"branch,omitempty"` // that it is about, "" where that is not known
	Onto     string      `json:"onto,omitempty"`   // the commit that the base is at, "" where that is not known
	Updated  time.Time   `json:"updated,omitzero"`
	Gone     []string    `json:"gone,omitempty"` // comments that people deleted, or whose threads others than cco resolved
}

// AnswerIn asks to answer threads, each once.
type AnswerIn struct {
	Where
	Round   int     `json:"round"`
	Answers []Reply `json:"answers"`
	Kind    Kind    `json:"kind"`
	Head    string  `json:"head,omitempty"` // which the request must contain before any answer
}

// Reply is an answer to one finding.
type Reply struct {
	Finding string `json:"finding"`
	Comment string `json:"comment,omitempty"`
	Text    string `json:"text"`
	Resolve bool   `json:"resolve,omitempty"`
	Commit  bool   `json:"commit,omitempty"` // a commit answers it
}

// SayIn asks to comment on the pull request, once for each key.
type SayIn struct {
	Where
	Key  string `json:"key"`
	Text string `json:"text"`
	Keep bool   `json:"keep,omitempty"` // one comment, whose text is replaced
}

// CloseIn asks to remove the workspace, and the branch.
type CloseIn struct {
	Where
	Head   string `json:"head"`
	Force  bool   `json:"force,omitempty"`
	Delete bool   `json:"delete,omitempty"` // the branch too
}

// MergeIn asks for a merge of exactly the commit that was approved, if that approval still holds and nobody objects.
type MergeIn struct {
	Where
	Head     string   `json:"head"`
	Base     string   `json:"base,omitempty"`
	Approval Approval `json:"approval"`
	Over     []string `json:"over,omitempty"`
	Only     bool     `json:"only,omitempty"` // say whether the approval holds, and merge nothing
	// Demands are what people asked for and a fixer answered.
	Demands []Finding `json:"demands,omitempty"`
	// which checks have to be green
	Checks       CheckRule `json:"checks,omitempty"`
	IgnoreChecks []string  `json:"ignore_checks,omitempty"`
	Expected     []string  `json:"expected,omitempty"` // names of those that reported on earlier heads
}

// SaveIn is the state that a phase goes on from, and that people see.
type SaveIn struct {
	Phase string `json:"phase"`
	State State  `json:"state"`
	Last  bool   `json:"last,omitempty"` // it ends, even with unread events
}

// Saved says whether the end of a phase has to wait, because something was sent to it that it has not read.
type Saved struct {
	Unread bool `json:"unread,omitempty"`
}
