package cruise

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// forever is how long a phase waits for an event if only a person can move it.
const forever = 24 * time.Hour

// watch looks for news, less and less often while there is none, until there is work or the phase ends.
func (m *machine) watch() error {
	quiets := 0
	var until time.Time // more comments are waited for, whatever ends a wait for an event before
	for m.Stage == StageWatch && !m.Paused && !m.Full() {
		fresh, err := m.look()
		if err != nil || m.Stage != StageWatch {
			return err
		}
		disputed := slices.ContainsFunc(m.Ledger.Findings, Finding.disputed)
		if (disputed || m.failedReview() != nil) && len(m.Ledger.OpenOnes()) == 0 {
			m.to(StageReview) // of a phase that ended while it asked about that
			return nil
		}
		var wait time.Duration
		if fresh || !until.IsZero() {
			now, err := m.Now()
			if err != nil {
				return err
			}
			if fresh {
				m.Looks.Backoff = m.Looks.Backoff.Reset()
				quiets++
				until = now.Add(m.quiet(now))
			}
			if wait = until.Sub(now); wait <= 0 {
				until = time.Time{}
			}
			fresh = wait > 0
		}
		calm := m.Waiting.Trouble == "" && !m.unsure()
		if len(m.Ledger.OpenOnes()) > 0 && (!fresh || quiets >= maxQuiets) && calm {
			m.to(StageFix)
			return nil
		}
		if a := m.approval(); !fresh && calm && a != nil {
			m.approve(*a)
			return nil
		}
		if idle, err := m.idle(); err != nil || idle {
			return err
		}
		if fresh {
			err = m.waitShown(wait)
		} else {
			err = m.waitLooking()
		}
		if err != nil {
			return err
		}
		if !fresh && !m.asked && m.Stage == StageWatch {
			m.Looks.Backoff = m.Looks.Backoff.Slower()
		}
	}
	return nil
}

// quiet is how long to wait for more comments: until the last one is old enough by the forge's own clock.
func (m *machine) quiet(now time.Time) time.Duration {
	if m.heard.IsZero() {
		return m.Spec.quiet()
	}
	return min(m.heard.Add(m.Spec.quiet()).Sub(now), m.Spec.quiet())
}

// waitShown waits for an event, and shows until when.
func (m *machine) waitShown(wait time.Duration) error {
	if err := m.showWait(wait); err != nil {
		return err
	}
	return m.awaitEvent(wait)
}

func (m *machine) showWait(wait time.Duration) error {
	now, err := m.Now()
	if err != nil {
		return err
	}
	m.Looks.Next = now.Add(wait)
	return m.save()
}

func (m *machine) lookIn() LookIn {
	return LookIn{Where: m.where(), Mark: m.Inbox.Mark}
}

// look reads what was said and done, and says whether there is something new to do.
func (m *machine) look() (fresh bool, err error) {
	in := m.lookIn()
	in.Now, m.asked, m.known = m.asked, false, nil
	news, err := do(m, StepLook, in)
	if failure, ok := errors.AsType[*StepError](err); ok {
		m.Waiting.Trouble = StepLook.Name + ": " + failure.Msg // the next look may succeed
		if !failure.Temporary {
			m.Waiting.Stuck = m.Waiting.Trouble
		}
		m.Looks.Blind, m.saw = true, false
		return false, nil
	}
	if err != nil {
		return false, err
	}
	m.Waiting.Trouble = ""
	m.head, m.yes, m.saw, m.known = news.Head, nil, true, &news
	for _, c := range news.Comments {
		took, err := m.recordComment(c)
		if err != nil {
			return false, err
		}
		fresh = fresh || took
	}
	m.renamed(news.Branch)
	// The mark moves only when every comment before it is in the ledger, is held, or needs no action.
	m.Inbox.Mark = news.Mark
	if m.conclude(news.State); m.Stage == StageEnding {
		return false, nil
	}
	if err := m.retargeted(news.Base); err != nil {
		return fresh, err
	}
	if err := m.otherHands(news.Updated); err != nil {
		return fresh, err
	}
	return fresh, m.baseMoved(news.Onto)
}

// renamed follows a branch that was renamed on the forge: the request has its new name. A deleted branch has none.
func (m *machine) renamed(branch string) {
	if branch != "" && branch != m.Meta.Branch && !strings.HasPrefix(branch, "refs/") &&
		!strings.HasPrefix(branch, "-") {
		m.Meta.Branch = branch
	}
}

