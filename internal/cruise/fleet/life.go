package fleet

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"time"

	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/temporal"

	"github.com/cco-dev/cco/internal/cruise"
)

// life is a life of a phase on this machine. It is the phase's only one for as long as the service answers its beats.
type life struct {
	*Host
	Begin
	token []byte        // of the activity that it is
	gone  chan struct{} // closed when nothing of it goes on

	lost context.Context // ends when the phase has another life, or this one is given up
	lose context.CancelCauseFunc

	saving  sync.Mutex // one save after another
	beating sync.Mutex // and one beat: an older one that came later would take back what this life says it is doing

	mu       sync.Mutex
	answered time.Duration  // when the last beat was sent that was answered, by the clock since boot
	doing    map[string]int // effects that may be under way
	wary     until          // those of the life before, whose requests may still take effect
	tried    until          // those of this one that have gone wrong or were broken off
	handed   []string       // events that it was given
	last     string         // the state that was saved last
	shown    string         // what people see of it
	full     bool           // it is asked to return
	ended    bool           // its end is saved
}

// until says how long, by the clock since boot, the request of an effect may still take effect.
type until map[string]time.Duration

// LostError says that a phase has another life now.
type LostError struct{ Phase string }

func (e *LostError) Error() string { return "phase " + e.Phase + " is no longer with this worker" }

// Unrecorded marks an error after which a step is not recorded.
func (e *LostError) Unrecorded() {}

// lapsedError says that the service has not answered for so long that nothing may be done.
type lapsedError struct{ err error }

func (e *lapsedError) Error() string {
	return fmt.Sprintf("the service does not answer, and nothing is said or pushed until it does: %v", e.err)
}

func (e *lapsedError) Unwrap() error { return e.err }

// margin is how long before the service gives a life to others this one stops by itself.
func (l *life) margin() time.Duration { return l.Heartbeat / 5 }

// beat tells the service that the life goes on, and what it may be doing: whoever takes over is told.
func (l *life) beat(ctx context.Context) error {
	l.beating.Lock()
	defer l.beating.Unlock()
	sent := l.Boot()
	doing, err := l.sealDoing(l.doubtful())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Heartbeat/3)
	defer cancel()
	err = l.Client.c.RecordActivityHeartbeat(ctx, l.token, doing)
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	_, canceled := errors.AsType[*temporal.CanceledError](err)
	if gone || canceled {
		l.lose(&LostError{Phase: l.Phase})
		return &LostError{Phase: l.Phase}
	}
	if err != nil {
		return &lapsedError{err: err}
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.answered = max(l.answered, sent)
	return nil
}

// doubtful are the effects that may be under way: of this life, and of the one before as long as they may.
func (l *life) doubtful() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Collect(maps.Keys(l.doing))
	for _, some := range []until{l.wary, l.tried} {
		maps.DeleteFunc(some, func(_ string, end time.Duration) bool { return end <= l.Boot() })
		all = slices.AppendSeq(all, maps.Keys(some))
	}
	slices.Sort(all)
	return slices.Compact(all)
}

func (l *life) sealDoing(keys []string) (Sealed, error) {
	return l.key.seal(Sealed{Kind: kindDoing, Phase: l.Phase, Life: l.Begin.Life}, keys)
}

// left is how long effects may go on without another beat.
func (l *life) left() time.Duration {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.answered + l.Heartbeat - l.margin() - l.Boot()
}

// beatAlways beats until the life is over.
func (l *life) beatAlways() {
	tick := time.NewTicker(l.Heartbeat / 4)
	defer tick.Stop()
	for {
		select {
		case <-l.lost.Done():
			return
		case <-tick.C:
		}
		if err := l.beat(l.lost); err != nil && l.lost.Err() == nil {
			l.Trouble(err)
		}
	}
}

// check makes sure that this is still the phase's life: right now, by the service and by this machine's own clock, for
// it may have been stopped while it asked.
func (l *life) check(ctx context.Context) error {
	if err := l.beat(ctx); err != nil {
		return err
	}
	if l.left() <= 0 {
		return &lapsedError{err: errors.New("this machine was stopped")}
	}
	return context.Cause(l.lost)
}

