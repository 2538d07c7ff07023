package cruise

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/forge"
)

// forever is how long a phase waits for an event if only a person can move it.
const forever = 24 * time.Hour

// watch looks for news, less and less often while there is none, until there is work or the phase ends.
func (m *machine) watch() {
	fresh := m.look()
	now, hurried := m.now(), m.hurried
	m.hurried = false
	if fresh {
		m.Looks.Backoff.Secs = 0
		m.quiets++
		m.until = now.Add(m.quiet(now))
	}
	open, calm := len(m.Ledger.OpenOnes()) > 0, m.Waiting.Trouble == ""
	wait, a := m.until.Sub(now), m.approval()
	switch {
	case !open && (slices.ContainsFunc(m.Ledger.Findings, Finding.disputed) || m.failedReview() != nil):
		m.to(StageReview) // of a phase that ended while it asked about that
	case open && calm && (wait <= 0 || hurried || m.quiets >= maxQuiets):
		m.to(StageFix)
	case wait > 0:
		m.waitShown(wait)
	case calm && a != nil:
		m.approve(*a)
	default:
		m.waitSlower(m.Looks.Backoff.Interval())
	}
}

// quiet is how long to wait for more comments: until the last one is old enough by the forge's own clock.
func (m *machine) quiet(now time.Time) time.Duration {
	if m.heard.IsZero() {
		return m.Spec.quiet()
	}
	return min(m.heard.Add(m.Spec.quiet()).Sub(now), m.Spec.quiet())
}

// lookIn asks for what is new; now, for what was not read for another phase a moment ago.
func (m *machine) lookIn(now bool) LookIn {
	return LookIn{Where: m.where(), Mark: m.Inbox.Mark, Now: now}
}

// look reads what was said and done, and says whether there is something new to do. It leaves a stage that the phase is
// no longer at then.
func (m *machine) look() (fresh bool) {
	stage, in := m.Stage, m.lookIn(m.asked)
	m.asked = false
	if stage == StageFix {
		in.Check = m.Ledger.posted()
	}
	news, failed := do(m, StepLook, in)
	if failed != nil {
		m.Waiting.Trouble = StepLook.Name + ": " + failed.Msg // the next look may succeed
		if !failed.Temporary {
			m.Waiting.Stuck = m.Waiting.Trouble
		}
		m.Looks.Blind = true
		return false
	}
	m.Waiting.Trouble = ""
	m.looked()
	m.head, m.yes = news.Head, nil
	m.Ledger.drop(func(f Finding) bool { return slices.Contains(news.Gone, f.Comment) })
	for _, c := range news.Comments {
		fresh = m.recordComment(c) || fresh
	}
	// A branch that was renamed on the forge is followed: the request has its new name. A deleted branch has none.
	if to := news.Branch; to != "" && !strings.HasPrefix(to, "refs/") && !strings.HasPrefix(to, "-") {
		m.Meta.Branch = to
	}
	// The mark moves only when every comment before it is in the ledger, is held, or needs no action.
	m.Inbox.Mark = news.Mark
	if m.conclude(news.State); m.Stage != StageEnding {
		m.retargeted(news.Base)
		m.otherHands(news.Updated)
		m.baseMoved(news.Onto)
	}
	m.stay(stage)
	return fresh
}

