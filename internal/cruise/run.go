// Package cruise carries a task from a plan to a reviewed pull request. A phase is a durable process: what happens next
// is decided by one function over saved state, and everything that touches the world is a step that may be repeated.
package cruise

import (
	"context"
	"time"
)

// Run is what a phase sees of the engine. Nothing else of the world may reach it: no clock, no randomness, no
// goroutines.
type Run interface {
	ID() string
	Now() (time.Time, error)
	// Start begins a step, which runs at least once, by Dispatch.
	Start(step string, in any, run StepFunc) Pending
	// Recv waits for an event; nil means that the time ran out.
	Recv(timeout time.Duration) (*Event, error)
	// Sleep waits, whatever is sent.
	Sleep(d time.Duration) error
	// Full says that the engine wants to go on with a new history, and the state carried over.
	Full() bool
}

// StepFunc runs a step.
type StepFunc func(context.Context, Steps) error

// Pending waits for a step that was begun, and gives its error, as Dispatch does.
type Pending func() error

// Kinds of events that a phase understands.
const (
	EventWake    = "wake"    // a webhook or another phase's look says that there is news; anybody can cause it
	EventNews    = "news"    // a person wants a look now
	EventComment = "comment" // said locally, without the forge
	EventAccept  = "accept"  // a stranger's comment that the user lets through
	EventPause   = "pause"
	EventResume  = "resume"
	EventCleanup = "cleanup"
)

// Event is something sent to a phase. Its id makes sending twice the same as sending once.
type Event struct {
	ID    string    `json:"id"`
	Kind  string    `json:"kind"`
	Text  string    `json:"text,omitempty"`  // what was said, or which comment is accepted
	Force bool      `json:"force,omitempty"` // for a cleanup
	At    time.Time `json:"at,omitzero"`
	// MoreRounds and MoreCost extend a phase that has ended at a limit.
	MoreRounds int     `json:"more_rounds,omitempty"`
	MoreCost   float64 `json:"more_cost,omitempty"`
	// Take says which of two heads goes on, after somebody else pushed.
	Take Side `json:"take,omitempty"`
	// Over names somebody whose request for changes a merge ignores.
	Over string `json:"over,omitempty"`
	// Let is the commit whose push a person consents to.
	Let string `json:"let,omitempty"`
}

// StepError is a step's failure. Its words are for a person.
type StepError struct {
	Msg       string
	Temporary bool // it passes by itself
}

func (e *StepError) Error() string { return e.Msg }
