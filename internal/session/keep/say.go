package keep

import (
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/session"
)

// maxSaid is how much may wait to be said to an agent.
const maxSaid = 20

// enterPause is the time between a paste and Enter. CLIs take an Enter that comes with a paste for a part of it.
const enterPause = 500 * time.Millisecond

// A busy machine's CLI may read the paste and the Enter at once, for all the pause between them. So Enter is typed
// again while the agent stays at its prompt: so long after, and so often. At an empty prompt it does nothing.
const (
	enterAgain = 5 * time.Second
	enterTries = 6
)

// say takes what a person says to the agent, and tells that it is said later, or why not at all. The caller holds the
// mutex.
func (k *keeper) say(words []byte) (answer string) {
	if len(k.said) >= maxSaid {
		return "much waits to be said to it already"
	}
	k.said = append(k.said, words)
	if k.typeSaid(); !k.listens() {
		return session.SaidLater
	}
	return ""
}

// listens says whether the agent reads what is typed: at its prompt, or at work if it can be steered there. Before its
// first turn it may still be starting. The caller holds the mutex.
func (k *keeper) listens() bool {
	if k.pty == nil || k.closing {
		return false
	}
	return k.sits() || k.agent.Row.Steered && (k.turns.seen != nil || !k.rest.last.Time.IsZero())
}

// typeSaid types the first of what waits to be said, as a terminal pastes it. The rest follows at the next look or
// turn. The caller holds the mutex.
func (k *keeper) typeSaid() {
	now := time.Now()
	if !k.sits() || k.writer != nil { // it has begun, or somebody else sees to it
		k.enters = 0
	}
	if k.enters > 0 && k.listens() && !now.Before(k.pasted.Add(enterAgain)) {
		k.enters, k.pasted = k.enters-1, now
		k.pty.Type([]byte{'\r'})
		return
	}
	if len(k.said) == 0 || !k.listens() || now.Before(k.pasted.Add(2*enterPause)) {
		return
	}
	k.pasted, k.enters = now, enterTries
	k.pty.Type(slices.Concat([]byte("\x1b[200~"), k.said[0], []byte("\x1b[201~")))
	k.said = k.said[1:]
	pty := k.pty
	time.AfterFunc(enterPause, func() { pty.Type([]byte{'\r'}) })
}
