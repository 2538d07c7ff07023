package fleet

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/worker"

	"github.com/cco-dev/cco/internal/cruise"
)

// Engine runs the phases of this machine.
type Engine interface {
	Start(ctx context.Context, phase string, st cruise.State) (over <-chan struct{})
	Send(phase string, ev cruise.Event) error
}

// Host is this machine as one that runs phases.
type Host struct {
	Client *Client
	Engine Engine
	// Name is this machine's, for people, and Machine what no other one has.
	Name, Machine string
	Slots         int
	// Settle makes a phase ready here. An *UnfitError lets another machine try.
	Settle func(ctx context.Context, phase string, st cruise.State) (cruise.State, error)
	// Keep keeps what was sent to a phase, as long as it is here and has not read it.
	Keep func(ctx context.Context, phase string, ev cruise.Event) error
	// Abandon ends what a phase that has left does here, and keeps its work.
	Abandon func(ctx context.Context, phase string) error
	Trouble func(err error)
	Log     func(phase, words string)
	Boot    func() time.Duration
	// Abilities are what this machine can do now: from time to time it is asked again.
	Abilities func(ctx context.Context) ([]Ability, error)
	// Ready is called when phases are taken.
	Ready func()

	key Key
	any map[Ability]worker.Worker // that listen on the queues of what it can do

	mu     sync.Mutex
	lives  map[string]*life // by phase
	ending string           // how lives end that return now, "" while none is to
}

// UnfitError says why this machine can't run a phase.
type UnfitError struct{ Why string }

func (e *UnfitError) Error() string { return e.Why }

// Home is the queue of this machine alone. It is bound to the machine: a copy of its disk is another home.
func (h *Host) Home() string { return h.Client.queue("home", h.Name, h.Machine) }

// held counts the lives here.
func (h *Host) held() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.lives)
}

// Phases are those that have a life here.
func (h *Host) Phases() (all []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for phase := range h.lives {
		all = append(all, phase)
	}
	slices.Sort(all)
	return all
}

// live is the activity: one life of a phase.
func (h *Host) live(ctx context.Context, in Begin) (Sealed, error) {
	o := h.runSafely(ctx, in)
	result, err := h.key.seal(Sealed{Kind: kindOver, Phase: in.Phase, Life: in.Life}, o)
	if err != nil || o.How == "" {
		return Sealed{}, refused("life") // errors are kept in clear
	}
	return result, nil
}

// runSafely keeps a panic from the service, which would be told its words.
func (h *Host) runSafely(ctx context.Context, in Begin) (o over) {
	defer func() {
		if p := recover(); p != nil {
			o = over{}
			h.Trouble(fmt.Errorf("cco went wrong with phase %s: %v\n%s", in.Phase, p, debug.Stack()))
		}
	}()
	if !genuine(in, activity.GetInfo(ctx)) {
		return over{}
	}
	return h.run(ctx, in)
}

// genuine says whether a life is one of its phase's own workflow, and beats as the service waits for it. Whoever can
// write to the service could have it beat never or always, or begin a second one with what it has seen.
func genuine(in Begin, info activity.Info) bool {
	return in.Heartbeat >= time.Second && in.Heartbeat == info.HeartbeatTimeout &&
		info.WorkflowExecution.ID == WorkflowID(in.Phase)
}

func (h *Host) run(ctx context.Context, in Begin) over {
	var st cruise.State
	if err := h.key.open(in.State, kindState, in.Phase, &st); err != nil {
		return over{How: overDeclined, Why: err.Error()}
	}
	l := &life{Host: h, Begin: in, token: activity.GetInfo(ctx).TaskToken, gone: make(chan struct{}),
		doing: map[string]int{}, wary: until{}, tried: until{}, answered: h.Boot()}
	l.lost, l.lose = context.WithCancelCause(context.WithValue(context.WithoutCancel(ctx), lifeKey{}, l))
	defer l.lose(&LostError{Phase: in.Phase})
	var before []string
	if in.Doing != nil && h.key.open(*in.Doing, kindDoing, in.Phase, &before) == nil {
		for _, key := range before {
			l.wary[key] = h.Boot() + doubt
		}
	}
	if o := h.admit(l); o.How != "" {
		return o
	}
	defer h.dismiss(l)
	if l.beat(l.lost) != nil && l.lost.Err() != nil {
		return over{How: overLost}
	}
	go l.beatAlways()
	o := l.spend(st)
	if o.How == overLost {
		h.Log(in.Phase, "it goes on elsewhere")
		if err := h.Abandon(context.WithoutCancel(ctx), in.Phase); err != nil {
			h.Trouble(err)
		}
	}
	if keys := l.doubtful(); len(keys) > 0 {
		if doing, err := l.sealDoing(keys); err == nil {
			o.Doing = &doing
		}
	}
	return o
}