// recordComment handles one comment and says whether it is work.
func (m *machine) recordComment(c Comment) bool {
	if c.Ours || !remember(&m.Inbox.Comments, c.ID) {
		return false
	}
	// Those who may write to the repository may give work to an agent that writes, and those whom the user names. An
	// association with the repository says little about what its holder may do.
	if named := m.names(c.Author); !named && (c.Bot || !c.Write) || c.Foreign {
		switch {
		case c.Bot && !named:
			c.Why = "a bot, which gives work only if --trust names it"
		case c.Foreign:
			c.Why = "it has the marker of a cco with another key: carry that over with `cco cruise key show` and `key set`"
		}
		if !reading.OnlyMarkers(c.Body) {
			m.Dropped += hold(&m.Held, c)
		}
		return false
	}
	m.active()
	m.Inbox.First = cmp.Or(m.Inbox.First, c.URL)
	switch {
	case reading.Complete(c.Body):
		m.complete(c)
	case c.State == forge.ReviewApproved && c.Commit != "" && (c.Commit == m.Head.Commit || c.Commit == m.head):
		if m.yes == nil || !m.yes.Word {
			m.yes = &Approval{Name: c.Author, Comment: c.ID, Commit: c.Commit, End: EndApproved, Words: c.Author +
				" approved of " + abbrev(c.Commit) + "."}
		}
	}
	if before := m.Ledger.Said(c.ID); before != nil {
		return m.reworded(before, c)
	}
	if reading.OnlyMarkers(c.Body) {
		return false
	}
	m.forget(c.ID)
	sort := sortOf(m, c)
	if sort == SortRemark {
		hold(&m.Remarks, c) // the user may accept it as work nevertheless
		return false
	}
	if c.At.After(m.heard) {
		m.heard = c.At
	}
	f, added := m.addFinding(c)
	if !c.Bot {
		f.Demand, f.At = sort != SortQuestion, c.Changed
	}
	return added
}

// reworded handles an edited comment. It stays one finding, with the latest text; an answered one is work again if it
// asks for something else.
func (m *machine) reworded(f *Finding, c Comment) bool {
	before := f.Text
	f.Text, f.At = c.Body, c.Changed
	wish := reading.Wish(c.Body) != ""
	switch {
	case f.State == Open && !wish:
		f.State = Dropped
	case f.State != Open && wish && Identity("", "", before) != Identity("", "", c.Body):
		f.State, f.Round, f.Stirred = Open, m.Round, false
	}
	if f.State == Open && c.Changed.After(m.heard) {
		m.heard = c.Changed
	}
	return f.State == Open
}

func (s *State) addFinding(c Comment) (*Finding, bool) {
	return s.Ledger.Raise(Finding{
		Path: c.Path, Line: c.Line, Text: c.Body, Author: c.Author, URL: c.URL, Comment: c.ID, Round: s.Round,
	})
}

// awaitEvent waits for one event and handles it, and says whether one came.
func (m *machine) awaitEvent(wait time.Duration) bool {
	e, err := m.Recv(wait)
	leaveOn(err)
	if e != nil {
		m.handleEvent(e)
	}
	return e != nil
}

// drain handles the events sent while the phase was busy, so that none is lost when it ends.
func (m *machine) drain() {
	for m.awaitEvent(0) {
	}
}

func (m *machine) handleEvent(e *Event) {
	if !remember(&m.Inbox.Events, e.ID) {
		return
	}
	// A comment is work even while the end is posted. If the phase can't go on, the ledger has it for a later resume.
	ending := m.Stage == StageEnding || m.Stage == StageCleaning
	if ending && (e.Kind == EventComment || e.Kind == EventAccept) {
		m.revive(e)
	}
	if m.Stage == StageEnded && m.revive(e) {
		return
	}
	switch e.Kind {
	case EventWake:
		m.lookNow()
	case EventNews:
		m.obeyPerson()
	case EventComment:
		m.remake()
		m.rule(false)
		m.addFinding(Comment{ID: LocalComment + e.ID, Author: "you", Body: e.Text})
		m.obeyPerson()
		m.active()
	case EventAccept:
		if c := m.accept(e.Text); c != nil {
			f, _ := m.addFinding(*c)
			f.Accepted = true
			m.obeyPerson()
			m.active()
		}
	case EventPause:
		m.Paused = !ending
	case EventResume:
		m.Paused = false
		m.overrule(e.Over)
		m.consent(e.Let)
		m.goWithout()
		m.rule(true)
		if m.Foreign.Take = e.Take; e.Take != "" && m.Foreign.Commit == "" {
			m.Foreign.Commit = m.told // a request to look was read together with this answer
		}
		m.obeyPerson()
		m.active()
	case EventCleanup:
		m.Force, m.Paused = e.Force, false
		m.unask()
		m.End = EndCleanup
		m.to(StageCleaning)
	}
}

