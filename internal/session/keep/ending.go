package keep

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// ending is how a run went.
type ending struct {
	Ran      bool // the agent was started
	Err      error
	Finished event.Finished  // what the agent itself reports; zero if it can't
	Words    string          // error.txt
	Question string          // what it wants to know before it goes on
	Limit    session.Reached // the limit that it has reached
	Stopped  bool            // a person asked it to end
	Killed   bool            // a person ended it
	TimedOut bool
	Idle     time.Duration // how long it was silent before it was ended
	Why      string        // why it was not tried again

	Unpublished error // why its work could not be kept
}

// judge says which state a session ends in, and why: the cause for programs, the reason for people.
func (e ending) judge() (store.State, store.Cause, string) {
	switch {
	case e.Killed:
		return store.Killed, "", "by the user"
	case e.Stopped:
		return store.Killed, "", "stopped by the user"
	case e.TimedOut:
		return store.Failed, "", "timed out"
	case e.Idle > 0:
		return store.Failed, "", "nothing was heard of it for " + e.Idle.String()
	case errors.Is(e.Err, context.Canceled):
		return store.Failed, store.Interrupted, string(store.Interrupted)
	case e.Limit.Limit != "" && !e.succeeded():
		return store.Paused, e.Limit.Limit, e.Limit.Words
	case e.Words != "":
		return store.Failed, "", "the agent gave up"
	case e.Question != "":
		return store.Waiting, "", ""
	case e.Unpublished != nil:
		return store.Failed, "", "its work could not be read"
	case e.succeeded():
		return store.Done, "", ""
	case e.Finished.Outcome == event.Limit:
		return store.Paused, "", session.FirstLine(e.Finished.Error)
	}
	return store.Failed, "", e.failure()
}

// succeeded needs both: the program's exit status, and the agent's own report.
func (e ending) succeeded() bool {
	return e.Err == nil && (e.Finished.Outcome == "" || e.Finished.Outcome == event.OK)
}

// told says that the state and its reason already say everything in the error.
func (e ending) told() bool {
	_, exit := errors.AsType[*proc.ExitError](e.Err)
	_, spent := errors.AsType[*session.SpentError](e.Err)
	if (e.Killed || e.Stopped) && errors.Is(e.Err, context.Canceled) {
		return true
	}
	return e.Ran && (exit || spent || errors.Is(e.Err, errAsked) || errors.Is(e.Err, errSpent) ||
		errors.Is(e.Err, errIdle) || errors.Is(e.Err, errTimedOut))
}

// failure says what went wrong, in a line.
func (e ending) failure() string {
	exit, ran := errors.AsType[*proc.ExitError](e.Err)
	var words string
	switch {
	case e.Err != nil && (!ran || !e.Ran):
		return session.FirstLine(e.Err.Error())
	case ran && exit.Signal != 0:
		words = "the agent was killed by " + exit.Signal.String()
	case e.Finished.Error != "" && !e.Finished.Silent:
		words = "the agent failed: " + session.FirstLine(e.Finished.Error)
	case ran:
		words = fmt.Sprintf("the agent ended with status %d", exit.Code)
	default:
		words = "the agent failed"
	}
	if e.Why != "" {
		words += "; " + e.Why
	}
	return words
}
