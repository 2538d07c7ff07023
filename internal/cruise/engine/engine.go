// Package engine runs phases: each is a goroutine in this process that goes on from the state that it saved last.
// Nothing else is recorded, so that every step may run again, and looks first whether its work is already done.
package engine

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
)

// Engine runs phases.
type Engine struct {
	Steps cruise.Steps
	// Saved gives the state that a phase saved last.
	Saved func(ctx context.Context, phase string) (cruise.State, error)
	Now   func() time.Time
	// Log adds a line to the log of a phase, and Report tells whoever watches this process.
	Log    func(phase, words string)
	Report func(format string, args ...any)
	// Full says that a life is to return between two steps, to be begun again from what it saved; nil is never.
	Full func(life context.Context) bool

	mu     sync.Mutex
	closed bool
	lives  map[string]*life // by phase; the newest of each
	under  sync.WaitGroup
}

// pauses are how long a phase rests whose function went wrong, before it is begun again. Then it is asked about.
var pauses = []time.Duration{5 * time.Second, 30 * time.Second, 300 * time.Second}

// sound is how long a phase has run when what went wrong before no longer counts.
const sound = time.Hour

// closing is how long the end of a life is waited for: by the engine when it ends, and by the phase's next life.
const closing = 10 * time.Second

// life is one life of a phase.
type life struct {
	*Engine
	phase  string
	number int
	ctx    context.Context
	stop   context.CancelFunc
	over   chan struct{} // closed when it is

	events  []cruise.Event
	taken   []cruise.Event // that the phase has read, and no saved state knows of
	arrived chan struct{}  // holds something when there may be events
}

// Start begins a life of a phase from a saved state, with what its context holds: it ends when that ends, and over is
// closed when it has. One that was begun is not begun again; a later one ends it, and begins when it is over.
func (e *Engine) Start(ctx context.Context, phase string, st cruise.State) (over <-chan struct{}) {
	e.mu.Lock()
	defer e.mu.Unlock()
	before := e.lives[phase]
	if before != nil && before.number >= st.Life.Number {
		return before.over
	}
	l := &life{Engine: e, phase: phase, number: st.Life.Number, arrived: make(chan struct{}, 1),
		over: make(chan struct{})}
	if e.closed {
		close(l.over)
		return l.over
	}
	if e.lives == nil {
		e.lives = map[string]*life{}
	}
	l.ctx, l.stop = context.WithCancel(ctx)
	e.lives[phase] = l
	e.under.Go(func() {
		defer l.stop()
		if before != nil {
			before.end()
		}
		l.run(st)
		e.mu.Lock()
		defer e.mu.Unlock()
		if e.lives[phase] == l {
			delete(e.lives, phase)
		}
		close(l.over)
	})
	return l.over
}

// end ends a life that a later one follows. One that does not end in time can save nothing any more, and begin no step.
func (l *life) end() {
	l.stop()
	select {
	case <-l.over:
	case <-time.After(closing):
		l.Log(l.phase, "what it did before does not end: it goes on without that")
	}
}

// Send gives a phase an event. Sending it twice is the same as once.
func (e *Engine) Send(phase string, ev cruise.Event) error {
	e.mu.Lock()
	defer e.mu.Unlock()
	l := e.lives[phase]
	if l == nil {
		return errors.New("phase " + phase + " is not being run")
	}
	known := func(o cruise.Event) bool { return o.ID == ev.ID }
	if !slices.ContainsFunc(l.events, known) && !slices.ContainsFunc(l.taken, known) {
		l.events = append(l.events, ev)
	}
	select {
	case l.arrived <- struct{}{}:
	default:
	}
	return nil
}

// Close ends the engine. Phases that are under way go on when they are started again.
func (e *Engine) Close() error {
	e.mu.Lock()
	e.closed = true
	for _, l := range e.lives {
		l.stop()
	}
	e.mu.Unlock()
	done := make(chan struct{})
	go func() { e.under.Wait(); close(done) }()
	select {
	case <-done:
		return nil
	case <-time.After(closing):
		return errors.New("phases do not end")
	}
}

// run lives until the phase has ended, or is somebody else's. A function that goes wrong is begun again from what was
// saved, and asked about in the end.
func (l *life) run(st cruise.State) {
	for wrong := 0; ; {
		began := time.Now()
		err := l.phaseFrom(st)
		if err == nil || l.ctx.Err() != nil || cruise.Elsewhere(err) {
			return
		}
		if time.Since(began) > sound {
			wrong = 0
		}
		l.Report("phase %s: %v", l.phase, err)
		l.Log(l.phase, firstLine(err.Error()))
		if wrong < len(pauses) {
			if l.Sleep(pauses[wrong]) != nil {
				return
			}
			wrong++
		} else if wrong = 0; !l.ask(firstLine(err.Error())) {
			return
		}
		if st, err = l.saved(); err != nil {
			return
		}
		l.putBack()
	}
}

