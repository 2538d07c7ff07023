// Package canary notices what happened to a repository while an agent worked in a worktree of it: refs, configuration,
// hooks, indexes and worktrees are compared from before to after, and what changed can be put back. It trusts nothing
// that it finds there: no link is followed, no special file opened, every read is bounded.
package canary

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/git"
)

// Own is what belongs to the watched agent, and what else is known to be at work.
type Own struct {
	ID        string `json:"id"`        // the session
	Branch    string `json:"branch"`    // its branch, without refs/heads/
	Workspace string `json:"workspace"` // its worktree
	Stash     bool   `json:"stash"`     // it may stash, which all worktrees share
	// Trace is where git wrote down which commands the agent ran, "" if nowhere. The agent can write there too, so it can
	// only prove guilt.
	Trace string `json:"trace,omitempty"`
	// Peers are the other sessions of cco's, whose branches, worktrees and refs/cco/ move by themselves.
	Peers []string `json:"peers,omitempty"`
	// Tips are commits to which cco itself has fast-forwarded branches of the user's, by pulling other sessions.
	Tips []string `json:"tips,omitempty"`
}

// Kind says what sort of thing a finding is about.
type Kind string

// The kinds of findings.
const (
	KindRef        Kind = "ref"
	KindHead       Kind = "head"
	KindConfig     Kind = "config"
	KindHook       Kind = "hook"
	KindInfo       Kind = "info"
	KindIndex      Kind = "index"
	KindWorktree   Kind = "worktree"
	KindFile       Kind = "file"       // anything else that steers git
	KindUnreadable Kind = "unreadable" // the repository could not be compared
)

// Finding is one thing that changed and is not the agent's own. Its texts are safe to show on a terminal.
type Finding struct {
	Kind   Kind     `json:"kind"`
	What   string   `json:"what"`
	Before string   `json:"before,omitempty"`
	After  string   `json:"after,omitempty"`
	Words  string   `json:"words"`
	Detail []string `json:"detail,omitempty"` // more lines, such as a diff
	// Ordinary says that it looks like work of the user's own, or of cco's, done meanwhile. It freezes nothing.
	Ordinary bool   `json:"ordinary"`
	Why      string `json:"why,omitempty"` // why it counts as ordinary, or does not

	// What undoing needs to know, as it was found.
	Ref   Raw     `json:"ref,omitempty"`
	Is    git.Ref `json:"is,omitzero"`
	Path  Raw     `json:"path,omitempty"`
	Found *Entry  `json:"found,omitempty"` // nil: nothing is there now
	Whole bool    `json:"whole,omitempty"` // a directory that is too large to look at
}

// Report is what the canary of one session found.
type Report struct {
	Session  string    `json:"session"`
	Box      string    `json:"box,omitempty"`
	Time     time.Time `json:"time,omitzero"`
	Frozen   bool      `json:"frozen"`
	Findings []Finding `json:"findings"`
	// Resolved says how a frozen box was opened again, "" if it was not, or never was frozen.
	Resolved Resolution `json:"resolved,omitempty"`
}

// Grave gives the findings that nothing ordinary explains.
func (r Report) Grave() []Finding {
	var list []Finding
	for _, f := range r.Findings {
		if !f.Ordinary {
			list = append(list, f)
		}
	}
	return list
}

// Unreadable is the finding for a comparison that failed: what can't be read has changed.
func Unreadable(err error) Finding {
	return Finding{Kind: KindUnreadable, What: "repository", Words: "the repository could not be compared: " +
		clean(err.Error())}
}

// Watch takes a shot of a repository into dir. After the agent's end, after opens the repository again, compares it,
// and writes the report; if comparing fails, the report freezes the box. Until then the shot is in dir, so that the
// next process that finds it there can do the same.
func Watch(ctx context.Context, repo *git.Repo, dir string, own Own) (after func(ctx context.Context, own Own,
	now time.Time) (Report, error), err error) {
	shot, err := Take(ctx, repo, dir, own)
	if err != nil {
		return nil, err
	}
	top := repo.Top
	return func(ctx context.Context, own Own, now time.Time) (Report, error) {
		return conclude(ctx, top, shot, own, now)
	}, nil
}

// Conclude compares for a watcher that died. top is the repository, own as it is known now.
func Conclude(ctx context.Context, top, dir string, own Own, now time.Time) (Report, error) {
	shot, err := Load(dir)
	if err != nil {
		r := Report{Session: own.ID, Time: now, Frozen: true, Findings: []Finding{Unreadable(err)}}
		return r, saveReport(dir, r)
	}
	// Only the work of others is new here; what belongs to the agent was recorded before it ran.
	peers, tips := own.Peers, own.Tips
	own = shot.Own
	own.Peers, own.Tips = peers, tips
	return conclude(ctx, top, shot, own, now)
}

func conclude(ctx context.Context, top string, shot *Shot, own Own, now time.Time) (Report, error) {
	r := Report{Session: own.ID, Time: now}
	r.Findings = look(ctx, top, shot, own)
	if ctx.Err() != nil {
		return r, fmt.Errorf("compare the repository: %w", ctx.Err()) // the shot stays, for the next process
	}
	r.Frozen = len(r.Grave()) > 0
	if err := saveReport(shot.dir, r); err != nil {
		return r, err
	}
	if len(r.Findings) == 0 {
		return r, Drop(shot.dir)
	}
	return r, nil
}

// look compares what it can, and reports what it can't.
func look(ctx context.Context, top string, shot *Shot, own Own) []Finding {
	repo, err := git.Open(ctx, top)
	if err != nil {
		found, more := compare(ctx, nil, shot, own)
		return append([]Finding{Unreadable(errors.Join(err, more))}, found...)
	}
	found, err := Compare(ctx, repo, shot, own)
	if err != nil {
		found = append([]Finding{Unreadable(err)}, found...)
	}
	return found
}
