package cruise

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/safetext"
)

const (
	maxQuiets  = 30 // then a round begins even if people go on commenting
	reviewers  = 3  // at once
	maxTries   = 2  // of an agent, before a person is asked
	maxLate    = 3  // waits for what was sent while the phase ended
	troubleTop = 300 * time.Second
)

// machine is a phase at work.
type machine struct {
	Run
	*State
	heard time.Time // when the last comment that needs action was made
	asked bool      // somebody wants a look now
	head  string    // the commit that the pull request is at, as the last look says
	yes   *Approval // found by the present look
	saw   bool      // the last look succeeded, and nothing else was done since
	told  string    // another's head that the user was asked about, until anything is done after the answer
	known *News     // what the last look gave, if it succeeded
	due   bool      // the look that was due when the state was saved is still to be waited for
}

// Phase carries a phase on from its saved state until it has ended, or until the engine wants to go on with a new
// history. It sees the world only through r.
func Phase(r Run, st State) (State, error) {
	m := &machine{Run: r, State: &st, due: !st.Looks.Next.IsZero() && st.looks()}
	st.adoptOlder()
	if st.Started.IsZero() {
		now, err := r.Now()
		if err != nil {
			return st, err
		}
		st.Started, st.LastActivity = now, now
	}
	for late := 0; ; late = min(late+1, maxLate) {
		if err := m.live(); err != nil {
			return st, err
		}
		if st.Stage != StageEnded && r.Full() {
			return st, m.save() // the next life begins with the saved state
		}
		saved, err := m.record(late == maxLate)
		if err != nil || !saved.Unread {
			return st, err
		}
		// Something was sent meanwhile, and the sender was told that it will be handled.
		if err := m.awaitEvent(firstWait); err != nil {
			return st, err
		}
	}
}

// live goes from stage to stage to the end.
func (m *machine) live() error {
	for m.Stage != StageEnded && !m.Full() {
		if !m.inTurn() { // else what was sent is read after the turn, as if nothing had interrupted it
			if err := m.drain(); err != nil {
				return err
			}
		}
		if err := m.save(); err != nil {
			return err
		}
		if err := m.postNotes(); err != nil {
			return err
		}
		if err := m.resume(); err != nil {
			return err
		}
		if err := m.next(); err != nil {
			return err
		}
	}
	return nil
}

func (m *machine) next() error {
	m.told = ""
	if m.Paused {
		return m.pause()
	}
	if m.Foreign.Take != "" && !m.inTurn() {
		return m.takeSide()
	}
	switch m.Stage {
	case StageName:
		return m.name()
	case StageOpen:
		return m.open()
	case StageWork:
		return m.work()
	case StagePublish:
		return m.publish()
	case StageReview:
		return m.review()
	case StageWatch:
		return m.watch()
	case StageFix:
		return m.fix()
	case StageAnswer:
		return m.answer()
	case StageReady:
		return m.ready()
	case StageChecks:
		return m.checks()
	case StageMerge, StageCompare:
		return m.merge()
	case StageAsk:
		return m.ask()
	case StageEnding:
		return m.ending()
	case StageCleaning:
		return m.clean()
	default:
		return m.unknownStage()
	}
}

// unknownStage waits in a stage that only a newer cco knows. An error would make the engine start over again and again.
func (m *machine) unknownStage() error {
	m.Waiting.Trouble = fmt.Sprintf("stage %q is one of a newer cco: let that one run it, or end it with `cco cruise "+
		"cleanup`", m.Stage)
	m.Waiting.Stuck = m.Waiting.Trouble
	if err := m.save(); err != nil {
		return err
	}
	return m.awaitEvent(forever)
}

// resume waits for the look that was due when the state was saved, so that a restart neither forgets it nor has all
// phases look at once.
func (m *machine) resume() error {
	if !m.due {
		return nil
	}
	m.due = false
	now, err := m.Now()
	if err != nil || m.Paused || !m.looks() {
		return err
	}
	m.Looks.Next, m.Looks.Backoff = m.Next(now)
	if wait := min(m.Looks.Next.Sub(now), lastWait); wait > 0 { // a clock may have been set back
		return m.awaitEvent(wait)
	}
	return nil
}

// save saves the state.
func (m *machine) save() error {
	_, err := m.record(false)
	return err
}

// saveAgain is how often a state is tried to be saved that can't be.
const saveAgain = 30 * time.Second

// record saves the state. It is all that a later life of the phase knows, so nothing else happens before that is done.
func (m *machine) record(last bool) (saved Saved, err error) {
	for wait := firstWait; ; wait = min(2*wait, saveAgain) {
		err = m.Start(StepSave.Name, SaveIn{Phase: m.ID(), State: *m.State, Last: last}).Get(&saved)
		if _, failed := errors.AsType[*StepError](err); !failed {
			return saved, err
		}
		if err := m.Sleep(wait); err != nil {
			return saved, err
		}
	}
}

func (m *machine) to(s Stage) {
	m.Stage, m.Attempt.Number = s, 0
	m.over()
	m.Waiting.Trouble, m.Waiting.For, m.Waiting.RefusedSince, m.Looks.Next = "", "", time.Time{}, time.Time{}
}

func (m *machine) end(e End, words string) {
	m.End, m.EndWords = e, words
	m.to(StageEnding)
}

// active notes that something happened.
func (m *machine) active() error {
	now, err := m.Now()
	m.LastActivity = now
	return err
}

