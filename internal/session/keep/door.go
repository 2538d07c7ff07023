package keep

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/door"
	"github.com/cco-dev/cco/internal/session"
)

// maxTold is how many different refusals a run tells of: an agent decides what it asks for.
const maxTold = 50

// doorman tells what the door knows and the agent only guesses: which connections were refused, and why a model did not
// answer. Each is told once.
type doorman struct {
	box, session string
	agent        roster.Row
	tell         func(kind session.Kind, words string)

	mu    sync.Mutex
	told  map[string]bool
	model string       // why the model can't be reached at present
	last  broker.Entry // of a request to the agent's model in this attempt, zero before the first
}

func (m *doorman) begin() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = broker.Entry{}
}

// judge takes the word of an agent for the end of its turn only if the last answer of its model was one. Such agents
// report a model that fails as their own words, or not at all.
func (m *doorman) judge(e event.Event, now func() time.Time) event.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	var words string
	switch l := m.last; {
	case e.Finished == nil || e.Finished.Asked || !l.Billed && e.Finished.Outcome != event.OK,
		l.Billed && l.Decision == broker.Allowed && l.Status < 300:
		return e
	case !l.Billed:
		words = "it ended its turn and its model has never answered it, see `cco box net log " + m.session + "`"
	case l.Decision == broker.Limited:
		words = "the " + event.SpendLimit
	case l.Decision != broker.Allowed:
		words = "its model did not answer: " + l.Error + l.Reason
	default:
		words = fmt.Sprintf("its model answered with status %d", l.Status)
	}
	e.Finished = e.Finished.Judged(words, m.last.Status, now)
	return e
}

// entry hears of one connection or request.
func (m *doorman) entry(e broker.Entry) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if e.Billed && e.Error != broker.ClientGone {
		m.last = e
	}
	switch {
	case e.Kind == broker.KindModel && e.Decision == broker.Allowed:
		delete(m.told, m.model)
		m.model = ""
	case e.Kind == broker.KindModel && e.Decision == broker.Failed && e.Error == broker.ClientGone: // as it wanted
	case e.Kind == broker.KindModel && e.Decision == broker.Failed:
		m.model = e.Error
		m.once(session.KindDoor, e.Error)
	case e.Decision == broker.Refused && (slices.Contains(m.agent.Chatter, e.Allow) ||
		!m.last.Billed && slices.Contains(m.agent.Early, e.Allow)):
		m.once(session.KindNote, "refused, and harmless: what "+m.agent.Name+" asks for by itself, for updates and telemetry")
	case e.Decision == broker.Refused && e.Allow != "":
		m.once(session.KindDoor, fmt.Sprintf("a connection was refused: %s; `cco box net allow %s --box %s` would allow it",
			e.Reason, e.Allow, m.box))
	}
}

func (m *doorman) once(kind session.Kind, words string) {
	if words == "" || m.told[words] || len(m.told) > maxTold {
		return
	}
	if m.told == nil {
		m.told = map[string]bool{}
	}
	m.told[words] = true
	if len(m.told) > maxTold {
		words = "more did not leave the box: see `cco box net log " + m.session + "`"
	}
	m.tell(kind, words)
}

// explain puts what the door knows in place of what the agent was told about a model that can't be reached.
func (m *doorman) explain(e event.Event) event.Event {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.model == "":
	case e.Kind == event.KindRetry:
		e.Text = m.model
	case e.Finished != nil && e.Finished.Outcome == event.Failed:
		f := *e.Finished
		f.Error = m.model
		e.Finished = &f
	}
	return e
}

// openDoor opens the way out for as long as a run lasts. It is in the exchange directory, which both sides see.
func (k *keeper) openDoor(ctx context.Context, limits broker.Limits, b broker.Budget) (*door.Door, error) {
	if k.Door == nil {
		return nil, nil
	}
	c, err := k.Door(ctx, k.rec, k.box)
	if err != nil {
		return nil, err
	}
	c.Session, c.Limits, c.Budget, c.Now = k.rec.ID, limits, b, k.Now
	k.doorman = doorman{box: k.box.Name, session: k.rec.ID, agent: k.agent.Row, tell: k.transcript.Add}
	c.Record = func(e broker.Entry) {
		k.doorman.entry(e)
		k.mu.Lock()
		defer k.mu.Unlock()
		k.rest.take(e, time.Now())
	}
	c.Dir, c.Inside, c.Log = k.Exchange(k.rec.ID), k.place.Exchange, k.NetFile(k.rec.ID)
	return door.Open(ctx, c)
}