// recordComment handles one comment and says whether it is work.
func (m *machine) recordComment(c Comment) (bool, error) {
	if c.Ours || !m.rememberComment(c.ID) {
		return false, nil
	}
	bot := c.Bot && !m.names(c.Author)
	if !m.Trusts(c) || bot || c.Foreign {
		switch {
		case bot:
			c.Why = "a bot, which gives work only if --trust names it"
		case c.Foreign:
			c.Why = "it has the marker of a cco with another key: carry that over with `cco cruise key show` and `key set`"
		}
		if !OnlyMarkers(c.Body) {
			m.hold(c)
		}
		return false, nil
	}
	if err := m.active(); err != nil {
		return false, err
	}
	if m.Inbox.First == "" {
		m.Inbox.First = c.URL
	}
	switch {
	case Complete(c.Body):
		if err := m.complete(c); err != nil {
			return false, err
		}
	case c.State == ReviewApproved && c.Commit != "" && (c.Commit == m.Head.Commit || c.Commit == m.head):
		if m.yes == nil || !m.yes.Word {
			m.yes = &Approval{Name: c.Author, Comment: c.ID, Commit: c.Commit, End: EndApproved, Words: c.Author +
				" approved of " + abbrev(c.Commit) + "."}
		}
	}
	if before := m.Ledger.Said(c.ID); before != nil {
		return m.reworded(before, c), nil
	}
	if wishIn(c.Body) == "" {
		return false, nil
	}
	if c.At.After(m.heard) {
		m.heard = c.At
	}
	added := m.addFinding(c)
	if f := m.Ledger.Said(c.ID); f != nil && !c.Bot {
		f.Demand, f.At = true, c.Changed
	}
	return added, nil
}

