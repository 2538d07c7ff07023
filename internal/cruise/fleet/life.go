package fleet

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
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
	"github.com/cco-dev/cco/internal/forge"
)

// life is a life of a phase on this machine. It is the phase's only one for as long as the service answers its beats.
type life struct {
	*Host
	Begin
	flow  string
	token []byte // of the activity that it is

	lost context.Context // ends when the phase has another life, or this one is given up
	lose context.CancelCauseFunc

	saving sync.Mutex // one save after another

	mu       sync.Mutex
	answered time.Duration       // when the last beat was sent that was answered, by the clock since boot
	beaten   chan struct{}       // closed with the next one
	doing    map[string]int      // effects that may be under way
	wary     map[string]struct{} // those of the life before, whose requests may still take effect
	since    time.Duration       // when this life began, for those
	handed   []string            // events that it was given
	last     string              // the state that was saved last
	shown    string              // what people see of it
	full     bool                // it is asked to return
	ended    bool                // its end is saved
}

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
	l.mu.Lock()
	doingNow := slices.Sorted(maps.Keys(l.doing))
	l.mu.Unlock()
	sent := l.Boot()
	doing, err := l.key.seal(Sealed{Kind: kindDoing, Phase: l.Phase, Life: l.Begin.Life}, doingNow)
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
	close(l.beaten)
	l.beaten = make(chan struct{})
	return nil
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
		l.mu.Lock()
		beaten := l.beaten
		l.mu.Unlock()
		err := l.check(ctx)
		if _, lapsed := errors.AsType[*lapsedError](err); !lapsed {
			return err
		}
		select {
		case <-beaten:
		case <-time.After(l.Heartbeat / 4):
		case <-ctx.Done():
			return ctx.Err()
		case <-l.lost.Done():
			return context.Cause(l.lost)
		}
	}
}

// effects are the steps that others see.
func effects() []string {
	return []string{cruise.StepPush.Name, cruise.StepPullRequest.Name, cruise.StepPostReview.Name, cruise.StepAnswer.Name,
		cruise.StepSay.Name, cruise.StepClose.Name, cruise.StepReady.Name, cruise.StepMerge.Name,
		cruise.StepVerdict.Name, cruise.StepRerun.Name}
}

// moot are the steps that need nobody's leave: they only read, or are asked of the service itself.
func moot() []string { return []string{cruise.StepLook.Name, cruise.StepSave.Name} }

// doubt is how long a request of a life that has died may still take effect.
const doubt = 30 * time.Second

// effect names what a step does, the same for whoever does it.
func effect(step string, in json.RawMessage) string {
	sum := sha256.Sum256(append([]byte(step+"\x00"), in...))
	return step + " " + hex.EncodeToString(sum[:8])
}

// within runs a step while this is the phase's life, and an effect only while the service says so.
func (l *life) within(ctx context.Context, step string, in json.RawMessage, run func(context.Context) error) error {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	defer context.AfterFunc(l.lost, func() { cancel(context.Cause(l.lost)) })()
	ctx = context.WithValue(forge.WithFence(ctx, l.check), lifeKey{}, l)
	var err error
	switch {
	case slices.Contains(moot(), step):
		err = run(ctx)
	case slices.Contains(effects(), step):
		err = l.act(ctx, effect(step, in), run)
	default:
		if err = l.await(ctx); err == nil {
			err = run(ctx)
		}
	}
	if err != nil && l.lost.Err() != nil {
		return errors.Join(&LostError{Phase: l.Phase}, err)
	}
	if _, lapsed := errors.AsType[*lapsedError](err); lapsed {
		return &cruise.Temporary{Err: err}
	}
	return err
}

// act has an effect. It is broken off when the service has not answered for too long, and begun again when it does:
// every effect looks first.
func (l *life) act(ctx context.Context, key string, run func(context.Context) error) error {
	if err := l.waitOut(ctx, key); err != nil {
		return err
	}
	l.note(key, 1)
	defer l.note(key, -1)
	for {
		if err := l.await(ctx); err != nil {
			return err
		}
		err, lapsed := l.bounded(ctx, run)
		if _, asked := errors.AsType[*lapsedError](err); err == nil || !lapsed && !asked {
			return err
		}
	}
}

// bounded runs an effect until the life's time is over.
func (l *life) bounded(ctx context.Context, run func(context.Context) error) (err error, lapsed bool) {
	inner, cancel := context.WithCancel(ctx)
	done := make(chan bool, 1)
	go func() {
		for {
			left := l.left()
			if left <= 0 {
				cancel()
				done <- true
				return
			}
			select {
			case <-inner.Done():
				done <- false
				return
			case <-time.After(min(left, time.Second)): // the clock of timers may stop where that since boot goes on
			}
		}
	}()
	err = run(inner)
	cancel()
	return err, <-done && ctx.Err() == nil
}

func (l *life) note(key string, n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.doing[key] += n; l.doing[key] == 0 {
		delete(l.doing, key)
	}
}

// waitOut waits until a request of the life before can no longer take effect.
func (l *life) waitOut(ctx context.Context, key string) error {
	l.mu.Lock()
	_, wary := l.wary[key]
	left := l.since + doubt - l.Boot()
	l.mu.Unlock()
	if !wary || left <= 0 {
		return nil
	}
	select {
	case <-time.After(left):
		return nil
	case <-ctx.Done():
		return ctx.Err()
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
	if err != nil {
		return a, err
	}
	name := Sealed{Phase: l.Phase, Life: l.Life, Number: l.Number}
	var v Save
	if v.Head, err = l.key.seal(name.of(kindHead), h); err != nil {
		return a, err
	}
	if v.State, err = l.key.seal(name.of(kindState), json.RawMessage(state)); err != nil {
		return a, err
	}
	if string(summary) != l.shown {
		s, err := l.key.seal(name.of(kindSummary), json.RawMessage(summary))
		if err != nil {
			return a, err
		}
		v.Summary = &s
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

func (s Sealed) of(kind string) Sealed {
	s.Kind = kind
	return s
}

// give hands an event to the life.
func (l *life) give(ev cruise.Event) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !slices.Contains(l.handed, ev.ID) {
		l.handed = append(l.handed, ev.ID)
	}
}

type lifeKey struct{}

// Fenced are steps that run only in the phase's one life.
type Fenced struct {
	cruise.Steps
	Host *Host
}

// Within runs a step of a life.
func (f *Fenced) Within(ctx context.Context, flow, step string, in json.RawMessage,
	run func(context.Context) error) error {
	l := f.Host.alive(flow)
	if l == nil {
		return &LostError{Phase: cruise.PhaseOf(flow)}
	}
	return l.within(ctx, step, in, run)
}

// Save saves a state in the service, and then here.
func (f *Fenced) Save(ctx context.Context, in cruise.SaveIn) (cruise.Saved, error) {
	l, ok := ctx.Value(lifeKey{}).(*life)
	if !ok {
		return cruise.Saved{}, &LostError{Phase: in.Phase}
	}
	return l.save(ctx, in, func() (cruise.Saved, error) { return f.Steps.Save(ctx, in) })
}
