package cruise

import (
	"cmp"
	"encoding/json"
	"slices"
	"time"
)

// The pace of looking for news, where nothing else is set: soon after something happened, rarely when nothing does.
const (
	firstWait = 5 * time.Second
	lastWait  = 300 * time.Second

	longestWait = time.Hour // that looks which find nothing are not saved
)

// MostPoll is the longest wait between two looks that can be set.
const MostPoll = time.Hour

// Backoff is how long to wait before looking again. Its zero value is at its start, and it is part of a phase's state.
type Backoff struct {
	Secs int `json:"secs,omitempty"` // 0 after news
	Min  int `json:"min,omitempty"`  // seconds; 0 is the usual
	Max  int `json:"max,omitempty"`
}

// first and last are the shortest and the longest wait.
func (b Backoff) first() time.Duration { return cmp.Or(time.Duration(b.Min)*time.Second, firstWait) }
func (b Backoff) last() time.Duration {
	return max(cmp.Or(time.Duration(b.Max)*time.Second, lastWait), b.first())
}

// Interval is the wait that is due now.
func (b Backoff) Interval() time.Duration {
	secs := min(max(b.Secs, int(b.first()/time.Second)), int(b.last()/time.Second)) // what a file says may be anything
	return time.Duration(secs) * time.Second
}

// Slower is the wait after one that brought no news.
func (b Backoff) Slower() Backoff {
	b.Secs = int(min(2*b.Interval(), b.last()) / time.Second)
	return b
}

// looks says that the phase waits between looks.
func (s *State) looks() bool {
	return s.PR != nil && slices.Contains([]Stage{StageWatch, StageAsk, StageChecks, StageMerge, StageCompare}, s.Stage)
}

// Next is when a phase looks again, and how long it waits for that. Of the looks of a wait only the first is saved.
func (s State) Next(now time.Time) (due time.Time, pace Backoff) {
	due, pace = s.Looks.Next, s.Looks.Backoff
	if due.IsZero() || s.Stage != StageWatch && s.Stage != StageAsk {
		return due, pace
	}
	for !due.After(now) {
		pace = pace.Slower()
		due = due.Add(pace.Interval())
	}
	return due, pace
}

// waitShown waits for an event, and shows until when.
func (m *machine) waitShown(wait time.Duration) {
	m.idle()
	m.Looks.Next = m.now().Add(wait)
	m.save()
	m.postNotes()
	m.awaitEvent(wait)
}

// waitSlower waits for an event, and longer the next time if nobody wants a look.
func (m *machine) waitSlower(wait time.Duration) {
	if m.waitShown(wait); !m.asked {
		m.Looks.Backoff = m.Looks.Backoff.Slower()
	}
}

// waiting is all of the state of a phase that waits between looks but for when they are, nil while it does anything
// else. Looks that find nothing are not saved: when the next one is follows from the first, and a hundred phases that
// wait for days would do little else than write that down.
func (m *machine) waiting() []byte {
	if m.Stage != StageWatch && m.Stage != StageAsk || m.Looks.Next.IsZero() {
		return nil
	}
	st := *m.State
	st.Looks = Looks{}
	all, _ := json.Marshal(st)
	return all
}