// await is check that waits for the service.
func (l *life) await(ctx context.Context) error {
	for {
		err := l.check(ctx)
		if _, lapsed := errors.AsType[*lapsedError](err); !lapsed {
			return err
		}
		select {
		case <-time.After(l.Heartbeat / 4):
		case <-ctx.Done():
			return ctx.Err()
		case <-l.lost.Done():
			return context.Cause(l.lost)
		}
	}
}

// save has the service take a state, and then keeps it here too.
func (l *life) save(ctx context.Context, in cruise.SaveIn, keep func() (cruise.Saved, error)) (cruise.Saved, error) {
	l.saving.Lock()
	defer l.saving.Unlock()
	data, err := json.Marshal(in.State)
	if err != nil {
		return cruise.Saved{}, err
	}
	if string(data) != l.last {
		answer, err := l.send(ctx, in, data)
		if err != nil || answer.Unread {
			return cruise.Saved{Unread: answer.Unread}, err
		}
		l.last = string(data)
		l.mu.Lock()
		l.ended, l.full = in.State.Stage == cruise.StageEnded, l.full || answer.Full
		l.mu.Unlock()
	}
	return keep()
}

// send saves a state in the service.
func (l *life) send(ctx context.Context, in cruise.SaveIn, state []byte) (a Answer, err error) {
	l.Number++
	h := head{Home: l.Home(), Ended: in.State.Stage == cruise.StageEnded, Last: in.Last}
	l.mu.Lock()
	for _, id := range l.handed {
		if slices.Contains(in.State.Inbox.Events, id) {
			h.Seen = append(h.Seen, id)
		}
	}
	l.mu.Unlock()
	summary, err := json.Marshal(Summarize(in.State))
	seal := func(kind string, what any) (s Sealed) {
		if err == nil {
			s, err = l.key.seal(Sealed{Kind: kind, Phase: l.Phase, Life: l.Life, Number: l.Number}, what)
		}
		return s
	}
	v := Save{Head: seal(kindHead, h), State: seal(kindState, json.RawMessage(state))}
	if string(summary) != l.shown {
		v.Summary = new(seal(kindSummary, json.RawMessage(summary)))
	}
	if err != nil {
		return a, err
	}
	ctx, cancel := context.WithTimeout(ctx, l.Heartbeat)
	defer cancel()
	handle, err := l.Client.c.UpdateWorkflow(ctx, client.UpdateWorkflowOptions{
		WorkflowID: WorkflowID(l.Phase), UpdateID: fmt.Sprintf("%d-%d", l.Life, l.Number), UpdateName: saveName,
		Args: []any{v}, WaitForStage: client.WorkflowUpdateStageCompleted})
	if err == nil {
		err = handle.Get(ctx, &a)
	}
	if err == nil && !a.Unread {
		l.shown = string(summary)
	}
	return a, l.judged(err)
}

// judged says what an answer to a save means: refused is for good, anything else passes.
func (l *life) judged(err error) error {
	_, gone := errors.AsType[*serviceerror.NotFound](err)
	if app, ok := errors.AsType[*temporal.ApplicationError](err); gone || ok && app.Type() == refusedOld {
		l.lose(&LostError{Phase: l.Phase})
		return &LostError{Phase: l.Phase}
	}
	if err != nil {
		return &cruise.Temporary{Err: fmt.Errorf("save it in the service: %w", err)}
	}
	return nil
}

// lifeKey finds the life in the context of all that it does.
type lifeKey struct{}

func lifeOf(ctx context.Context) (*life, error) {
	l, ok := ctx.Value(lifeKey{}).(*life)
	if !ok {
		return nil, &LostError{}
	}
	return l, context.Cause(l.lost)
}

// Full says whether a life is to return between two steps.
func Full(ctx context.Context) bool {
	l, err := lifeOf(ctx)
	if err != nil {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.full
}

// Fenced are steps that run only in the phase's one life.
type Fenced struct{ cruise.Steps }

// Within runs a step of a life.
func (f *Fenced) Within(ctx context.Context, step string, in json.RawMessage, run func(context.Context) error) error {
	l, err := lifeOf(ctx)
	if err != nil {
		return err
	}
	return l.within(ctx, step, in, run)
}

// Save saves a state in the service, and then here.
func (f *Fenced) Save(ctx context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	l, err := lifeOf(ctx)
	if err != nil {
		return cruise.Saved{}, err
	}
	return l.save(ctx, in, func() (cruise.Saved, error) { return f.Steps.Save(ctx, in) })
}