// admit lets a life begin here, after an older one of the phase has gone.
func (h *Host) admit(l *life) over {
	h.mu.Lock()
	defer h.mu.Unlock()
	for h.lives[l.Phase] != nil {
		old := h.lives[l.Phase]
		if old.Life >= l.Life {
			return over{How: overLost}
		}
		old.lose(&LostError{Phase: l.Phase})
		h.mu.Unlock()
		hangs := false
		select {
		case <-old.gone:
		case <-time.After(l.Heartbeat / 2): // the service still waits for the first beat of this one
			hangs = true
		}
		h.mu.Lock()
		if hangs {
			return over{How: overDeclined, Why: "worker " + h.Name + " has an older life of it that does not end"}
		}
	}
	switch {
	case h.ending != "":
		return over{How: overDeclined, Why: "worker " + h.Name + " takes no more phases"}
	case len(h.lives) >= h.Slots && l.Start.Home == "":
		return over{How: overDeclined, Why: "worker " + h.Name + " has all the phases that it may have"}
	}
	if h.lives == nil {
		h.lives = map[string]*life{}
	}
	h.lives[l.Phase] = l
	return over{}
}

func (h *Host) dismiss(l *life) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.lives, l.Phase)
	close(l.gone)
}

// spend carries the phase on, from a state to the end of this life.
func (l *life) spend(st cruise.State) over {
	st, o := l.settle(st)
	if o.How != "" {
		return o
	}
	st.Life.Number = l.Life
	if l.Ask {
		st = st.AskAbout("three machines in a row have died with it and got nowhere: look into their logs before you let " +
			"it go on")
	}
	ended := l.Engine.Start(l.lost, l.Phase, st)
	go l.handAll()
	<-ended
	return l.verdict()
}

// handAll gives the life the events that it begins with: nobody else brings them.
func (l *life) handAll() {
	for _, sealed := range l.Events {
		for {
			err := l.hand(l.lost, sealed)
			if _, forged := errors.AsType[*ForgedError](err); err == nil || forged {
				break
			}
			l.Trouble(err)
			select {
			case <-time.After(time.Second):
			case <-l.lost.Done():
				return
			}
		}
	}
}

// verdict says how the life has ended.
func (l *life) verdict() over {
	l.Host.mu.Lock()
	ending := l.ending
	l.Host.mu.Unlock()
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case l.ended:
		return over{How: overReturned}
	case ending != "":
		return over{How: ending}
	case l.lost.Err() != nil:
		return over{How: overLost}
	case l.full:
		return over{How: overReturned}
	}
	return over{}
}

// settle makes the phase ready here, as soon as what it needs answers.
func (l *life) settle(st cruise.State) (cruise.State, over) {
	for wait := time.Second; ; wait = min(2*wait, 10*time.Second) {
		ready, err := l.Settle(l.lost, l.Phase, st)
		if err == nil {
			return ready, over{}
		}
		if unfit, ok := errors.AsType[*UnfitError](err); ok {
			l.Log(l.Phase, "worker "+l.Name+" can't run it: "+unfit.Why)
			return st, over{How: overDeclined, Why: cut("worker "+l.Name+": "+unfit.Why, maxSaid)}
		}
		if l.lost.Err() == nil {
			l.Log(l.Phase, "worker "+l.Name+" tries again: "+err.Error())
		}
		select {
		case <-time.After(wait):
		case <-l.lost.Done():
		}
		if o := l.verdict(); o.How != "" { // it is lost, or its worker ends
			return st, o
		}
	}
}

// hand gives the life an event.
func (l *life) hand(ctx context.Context, sealed Sealed) error {
	var ev cruise.Event
	if err := l.key.open(sealed, kindEvent, l.Phase, &ev); err != nil || ev.ID != sealed.Name {
		return &ForgedError{Kind: kindEvent}
	}
	if err := l.Keep(ctx, l.Phase, ev); err != nil {
		return err
	}
	l.mu.Lock()
	if !slices.Contains(l.handed, ev.ID) {
		l.handed = append(l.handed, ev.ID)
	}
	l.mu.Unlock()
	return l.Engine.Send(l.Phase, ev)
}

// deliver is the activity that brings an event to a life here.
func (h *Host) deliver(ctx context.Context, p Parcel) (err error) {
	h.mu.Lock()
	l := h.lives[p.Phase]
	h.mu.Unlock()
	if l == nil || l.Life != p.Life {
		return refused("nobody")
	}
	defer func() { // the service would be told the words of a panic
		if p := recover(); p != nil {
			h.Trouble(fmt.Errorf("cco went wrong with an event: %v\n%s", p, debug.Stack()))
			err = refused("later")
		}
	}()
	if err := l.hand(ctx, p.Event); err != nil {
		h.Trouble(err)
		return refused("later")
	}
	return nil
}

// end has all lives end: at once, or as soon as no turn is under way.
func (h *Host) end(how string) {
	h.mu.Lock()
	h.ending = how
	lives := make([]*life, 0, len(h.lives))
	for _, l := range h.lives {
		lives = append(lives, l)
	}
	h.mu.Unlock()
	for _, l := range lives {
		if how == overGiven {
			l.lose(&LostError{Phase: l.Phase})
			continue
		}
		l.mu.Lock()
		l.full = true
		l.mu.Unlock()
		// A phase that waits looks up, and finds that it is to return.
		_ = h.Engine.Send(l.Phase, cruise.Event{ID: "drain", Kind: cruise.EventWake})
	}
}