// putBack has events read again that no saved state knows of.
func (l *life) putBack() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.events, l.taken = append(l.taken, l.events...), nil
}

// saved gives what the phase saved last, as soon as that can be read.
func (l *life) saved() (st cruise.State, err error) {
	for {
		if st, err = l.Saved(l.ctx, l.phase); err == nil {
			return st, nil
		}
		l.Report("phase %s: %v", l.phase, err)
		if err := l.Sleep(pauses[1]); err != nil {
			return st, err
		}
	}
}

// ask has the phase ask about what went wrong, and waits until a person says something, which is left for it.
func (l *life) ask(words string) bool {
	st, err := l.saved()
	if err != nil {
		return false
	}
	st = st.AskAbout(words)
	for {
		if _, err := cruise.StepSave.Begin(l, cruise.SaveIn{Phase: l.phase, State: st})(); err == nil {
			break
		}
		if l.Sleep(pauses[1]) != nil {
			return false
		}
	}
	l.mu.Lock()
	before := slices.Clone(l.events)
	l.mu.Unlock()
	for {
		l.mu.Lock()
		said := slices.ContainsFunc(l.events, func(e cruise.Event) bool {
			return e.Kind != cruise.EventWake && !slices.Contains(before, e)
		})
		l.mu.Unlock()
		if said {
			return true
		}
		select {
		case <-l.arrived:
		case <-l.ctx.Done():
			return false
		}
	}
}

func firstLine(s string) string {
	s, _, _ = strings.Cut(s, "\n")
	return s
}

// phaseFrom runs the phase's function.
func (l *life) phaseFrom(st cruise.State) (err error) {
	defer func() {
		// A panic would end the process with all its phases, and again after each start.
		if p := recover(); p != nil {
			err = fmt.Errorf("cco went wrong: %v\n%s", p, debug.Stack())
		}
	}()
	st, err = cruise.Phase(l, st)
	if err == nil && st.Stage != cruise.StageEnded && !l.Full() {
		err = fmt.Errorf("cco went wrong: it returned in stage %q", st.Stage)
	}
	return err
}

// ID names the phase.
func (l *life) ID() string { return l.phase }

// Full says whether the life is to return. Here it may go on for ever: it has no history.
func (l *life) Full() bool { return l.Engine.Full != nil && l.Engine.Full(l.ctx) }

// Now is the time in milliseconds, as it is when a state is read again.
func (l *life) Now() (time.Time, error) { return l.Engine.Now().UTC().Round(0), l.ctx.Err() }

// Sleep waits, whatever is sent.
func (l *life) Sleep(d time.Duration) error {
	select {
	case <-time.After(d):
		return nil
	case <-l.ctx.Done():
		return l.ctx.Err()
	}
}

// next takes an event, nil if there is none.
func (l *life) next() *cruise.Event {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.events) == 0 {
		return nil
	}
	e := l.events[0]
	l.events, l.taken = l.events[1:], append(l.taken, e)
	return &e
}

// Recv waits for an event.
func (l *life) Recv(timeout time.Duration) (*cruise.Event, error) {
	if err := l.ctx.Err(); err != nil {
		return nil, err
	}
	late := time.NewTimer(timeout)
	defer late.Stop()
	for {
		if e := l.next(); e != nil || timeout <= 0 {
			return e, nil
		}
		select {
		case <-l.arrived:
		case <-late.C:
			return l.next(), nil // one that came at that moment
		case <-l.ctx.Done():
			return nil, l.ctx.Err()
		}
	}
}

// Start begins a step at once; several can be under way.
func (l *life) Start(step string, in any, run cruise.StepFunc) cruise.Pending {
	var err error
	done := make(chan struct{})
	go func() {
		defer close(done)
		err = cruise.Dispatch(l.ctx, l.Steps, step, in, run)
		if step != cruise.StepSave.Name {
			return
		}
		if failed, ok := errors.AsType[*cruise.StepError](err); ok {
			l.Report("phase %s can't be saved, and waits until it can: %s", l.phase, failed.Msg)
		}
		if err == nil {
			l.mu.Lock()
			l.taken = nil // the phase saves whatever it has read
			l.mu.Unlock()
		}
	}()
	return func() error {
		<-done
		return err
	}
}
