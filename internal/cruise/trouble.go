package cruise

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/forge"
)

// A stage is written as if everything in it succeeded. Where something does not, the phase is at another stage by then,
// asks a person, or is to end here, and the rest of the stage must not happen: it is left by a panic with this value,
// which enter alone makes and catches.
type left struct{ err error } // nil where the phase goes on

// leave leaves a stage.
func leave() { panic(left{}) }

// leaveOn leaves the phase if there is an error: it is the engine's, which goes on elsewhere or later.
func leaveOn(err error) {
	if err != nil {
		panic(left{err})
	}
}

// enter does something until it is done or left.
func enter(do func()) (err error) {
	defer func() {
		switch p := recover().(type) {
		case nil:
		case left:
			err = p.err
		default:
			panic(p)
		}
	}()
	do()
	return nil
}

// stay leaves a stage that the phase is no longer at.
func (m *machine) stay(at Stage) {
	if m.Stage != at {
		leave()
	}
}

func (m *machine) now() time.Time {
	now, err := m.Now()
	leaveOn(err)
	return now
}

// do does a step once.
func do[I, O any](m *machine, step Step[I, O], in I) (out O, failed *StepError) {
	return take(step.Begin(m, in), step.Name)
}

// take waits for a step that was begun, and gives its failure.
func take[O any](wait func() (O, error), name string) (out O, failed *StepError) {
	out, err := wait()
	if failed, ok := errors.AsType[*StepError](err); ok {
		var none O
		return none, failed
	}
	if err != nil {
		leaveOn(fmt.Errorf("%s: %w", name, err))
	}
	return out, nil
}

// attempt does a step that has to succeed: if it fails for good, a person is asked.
func attempt[I, O any](m *machine, step Step[I, O], in I) O {
	out, failed := persist(m, step, in)
	if failed != nil {
		m.askWhy(step.Name+": "+failed.Msg, "the step "+Code(step.Name)+" failed, and does not pass by itself")
		leave()
	}
	return out
}

// persist does a step until it has succeeded or failed for good. After a temporary failure the phase waits, handling
// events, and tries again.
func persist[I, O any](m *machine, step Step[I, O], in I) (out O, failed *StepError) {
	for wait := firstWait; ; wait = min(2*wait, troubleTop) {
		if out, failed = do(m, step, in); failed == nil {
			m.Waiting.Trouble = ""
		}
		if failed == nil || !failed.Temporary {
			return out, failed
		}
		m.waitOut(step.Name+": "+failed.Msg, wait)
	}
}

// waitOut waits for trouble to pass, and leaves a stage that the phase is no longer at then. A phase that is paused
// meanwhile waits here, because half of a stage may be done.
func (m *machine) waitOut(trouble string, wait time.Duration) {
	m.Waiting.Trouble = trouble
	m.save()
	stage := m.Stage
	m.awaitEvent(wait)
	for m.Paused && m.Stage == stage {
		m.save()
		m.awaitEvent(forever)
	}
	m.stay(stage)
	if !m.unheard() {
		m.idle()
	}
}

// unheard says that a look has news which the next one handles, or fails. It is asked before a phase ends as idle while
// something else is under way.
func (m *machine) unheard() bool {
	if m.PR == nil || !m.still(m.now()) {
		return false
	}
	news, failed := do(m, StepLook, m.lookIn(true))
	if failed != nil {
		m.Looks.Blind = true
		return true
	}
	m.looked()
	return news.State == forge.Merged || news.State == forge.Closed || slices.ContainsFunc(news.Comments,
		func(c Comment) bool { return !c.Ours && !slices.Contains(m.Inbox.Comments, c.ID) })
}

// unask takes back what is still to be said about a question.
func (s *State) unask() {
	s.Ask = Ask{}
	s.Outbox.Notes = slices.DeleteFunc(s.Outbox.Notes, func(n Note) bool { return strings.HasPrefix(n.Key, noteAsks) })
}

// noteAsks begins the keys of notes about questions.
const noteAsks = "asks-"

// askWhy stops the phase until a person says how to go on. What is said on the pull request must not tell of this
// machine: a question may hold paths, a program's output, or what a forge refused.
func (s *State) askWhy(question, public string) {
	s.note(noteAsks+Identity("", "", public), "this waits for the person who runs it: "+public+". `cco cruise status` "+
		"says more there.")
	s.Ask.Question, s.Ask.Resume = question, s.Stage
	s.Stage = StageAsk
}

// AskAbout is the state of a phase whose function went wrong again and again: it asks about that, and does nothing else
// until a person says how to go on.
func (s State) AskAbout(wrong string) State {
	if s.Stage != StageAsk && s.Stage != StageEnded {
		s.Ask.Resume, s.Stage = s.Stage, StageAsk
	}
	s.Ask.Question = wrong + ": `cco cruise logs` says more; `cco cruise resume` tries again, and a newer cco may " +
		"know better"
	return s
}