// reworded handles an edited comment. It stays one finding, with the latest text; an answered one is work again if it
// asks for something else.
func (m *machine) reworded(f *Finding, c Comment) bool {
	before := f.Text
	f.Text, f.At = c.Body, c.Changed
	wish := wishIn(c.Body) != ""
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

func (m *machine) addFinding(c Comment) bool {
	return m.Ledger.Raise(Finding{
		Path: c.Path, Line: c.Line, Text: c.Body, Author: c.Author, URL: c.URL, Comment: c.ID, Round: m.Round,
	})
}

// awaitEvent waits for one event and handles it.
func (m *machine) awaitEvent(wait time.Duration) error {
	e, err := m.Recv(wait)
	if err != nil || e == nil {
		return err
	}
	return m.handleEvent(e)
}

// drain handles the events sent while the phase was busy, so that none is lost when it ends.
func (m *machine) drain() error {
	for {
		e, err := m.Recv(0)
		if err != nil || e == nil {
			return err
		}
		if err := m.handleEvent(e); err != nil {
			return err
		}
	}
}

func (m *machine) handleEvent(e *Event) error {
	if !m.rememberEvent(e.ID) {
		return nil
	}
	// A comment is work even while the end is posted. If the phase can't go on, the ledger has it for a later resume.
	ending := m.Stage == StageEnding || m.Stage == StageCleaning
	if ending && (e.Kind == EventComment || e.Kind == EventAccept) {
		if _, err := m.revive(e); err != nil {
			return err
		}
	}
	if m.Stage == StageEnded {
		if gone, err := m.revive(e); err != nil || gone {
			return err
		}
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
		return m.active()
	case EventAccept:
		if i := slices.IndexFunc(m.Inbox.Held, func(c Comment) bool { return c.ID == e.Text }); i >= 0 {
			m.addFinding(m.Inbox.Held[i])
			if f := m.Ledger.Said(e.Text); f != nil {
				f.Accepted = true
			}
			m.Inbox.Held = slices.Delete(m.Inbox.Held, i, i+1)
			m.obeyPerson()
			return m.active()
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
		return m.active()
	case EventCleanup:
		m.Force, m.Paused = e.Force, false
		m.unask()
		m.End = EndCleanup
		m.to(StageCleaning)
	}
	return nil
}

// revive lets an ending phase go on because of an event, and says whether it does not: a comment is work, but a request
// to look, pause or resume finds that the phase has ended.
func (m *machine) revive(e *Event) (gone bool, err error) {
	if e.Kind != EventComment && e.Kind != EventAccept && e.Kind != EventCleanup {
		return true, nil
	}
	now, err := m.Now()
	if err != nil {
		return false, err
	}
	as := *e
	if as.Kind == EventAccept {
		as.Kind = EventComment
	}
	st, err := m.Revive(as, now)
	if err != nil {
		m.Waiting.Trouble = e.Kind + " came too late: " + err.Error()
		return true, nil // it is shown
	}
	st.Life.Number = m.Life.Number // it is still the same life
	*m.State = st
	return false, nil
}

// LocalComment begins the id of a comment that was made without the forge.
const LocalComment = "local:"

// lookNow makes the phase look at once. It decides nothing: a stranger's comment is enough to cause it.
func (m *machine) lookNow() {
	m.asked = true
	m.Looks.Backoff = m.Looks.Backoff.Reset()
}

// obeyPerson handles a person's request: the phase looks at once, and goes on if it was asking.
func (m *machine) obeyPerson() {
	m.lookNow()
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
func (m *machine) ask() error {
	if m.PR != nil {
		before := m.Ask.Question
		if _, err := m.look(); err != nil || m.Stage != StageAsk {
			return err
		}
		m.Ask.Question = before
	}
	if idle, err := m.idle(); err != nil || idle {
		return err
	}
	m.Looks.Backoff = m.Looks.Backoff.Slower()
	return m.waitLooking()
}

func (m *machine) pause() error { return m.awaitEvent(forever) }

// ending says on the pull request how the phase ended, and goes on with the next kind if there is one.
func (m *machine) ending() error {
	if m.PR != nil {
		_, done, err := attempt(m, StepSay, SayIn{
			Where: m.where(), Key: fmt.Sprintf("end-%s-%d", m.Kind, m.Life.Again),
			Text: endWords(*m.State),
		})
		if err != nil || !done && m.Stage == StageEnding {
			return err
		}
		if m.Stage == StageAsk { // it has ended, so it asks nobody about a comment that can't be posted
			m.Stage = StageEnding
			m.unask()
		}
	}
	switch m.End {
	case EndApproved, EndComplete:
		m.onward()
	case EndMerged, EndClosed, EndIdle, EndCleanup:
		m.to(StageCleaning)
	case EndRounds, EndCost:
		m.to(StageEnded)
	}
	return nil
}

// onward begins the next kind of a task, or ends here.
func (m *machine) onward() {
	if m.lastKind() {
		m.to(StageEnded)
		return
	}
	m.Kind, m.End, m.EndWords = Kinds()[slices.Index(Kinds(), m.Kind)+1], "", ""
	m.Round, m.Review.Judgements = 0, nil
	m.Ledger.Forget()
	for i := range m.Ledger.Findings {
		if f := &m.Ledger.Findings[i]; f.State == Fixed {
			f.Reopened = -1 // in the next kind it is raised for the first time
		}
	}
	m.to(StageWork)
}

// endIn ends a phase whose last step failed. The failure is shown, and a person may retry the step.
func (m *machine) endIn(step string, failure *StepError) {
	m.to(StageEnded)
	m.Waiting.Trouble = step + ": " + failure.Msg
}

// clean removes the workspace, which the step refuses while it holds commits that exist nowhere else. It waits out
// temporary failures, but not if a person wants to get rid of the phase: its forge may be gone for good.
func (m *machine) clean() error {
	for wait := firstWait; m.Workspace.Session != ""; wait = min(2*wait, troubleTop) {
		err := m.Start(StepClose.Name, CloseIn{
			Where: m.where(), Workspace: m.Workspace, Branch: m.Meta.Branch, Head: m.Head.Commit,
			Merged: m.End == EndMerged, Force: m.Force, Delete: m.End == EndMerged || m.End == EndCleanup,
		}).Get(nil)
		failure, ok := errors.AsType[*StepError](err)
		if err != nil && !ok {
			return err
		}
		if !ok {
			break
		}
		if !failure.Temporary || m.End == EndCleanup {
			m.endIn(StepClose.Name, failure)
			return nil
		}
		if same, err := m.waitOut(StepClose.Name+": "+failure.Msg, wait); err != nil || !same {
			return err
		}
	}
	m.to(StageEnded)
	return nil
}
