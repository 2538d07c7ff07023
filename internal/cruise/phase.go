package cruise

import (
	"bytes"
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/safetext"
)

const (
	maxQuiets  = 30                // then a round begins even if people go on commenting
	reviewers  = 3                 // at once
	maxTries   = 2                 // of an agent, before a person is asked
	maxLate    = 3                 // waits for what was sent while the phase ended
	troubleTop = 300 * time.Second // between two tries of what passes by itself
	saveAgain  = 30 * time.Second  // between two tries to save a state that can't be
)

// machine is a phase at work: its state, and what is known of this moment.
type machine struct {
	Run
	*State
	heard time.Time // when the last comment that needs action was made
	asked bool      // somebody wants a look now
	// hurried says that the user did, who wants no more comments to be waited for.
	hurried bool
	quiets  int       // waits for more comments, in the present watch
	until   time.Time // that more comments are waited for, whatever ends a wait for an event before
	head    string    // the commit that the pull request is at, as the last look says
	yes     *Approval // found by the present look
	told    string    // another's head that the user was asked about, until anything is done after the answer
	due     bool      // the look that was due when the state was saved is still to be waited for
	saved   []byte    // the state that was saved last, if the phase waited, and when that was
	savedAt time.Time
}

// Phase carries a phase on from its saved state until it has ended, or until the engine wants to go on with a new
// history. It sees the world only through r.
func Phase(r Run, st State) (State, error) {
	m := &machine{Run: r, State: &st, due: !st.Looks.Next.IsZero() && st.looks()}
	err := enter(func() {
		if st.Started.IsZero() {
			st.Started = m.now()
			st.LastActivity = st.Started
		}
		for late := 0; m.live(late == maxLate); late = min(late+1, maxLate) {
			// Something was sent while it ended, and the sender was told that it will be handled.
			leaveOn(enter(func() { m.awaitEvent(firstWait) }))
		}
	})
	return st, err
}

// live goes from stage to stage to the end, and says whether there is something that was not read.
func (m *machine) live(last bool) (unread bool) {
	for m.Stage != StageEnded && !m.Full() {
		leaveOn(enter(m.next))
	}
	if m.Stage != StageEnded {
		m.save() // the next life begins with the saved state
		return false
	}
	return m.record(last).Unread
}

// stages are what a phase does in each of its stages.
func stages() map[Stage]func(*machine) {
	return map[Stage]func(*machine){
		StageName: func(m *machine) {
			m.Meta = attempt(m, StepMetadata, MetadataIn{Phase: m.ID(), Spec: m.Spec})
			m.to(StageOpen)
		},
		StageOpen:     func(m *machine) { m.ensure(); m.to(StageWork) },
		StageWork:     (*machine).work,
		StagePublish:  (*machine).publish,
		StageReview:   func(m *machine) { reviewing{m}.review() },
		StageWatch:    (*machine).watch,
		StageFix:      func(m *machine) { fixing{m}.fix() },
		StageAnswer:   func(m *machine) { fixing{m}.answer() },
		StageReady:    (*machine).ready,
		StageChecks:   func(m *machine) { checking{m}.checks() },
		StageMerge:    func(m *machine) { merging{m}.merge() },
		StageCompare:  func(m *machine) { merging{m}.merge() },
		StageAsk:      (*machine).ask,
		StageEnding:   (*machine).ending,
		StageCleaning: (*machine).clean,
	}
}

// next does what is next.
func (m *machine) next() {
	if !m.inTurn() { // else what was sent is read after the turn, as if nothing had interrupted it
		m.drain()
	}
	m.save()
	m.postNotes()
	m.resume()
	m.told = ""
	if m.Stage != StageWatch {
		m.quiets, m.until = 0, time.Time{}
	}
	stage := stages()[m.Stage]
	switch {
	case m.Paused:
		m.awaitEvent(forever)
	case m.Foreign.Take != "" && !m.inTurn():
		m.takeSide()
	case stage == nil:
		m.askWhy(fmt.Sprintf("stage %q is one of a newer cco: let that one run, and go on", m.Stage),
			"a newer cco has to go on with it")
	default:
		stage(m)
	}
}

// resume waits for the look that was due when the state was saved, so that a restart neither forgets it nor has all
// phases look at once.
func (m *machine) resume() {
	if !m.due {
		return
	}
	m.due = false
	if m.Paused || !m.looks() {
		return
	}
	now := m.now()
	m.Looks.Next, m.Looks.Backoff = m.Next(now)
	if wait := min(m.Looks.Next.Sub(now), m.Looks.Backoff.last()); wait > 0 { // a clock may have been set back
		m.awaitEvent(wait)
	}
}

// save saves the state.
func (m *machine) save() { m.record(false) }

// record saves the state. It is all that a later life of the phase knows, so nothing else happens before that is done.
func (m *machine) record(last bool) Saved {
	now, waiting := m.now(), m.waiting()
	if waiting != nil && bytes.Equal(waiting, m.saved) && now.Sub(m.savedAt).Abs() < longestWait {
		return Saved{}
	}
	for wait := firstWait; ; wait = min(2*wait, saveAgain) {
		saved, failed := do(m, StepSave, SaveIn{Phase: m.ID(), State: *m.State, Last: last})
		if failed == nil {
			m.saved, m.savedAt = waiting, now
			return saved
		}
		leaveOn(m.Sleep(wait))
	}
}

