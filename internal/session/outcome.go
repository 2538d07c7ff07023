package session

import (
	"errors"
	"fmt"

	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
)

// Failure says what a failed session left and what the user can do.
func (s Looking) Failure(rec store.Session) error {
	published, err := s.readResult(rec)
	if missing := (*quarantine.RefusedError)(nil); errors.As(err, &missing) && missing.Rule == quarantine.RuleMissing {
		published, err = inside.Result{}, nil // nobody has looked: a pull does
		if rec.Started.IsZero() {
			published.Head = rec.Base // nothing was started
		}
	}
	if l, ok := s.Left(rec); ok && l.Failed != "" {
		err = &UnreadableError{ID: rec.ID, Why: l.Failed}
	}
	return s.failure(rec, published, err)
}

// MadeNothing says that a session has ended and left neither commits nor changes.
func (s Looking) MadeNothing(rec store.Session) bool {
	r, err := s.readResult(rec)
	return err == nil && r.Head == rec.Base && r.Wip == "" && len(r.Names) == 0
}

// Made is how many commits a session has published, and how many files they change; 0 if that is not known. An agent
// can write both.
func (s Looking) Made(rec store.Session) (commits, files int) {
	r, err := s.readResult(rec)
	if err != nil {
		return 0, 0
	}
	return max(0, r.Commits), max(0, r.Files)
}

// failure describes what an unfinished agent left.
func (s Looking) failure(rec store.Session, published inside.Result, err error) error {
	if err == nil {
		if pending := s.pending(rec, published); pending != nil {
			return pending
		}
	}
	f := &FailedError{ID: rec.ID, State: rec.State, Reason: rec.Reason, Words: s.ErrorText(rec.ID)}
	switch {
	case err != nil:
		f.Next = "its work could not be read: " + err.Error()
	case published.Bundle == nil && published.Head == rec.Base && published.Wip == "":
		f.Next = fmt.Sprintf("it left no commits; see `cco box logs %s`, try again with `cco box push --continue %s`",
			rec.ID, rec.ID)
	default:
		f.Next = fmt.Sprintf("its work is kept: bring it with `cco box pull %s --partial`, go on with `cco box push "+
			"--continue %s`", rec.ID, rec.ID)
	}
	return f
}

// GoOnWith is the command that takes a session beyond the limit that it has reached.
func GoOnWith(v store.Session) string {
	next := "cco box push --continue " + v.ID
	switch v.Cause {
	case store.LimitRunCost, store.LimitBudget:
		return next + " --max-cost DOLLARS"
	case store.LimitRunTokens:
		return next + " --max-tokens N"
	}
	return next
}

// pending says how to make a stopped session go on; nil for any other session.
func (s Looking) pending(rec store.Session, published inside.Result) error {
	next := ""
	if published.Head != "" && published.Head != rec.Base || published.Wip != "" {
		next = "its work so far is kept: bring it with `cco box pull " + rec.ID + " --partial`\n"
	}
	words := rec.Reason
	switch {
	case rec.State == store.Waiting:
		words, next = rec.Question, next+"answer with `cco answer "+rec.ID+" \"…\"`"
	case rec.State != store.Paused:
		return nil
	case rec.Cause == store.LimitDayCost || rec.Cause == store.LimitDayTokens:
		next += "go on tomorrow, or after raising it in the settings, with `" + GoOnWith(rec) + "`"
	default:
		next += "go on with `" + GoOnWith(rec) + "`"
	}
	return &StateError{ID: rec.ID, State: rec.State, Why: words + "\n" + next}
}

// Outcome is the error that tells how sessions ended: nil if all are done, a *FailedError if one failed, and otherwise
// a *StateError if one waits for a person.
func (s Looking) Outcome(list []store.Session) (worst error) {
	for _, v := range list {
		if v.State == store.Done || v.State == store.Pulled {
			continue
		}
		err := s.Failure(v)
		if as[*FailedError](err) {
			return err
		}
		if worst == nil {
			worst = err
		}
	}
	return worst
}
