package cruise

import (
	"encoding/json"
	"slices"
	"time"
)

// longestWait is how long looks that find nothing are not saved.
const longestWait = time.Hour

// looks says that the phase waits between looks.
func (s *State) looks() bool {
	return s.PR != nil && slices.Contains([]Stage{StageWatch, StageAsk, StageChecks, StageMerge, StageCompare}, s.Stage)
}

// latest is the last look that was due at a time, of looks that are less and less often from one on that was due, and
// how long it was waited for.
func latest(due time.Time, pace Backoff, now time.Time) (time.Time, Backoff) {
	for {
		slower := pace.Slower()
		if slower.Interval() == pace.Interval() {
			return due.Add(now.Sub(due).Truncate(pace.last())), pace
		}
		after := due.Add(slower.Interval())
		if after.After(now) {
			return due, pace
		}
		due, pace = after, slower
	}
}

// next is when the first look after now is due, and how long it is waited for.
func next(due time.Time, pace Backoff, now time.Time) (time.Time, Backoff) {
	if now.Before(due) {
		return due, pace
	}
	due, pace = latest(due, pace, now)
	return due.Add(pace.Slower().Interval()), pace.Slower()
}

// Next is when a phase looks again, and how long it waits for that. Of the looks of a wait only the first is saved.
func (s State) Next(now time.Time) (time.Time, Backoff) {
	if s.Looks.Next.IsZero() || s.Stage != StageWatch && s.Stage != StageAsk {
		return s.Looks.Next, s.Looks.Backoff
	}
	return next(s.Looks.Next, s.Looks.Backoff, now)
}

// waitShown waits for an event, and shows until when.
func (m *machine) waitShown(wait time.Duration) {
	m.Looks.Next = m.now().Add(wait)
	m.save()
	m.awaitEvent(wait)
}

// waitSlower waits for an event, and longer the next time if nobody wants a look.
func (m *machine) waitSlower(wait time.Duration) {
	m.idle()
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
	all, err := json.Marshal(st)
	if err != nil {
		return nil
	}
	return all
}