// revive lets an ending phase go on because of an event, and says whether it does not: a comment is work, but a request
// to look, pause or resume finds that the phase has ended.
func (m *machine) revive(e *Event) (gone bool) {
	as := *e
	switch e.Kind {
	case EventComment, EventCleanup:
	case EventAccept:
		as.Kind = EventComment
	default:
		return true
	}
	st, err := m.State.Revive(as, m.now())
	if err != nil {
		m.Waiting.Trouble = e.Kind + " came too late: " + err.Error()
		return true // it is shown
	}
	st.Life.Number = m.Life.Number // it is still the same life
	*m.State = st
	return false
}

// LocalComment begins the id of a comment that was made without the forge.
const LocalComment = "local:"

// lookNow makes the phase look at once. It decides nothing: a stranger's comment is enough to cause it.
func (m *machine) lookNow() {
	m.asked = true
	m.Looks.Backoff.Secs = 0
}

// obeyPerson handles a person's request: the phase looks at once, waits for no more comments, and goes on if it was
// asking.
func (m *machine) obeyPerson() {
	m.lookNow()
	m.hurried = true
	if m.Stage == StageAsk {
		m.dropQuestion()
	}
}

// dropQuestion goes on as before because a person said so, and forgets what the phase asked about.
func (m *machine) dropQuestion() {
	m.Stage = m.Ask.Resume
	if m.unask(); m.Foreign.Take == "" {
		m.told, m.Foreign.Commit = m.Foreign.Commit, "" // if another's head is still there, the phase asks again
	}
	m.Life.Again++
	m.over()
	m.Head.Anew = true
	m.Ledger.Forget()
	if m.Head.MaxLines > 0 && m.Head.Lines > m.Head.MaxLines {
		m.Head.MaxLines = 2 * m.Head.Lines
	}
}

// ask waits for a person. It still sees what happens to the pull request.
func (m *machine) ask() {
	if m.PR != nil {
		before := m.Ask
		leaveOn(enter(func() { m.look() })) // a step that fails meanwhile is no question of its own
		m.stay(StageAsk)
		m.Ask = before
	}
	m.asked = false // without a request there is nothing to look at
	m.waitSlower(m.Looks.Backoff.Interval())
}

// ending says on the pull request how the phase ended, and goes on with the next kind if there is one. It has ended, so
// it asks nobody about a comment that can't be posted.
func (m *machine) ending() {
	if m.PR != nil {
		_, _ = persist(m, StepSay, SayIn{Where: m.where(), Key: fmt.Sprintf("end-%s-%d", m.Kind, m.Life.Again),
			Text: strings.TrimSpace(Prompt("end", *m.State))})
	}
	switch m.End {
	case EndApproved, EndComplete:
		m.onward()
	case EndMerged, EndClosed, EndIdle, EndCleanup:
		m.to(StageCleaning)
	case EndRounds, EndCost:
		m.to(StageEnded)
	}
}

// onward begins the next kind of a task, or ends here.
func (s *State) onward() {
	if s.lastKind() {
		s.to(StageEnded)
		return
	}
	s.Kind, s.End, s.EndWords = Kinds()[slices.Index(Kinds(), s.Kind)+1], "", ""
	s.Round, s.Review.Judgements = 0, nil
	s.Ledger.Forget()
	for i := range s.Ledger.Findings {
		if f := &s.Ledger.Findings[i]; f.State == Fixed {
			f.Reopened = -1 // in the next kind it is raised for the first time
		}
	}
	s.to(StageWork)
}

// clean removes the workspace, which the step refuses while it holds commits that exist nowhere else. It waits out
// temporary failures, but not if a person wants to get rid of the phase: its forge may be gone for good.
func (m *machine) clean() {
	for wait := firstWait; m.Workspace.Session != ""; wait = min(2*wait, troubleTop) {
		_, failed := do(m, StepClose, CloseIn{Where: m.where(), Head: m.Head.Commit, Force: m.Force,
			Delete: m.End == EndMerged || m.End == EndCleanup && m.Force})
		if failed == nil {
			break
		}
		if !failed.Temporary || m.End == EndCleanup {
			m.to(StageEnded)
			m.Waiting.Trouble = StepClose.Name + ": " + failed.Msg // it is shown, and a person may try again
			return
		}
		m.waitOut(StepClose.Name+": "+failed.Msg, wait)
	}
	m.to(StageEnded)
}
