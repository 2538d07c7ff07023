package cruise

import (
	"errors"
	"slices"
	"strings"
	"time"
)

// attempt runs a step that has to succeed. done is false if the phase has moved to another stage, or has to ask a
// person.
func attempt[I, O any](m *machine, step Step[I, O], in I) (out O, done bool, err error) {
	out, failure, done, err := persist(m, step, in)
	if failure != nil {
		m.askWhy(step.Name+": "+failure.Msg, "the step "+code(step.Name)+" failed, and does not pass by itself")
	}
	return out, done, err
}

// persist runs a step until it has succeeded or failed for good. After a temporary failure the phase waits, handling
// events, and tries again. If the phase moves to another stage meanwhile, the step has neither succeeded nor failed.
func persist[I, O any](m *machine, step Step[I, O], in I) (out O, failed *StepError, done bool, err error) {
	wait := firstWait
	for {
		out, err = do(m, step, in)
		failure, ok := errors.AsType[*StepError](err)
		switch {
		case err == nil:
			m.Waiting.Trouble = ""
			return out, nil, true, nil
		case !ok:
			return out, nil, false, err
		case !failure.Temporary:
			return out, failure, false, nil
		}
		if same, err := m.waitOut(step.Name+": "+failure.Msg, wait); err != nil || !same {
			return out, nil, false, err
		}
		wait = min(2*wait, troubleTop)
	}
}

// waitOut waits for trouble to pass, and says whether the phase is still where it was. A phase that is paused meanwhile
// waits here, because half of a stage may be done.
func (m *machine) waitOut(trouble string, wait time.Duration) (same bool, err error) {
	m.Waiting.Trouble = trouble
	if err := m.save(); err != nil {
		return false, err
	}
	before := m.Stage
	if err := m.awaitEvent(wait); err != nil {
		return false, err
	}
	for m.Paused && m.Stage == before {
		if err := m.save(); err != nil {
			return false, err
		}
		if err := m.pause(); err != nil {
			return false, err
		}
	}
	if m.Stage != before {
		return false, nil
	}
	if err := m.lookForActivity(); err != nil {
		return false, err
	}
	idle, err := m.idle()
	return !idle, err
}

// lookForActivity checks for activity while something else is under way, before the phase ends as idle. The next look
// handles the news.
func (m *machine) lookForActivity() error {
	now, err := m.Now()
	if err != nil || m.PR == nil || m.Spec.Timeout <= 0 || now.Sub(m.LastActivity) < m.Spec.Timeout {
		return err
	}
	news, err := do(m, StepLook, LookIn{Where: m.where(),
		Mark: m.Inbox.Mark, Now: true})
	if _, ok := errors.AsType[*StepError](err); ok {
		m.Looks.Blind, m.saw = true, false
		return nil
	}
	m.saw = news.State == PullOpen && !slices.ContainsFunc(news.Comments,
		func(c Comment) bool { return !c.Ours && !slices.Contains(m.Inbox.Comments, c.ID) })
	return err
}

// unask takes back what is still to be said about a question.
func (m *machine) unask() {
	m.Ask.Question, m.Ask.Resume, m.Ask.Disputed = "", "", nil
	m.Outbox.Notes = slices.DeleteFunc(m.Outbox.Notes, func(n Note) bool { return strings.HasPrefix(n.Key, noteAsks) })
}

// noteAsks begins the keys of notes about questions.
const noteAsks = "asks-"

// askWhy stops the phase until a person says how to go on. What is said on the pull request must not tell of this
// machine: a question may hold paths, a program's output, or what a forge refused.
func (m *machine) askWhy(question, public string) {
	m.note(noteAsks+Identity("", "", public), "this waits for the person who runs it: "+public+". `cco cruise status` "+
		"says more there.")
	m.Ask.Question, m.Ask.Resume = question, m.Stage
	m.Stage = StageAsk
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
