package session

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// ending is how a run went.
type ending struct {
	Ran      bool // the agent was started
	Err      error
	Words    string // error.txt
	Stopped  bool   // a person asked it to end
	Killed   bool   // a person ended it
	TimedOut bool
	Canary   string // what it did to the user's repository
}

// judge says which state a session ends in, and why.
func (e ending) judge() (store.State, string) {
	switch {
	case e.Canary != "":
		return store.Failed, e.Canary
	case e.Killed:
		return store.Killed, "by the user"
	case e.Stopped:
		return store.Killed, "stopped by the user"
	case e.TimedOut:
		return store.Failed, "timed out"
	case errors.Is(e.Err, context.Canceled):
		return store.Failed, "interrupted"
	case e.Words != "":
		return store.Failed, "the agent gave up"
	case e.Err == nil:
		return store.Done, ""
	}
	if exit, ok := errors.AsType[*proc.ExitError](e.Err); ok && e.Ran {
		if exit.Signal != 0 {
			return store.Failed, "the agent was killed by " + exit.Signal.String()
		}
		return store.Failed, fmt.Sprintf("the agent ended with status %d", exit.Code)
	}
	first, _, _ := strings.Cut(e.Err.Error(), "\n")
	return store.Failed, first
}
