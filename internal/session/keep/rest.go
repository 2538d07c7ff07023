package keep

import (
	"context"
	"time"

	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/store"
)

// restTime is how long nothing may have happened before an agent whose hook is silent counts as idle.
const restTime = 10 * time.Second

// rest follows by what is seen from outside whether an agent is at work, for agents without a hook, and after Escape,
// of which hooks say nothing.
type rest struct {
	last    broker.Entry // the last answer of a model
	ended   time.Time    // when that came to its end
	failed  time.Time    // when an error came last
	busy    time.Time    // when a request was at the door last, or a process beside the agent
	escaped time.Time    // when a person last pressed Escape or Ctrl-C
	resting bool
}

// take notes a request that has ended. Those that cost nothing, such as a list of models, are no answers.
func (r *rest) take(e broker.Entry, now time.Time) {
	switch {
	case e.Kind != broker.KindModel, e.Spend == nil && e.Decision == broker.Allowed && e.Status < 400:
		return
	case e.Status >= 400:
		r.failed = now
	}
	r.last, r.ended = e, now
}

// settled says that nothing follows the last answer by itself. After an error the agent may be about to try again. Who
// has a hook says when its turn ends, but not that a person has pressed Escape, which breaks an answer off or comes
// after it. Without a hook an answer that calls a tool is none to rest on: the tool may be a question.
func (r *rest) settled(hook bool) bool {
	switch {
	case r.last.Time.IsZero(), !r.last.Time.After(r.failed):
		return false
	case r.last.Error != "":
		return r.escaped.After(r.last.Time)
	}
	return r.escaped.After(r.ended) || !hook && !r.last.Calls
}

// look notes whether anything moves, and says whether that changes what the agent does.
func (r *rest) look(now time.Time, busy, hook bool) (changed bool) {
	if busy {
		r.busy = now
	}
	was := r.resting
	r.resting = now.Sub(r.busy) >= restTime && now.Sub(r.ended) >= restTime && (was || r.settled(hook))
	return r.resting != was
}

// turn notes that the agent's hook has said something. The first request of a turn may take a while.
func (r *rest) turn(now time.Time) { r.resting, r.escaped, r.busy = false, time.Time{}, now }

// atPrompt says that the agent sits at its prompt, and has asked nothing. The caller holds the mutex.
func (k *keeper) atPrompt() bool { return !k.asks && k.sits() }

// sits says that the agent's turn is over, whatever it has asked in it. The caller holds the mutex.
func (k *keeper) sits() bool { return k.turns.seen != nil && !k.turns.atWork || k.rest.resting }

// takeTurn notes what the agent's hook says.
func (k *keeper) takeTurn(ctx context.Context, conversation string, ended bool) {
	if !k.order.Interactive {
		return // elsewhere its program ends with its turn
	}
	k.mu.Lock()
	k.turns.take(conversation, ended)
	k.rest.turn(time.Now())
	k.typeSaid()
	k.mu.Unlock()
	k.recordRest(ctx)
}

// lookForRest is called every second for an agent on a terminal. Busy says that it has a request at the door, or
// processes beside it.
func (k *keeper) lookForRest(ctx context.Context, busy bool) {
	k.mu.Lock()
	changed := k.rest.look(time.Now(), busy, k.turns.seen != nil)
	k.typeSaid()
	k.mu.Unlock()
	if changed {
		k.recordRest(ctx)
	}
}

// recordRest writes down whether the agent sits at its prompt, or is at work.
func (k *keeper) recordRest(ctx context.Context) {
	k.mu.Lock()
	idle := k.atPrompt()
	k.mu.Unlock()
	from, to, since := store.Idle, store.Running, time.Time{}
	if idle {
		from, to, since = store.Running, store.Idle, k.Now()
	}
	_, _ = k.Store.UpdateSession(ctx, k.rec.ID, func(v *store.Session) error { // the next turn says it again
		if v.State == from {
			v.State, v.Asked = to, since
		}
		return nil
	})
}

// endAtRest ends an agent that sits at its prompt, as a person would who leaves it, or says why it does not. The
// caller holds the mutex.
func (k *keeper) endAtRest() (why string) {
	switch {
	case k.writer != nil:
		return "somebody is at its terminal"
	case k.pty == nil || !k.atPrompt():
		return "it is at work"
	case k.closing:
		return ""
	}
	k.closing = true
	pty := k.pty
	// The first may only clear what was typed, and CLIs want another soon after to be sure.
	for n := range leavingKeys {
		time.AfterFunc(time.Duration(n)*keyPause, func() { pty.Type([]byte{ctrlC}) })
	}
	time.AfterFunc(interruptTime, k.kill)
	return ""
}

// How an agent is left: so often Ctrl-C, with so much time between.
const (
	leavingKeys = 3
	keyPause    = 400 * time.Millisecond
)
