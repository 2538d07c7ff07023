package keep

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

func TestJudge(t *testing.T) {
	t.Parallel()
	exit := &proc.ExitError{Argv: []string{"claude"}, Code: 3}
	failed := event.Finished{Outcome: event.Failed, Error: "API Error: 401\nmore"}
	for _, c := range []struct {
		name   string
		end    ending
		state  store.State
		reason string
	}{
		{"finished", ending{Ran: true}, store.Done, ""},
		{"nonzero", ending{Ran: true, Err: exit}, store.Failed, "the agent ended with status 3"},
		{"signal", ending{Ran: true, Err: &proc.ExitError{Argv: []string{"x"}, Code: 137, Signal: syscall.SIGKILL}},
			store.Failed, "the agent was killed by killed"},
		{"gave up although it exited 0", ending{Ran: true, Words: "no network"}, store.Failed, "the agent gave up"},
		{"killed beats everything", ending{Ran: true, Err: exit, Words: "x", Killed: true, Stopped: true}, store.Killed,
			"by the user"},
		{"stopped", ending{Ran: true, Stopped: true}, store.Killed, "stopped by the user"},
		{"time", ending{Ran: true, Err: context.DeadlineExceeded, TimedOut: true}, store.Failed, "timed out"},
		{"keeper told to go", ending{Ran: true, Err: context.Canceled}, store.Failed, "interrupted"},
		{"never ran", ending{Err: errors.New("clone into the box: no space\nmore")}, store.Failed,
			"clone into the box: no space"},
		{"nothing heard of it", ending{Ran: true, Err: errIdle, Idle: 30 * time.Minute}, store.Failed,
			"nothing was heard of it for 30m0s"},
		{"it says that it failed, although it exited 0", ending{Ran: true, Finished: failed}, store.Failed,
			"the agent failed: API Error: 401"},
		{"it says so, and why it was not tried again", ending{Ran: true, Err: exit, Finished: failed,
			Why: "tried 5 times in a row"}, store.Failed,
			"the agent failed: API Error: 401; tried 5 times in a row"},
		{"it says that all is well, but exited 3", ending{Ran: true, Err: exit, Finished: event.Finished{Outcome: event.OK}},
			store.Failed,
			"the agent ended with status 3"},
		{"it failed without a word", ending{Ran: true, Finished: event.Finished{Outcome: event.Failed}}, store.Failed,
			"the agent failed"},
		{"a question", ending{Ran: true, Err: errAsked, Question: "which?", Finished: event.Finished{Outcome: event.Killed}},
			store.Waiting, ""},
		{"a question, but it gave up", ending{Ran: true, Question: "which?", Words: "no"}, store.Failed, "the agent gave up"},
		{"a limit", ending{Ran: true, Err: errSpent,
			Limit: session.Reached{Limit: store.LimitRunCost, Words: "limits.run_cost of $1.00 is reached"}}, store.Paused,
			"limits.run_cost of $1.00 is reached"},
		{"it was silent, but exited 3", ending{Ran: true, Err: exit, Finished: event.Finished{Outcome: event.Failed,
			Error: "it ended with status 3", Silent: true}}, store.Failed, "the agent ended with status 3"},
		{"a limit that was reached with the last word",
			ending{Ran: true, Limit: session.Reached{Limit: "x"}, Finished: event.Finished{Outcome: event.OK}}, store.Done, ""},
		{"a limit of the agent's own", ending{Ran: true, Err: exit, Finished: event.Finished{Outcome: event.Limit,
			Error: "error max turns"}}, store.Paused,
			"error max turns"},
		{"a limit and a kill", ending{Ran: true, Err: context.Canceled, Limit: session.Reached{Limit: "x"},
			Killed: true}, store.Killed,
			"by the user"},
		{"words that could drive a terminal", ending{Ran: true, Finished: event.Finished{Outcome: event.Failed,
			Error: "\x1b[31mred"}}, store.Failed,
			"the agent failed: \ufffd[31mred"},
		{"done, but its work could not be kept", ending{Ran: true, Unpublished: exit}, store.Failed,
			"its work could not be read"},
		{"exit before the agent is not the agent's", ending{Err: exit}, store.Failed, "claude: exit status 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			state, cause, reason := c.end.judge()
			if want := (map[string]store.Cause{"a limit": store.LimitRunCost, "keeper told to go": store.Interrupted}); cause !=
				want[c.name] {
				t.Errorf("the cause is %q", cause)
			}
			if state != c.state || reason != c.reason {
				t.Errorf("got %s %q, want %s %q", state, reason, c.state, c.reason)
			}
		})
	}
}