func (s *State) to(stage Stage) {
	s.Stage, s.Attempt.Number = stage, 0
	s.over()
	s.Waiting = Waiting{Stuck: s.Waiting.Stuck}
	s.Looks.Next = time.Time{}
}

func (s *State) end(e End, words string) {
	s.End, s.EndWords = e, words
	s.to(StageEnding)
}

// active notes that something happened.
func (m *machine) active() { m.LastActivity = m.now() }

// idle ends a phase in which nothing has happened for too long, as far as the last look shows, and leaves its stage.
func (m *machine) idle() {
	if m.Stage == StageEnding || m.Stage == StageCleaning || m.PR != nil && m.Looks.Blind || !m.still(m.now()) {
		return // of an end the reason is already decided
	}
	m.end(EndIdle, "Nothing happened for "+m.Spec.Timeout.String()+".")
	leave()
}

// still says that nothing has happened for so long that the phase ends.
func (m *machine) still(now time.Time) bool {
	return m.Spec.Timeout > 0 && now.Sub(m.LastActivity) >= m.Spec.Timeout
}

// looked notes that a look has just succeeded. Time without one does not count as idle: the laptop may have slept, or
// the forge was down.
func (m *machine) looked() {
	now := m.now()
	if gap := now.Sub(m.Looks.Last); !m.Looks.Last.IsZero() && (m.Looks.Blind || gap > 2*m.Looks.Backoff.last()) &&
		m.Looks.Last.After(m.LastActivity) {
		m.LastActivity = m.LastActivity.Add(gap)
	}
	m.Looks.Last, m.Looks.Blind = now, false
}

// ensure makes sure of the workspace. Every agent's turn begins with it, because boxes and directories can be gone.
func (m *machine) ensure() {
	w := attempt(m, StepWorkspace, WorkspaceIn{Where: m.where(), Spec: m.Spec, Head: m.Head.Commit,
		Lend: m.Ledger.base()})
	if before := m.Workspace.Base; before != "" {
		w.Base = before // a new one begins at the last pushed commit; the work began earlier
	}
	m.Workspace = w
}

// turnAndPublish runs a writer and takes its work out of its reach.
func (m *machine) turnAndPublish(job Job) (Report, Published) {
	r := m.turn(job)
	m.active()
	p := attempt(m, StepPublish, PublishIn{Where: m.where(), Base: m.Base.From, Onto: m.Ledger.base(),
		Since: cmp.Or(m.Head.Commit, m.Workspace.Base)})
	m.Consent.Refused = p.Refused
	return r, p
}

// where is what steps are told of the phase.
func (m *machine) where() Where {
	w := Where{Phase: m.ID(), Repo: m.Spec.Repo, Branch: m.Meta.Branch, Workspace: m.Workspace}
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

func (s *State) spent() bool { return s.Spec.MaxCost > 0 && s.Spent.Cost >= s.Spec.MaxCost }

// roughly marks a cost that is an estimate.
func (s *Spent) roughly() string {
	if s.Estimate {
		return " (an estimate)"
	}
	return ""
}

// broke ends the phase if its money is spent, and says whether it is.
func (s *State) broke() bool {
	if !s.spent() {
		return false
	}
	s.end(EndCost, fmt.Sprintf("$%.2f%s of $%.2f are spent.", s.Spent.Cost, s.roughly(), s.Spec.MaxCost))
	return true
}

func (m *machine) work() {
	m.ensure()
	now := m.now()
	m.begin()
	job := m.job(Author, "author-"+strconv.Itoa(m.Attempt.Number), m.Spec.Planner,
		Prompt("author", briefing{State: *m.State, Date: now.Format(time.DateOnly)}))
	job.Message = m.Meta.Title
	report, published := m.turnAndPublish(job)
	why := authorFault(*m.State, report, published)
	if why != "" {
		m.notDone(m.Spec.Planner.Agent, why)
		return
	}
	if m.Kind == Validating {
		m.Outbox.Report = reading.Harmless(safetext.Cut(strings.TrimSpace(report.Answer), maxReport))
	}
	m.Outbox.Published = &published
	m.to(StagePublish)
}

// notDone has an agent try again that did not do its work, from the start of the stage. It asks after the last try, and
// says whether it does.
func (s *State) notDone(who, why string) (asks bool) {
	s.over()
	if s.broke() || s.Attempt.Number < maxTries {
		return false
	}
	s.Attempt.Number = 0
	s.askWhy("the "+who+" did not do its work: "+why, "the "+who+" did not do its work twice")
	return true
}

// fault says why what a writer left can't be used, "" if it can.
func fault(r Report, p Published) string {
	switch {
	case p.Rewritten != "":
		return "it rewrote commits that were pushed; what it made of them is at " + p.Rewritten + " in your repository"
	case len(p.Refused) > 0:
		return "its commits have what must not be pushed: " + strings.Join(p.Refused, "; ") +
			"; your setting pull.refuse says what that is"
	case !r.OK:
		return cmp.Or(r.Error, "it failed")
	}
	return ""
}

// authorFault says why an author's work can't be used, "" if it can.
func authorFault(st State, r Report, p Published) string {
	switch why := fault(r, p); {
	case why != "" || st.Kind == Validating:
		return why
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