// idle ends a phase in which nothing has happened for too long.
func (m *machine) idle() (bool, error) {
	if m.Stage == StageEnding || m.Stage == StageCleaning {
		return false, nil // the reason for its end is already decided
	}
	now, err := m.Now()
	if err != nil {
		return false, err
	}
	if m.PR != nil && !m.seen(now) || m.Spec.Timeout <= 0 || now.Sub(m.LastActivity) < m.Spec.Timeout {
		return false, nil
	}
	m.end(EndIdle, "Nothing happened for "+m.Spec.Timeout.String()+".")
	return true, nil
}

// seen notes that a look has just succeeded, and says whether it has. Time without a successful look does not count as
// idle: the laptop may have slept, or the forge was down.
func (m *machine) seen(now time.Time) bool {
	if !m.saw {
		return false
	}
	m.saw = false
	if gap := now.Sub(m.Looks.Last); !m.Looks.Last.IsZero() && (m.Looks.Blind || gap > 2*lastWait) &&
		m.Looks.Last.After(m.LastActivity) {
		m.LastActivity = m.LastActivity.Add(gap)
	}
	m.Looks.Last, m.Looks.Blind = now, false
	return true
}

func (m *machine) name() error {
	meta, done, err := attempt(m, StepMetadata, MetadataIn{Phase: m.ID(), Spec: m.Spec})
	if err != nil || !done {
		return err
	}
	m.Meta = meta
	m.to(StageOpen)
	return nil
}

func (m *machine) open() error {
	if err := m.ensure(); err != nil || m.Stage != StageOpen {
		return err
	}
	m.to(StageWork)
	return nil
}

// ensure makes sure of the workspace. Every agent's turn begins with it, because boxes and directories can be gone.
func (m *machine) ensure() error {
	w, done, err := attempt(m, StepWorkspace,
		WorkspaceIn{Phase: m.ID(), Spec: m.Spec, Branch: m.Meta.Branch, Head: m.Head.Commit})
	if done {
		if before := m.Workspace.Base; before != "" {
			w.Base = before // a new one begins at the last pushed commit; the work began earlier
		}
		m.Workspace = w
	}
	return err
}

// turnAndPublish runs a writer and takes its work out of its reach.
func (m *machine) turnAndPublish(job Job) (r Report, p Published, done bool, err error) {
	if r, done, err = m.turn(job); err != nil || !done {
		return r, p, false, err
	}
	if err = m.active(); err != nil {
		return r, p, false, err
	}
	p, done, err = attempt(m, StepPublish, m.publishIn())
	if done {
		m.Consent.Refused = p.Refused
	}
	return r, p, done, err
}

// where is what steps are told of the phase.
func (m *machine) where() Where {
	w := Where{Phase: m.ID(), Repo: m.Spec.Repo}
	if m.PR != nil {
		w.PR = m.PR.Number
	}
	return w
}

// key names a turn for ever.
func (m *machine) key(name string) string {
	return fmt.Sprintf("%s-%s-%d-%s", m.ID(), m.Kind, m.Life.Again, name)
}

// job is what one agent is asked to do.
func (m *machine) job(role Role, name string, w Worker, prompt string) Job {
	return Job{
		Key: m.key(name), Phase: m.ID(), Workspace: m.Workspace,
		Role: role, Worker: w, Prompt: prompt, Task: m.Spec.Task, MaxCost: max(0, m.Spec.MaxCost-m.Spent.Cost),
		Kind: m.Kind, Round: m.Round,
	}
}

func (m *machine) spent() bool { return m.Spec.MaxCost > 0 && m.Spent.Cost >= m.Spec.MaxCost }

// roughly marks a cost that is an estimate.
func (s State) roughly() string {
	if s.Spent.Estimate {
		return " (an estimate)"
	}
	return ""
}

// broke ends the phase if its money is spent, and says whether it is.
func (m *machine) broke() bool {
	if !m.spent() {
		return false
	}
	m.end(EndCost, fmt.Sprintf("$%.2f%s of $%.2f are spent.", m.Spent.Cost, m.roughly(), m.Spec.MaxCost))
	return true
}

func (m *machine) work() error {
	if err := m.ensure(); err != nil || m.Stage != StageWork {
		return err
	}
	now, err := m.Now()
	if err != nil {
		return err
	}
	m.begin()
	job := m.job(Author, "author-"+strconv.Itoa(m.Attempt.Number), m.Spec.Planner,
		authorPrompt(*m.State, now.Format(time.DateOnly)))
	job.Message = m.Meta.Title
	report, published, done, err := m.turnAndPublish(job)
	if err != nil || !done {
		return err
	}
	m.over()
	fault := authorFault(*m.State, report, published)
	if fault == "" {
		if m.Kind == Validating {
			m.Outbox.Report = Harmless(safetext.Cut(strings.TrimSpace(report.Answer), maxReport))
		}
		m.Outbox.Published = &published
		m.to(StagePublish)
		return nil
	}
	if m.broke() {
		return nil
	}
	if m.Attempt.Number < maxTries {
		return nil // again, from the start of the stage
	}
	m.Attempt.Number = 0
	m.askWhy(fmt.Sprintf("the %s did not do its work: %s", m.Spec.Planner.Agent, fault),
		"the "+m.Spec.Planner.Agent+" agent did not do its work twice")
	return nil
}

// authorFault says why an author's work can't be used, "" if it can.
func authorFault(st State, r Report, p Published) string {
	switch {
	case !r.OK:
		return r.Error
	case p.Rewritten != "":
		return rewrote(p)
	case len(p.Refused) > 0:
		return refused(p)
	case st.Kind == Validating:
		return ""
	case len(p.Commits) == 0:
		return "it committed nothing"
	case !slices.ContainsFunc(p.Commits, func(c Commit) bool { return len(c.Files) > 0 }):
		return "its commits change nothing"
	case st.Kind == Planning && p.Plan == "":
		return "there is no plan in docs/plans"
	default:
		return ""
	}
}
