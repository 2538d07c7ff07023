package cruise

import (
	"context"
	"reflect"
	"slices"
	"time"
)

// longestWait is how long a phase waits at most until it looks itself again, and saves that.
const longestWait = time.Hour

// Wait is a wait of a phase for which a look has found nothing to do. The request is looked at meanwhile, less and less
// often, and none of that is saved: a hundred phases that wait for days would do little else than write down that
// nothing happened.
type Wait struct {
	Look  LookIn
	Known News      // what there was to see
	Due   time.Time // when to look first
	Pace  Backoff   // how long that is waited for
	Until time.Time // the first look after this ends the wait
}

// looks says that the phase waits between looks.
func (s *State) looks() bool {
	return s.PR != nil && slices.Contains([]Stage{StageWatch, StageAsk, StageChecks, StageMerge, StageCompare}, s.Stage)
}

// Longest is how long an engine waits for an event: longer than the looks take.
func (w Wait) Longest() time.Duration { return max(w.Until.Sub(w.Due), 0) + 3*w.Pace.last() }

// sleep says whether the time has passed before the context ended.
func sleep(ctx context.Context, d time.Duration) bool {
	select {
	case <-time.After(d):
		return true
	case <-ctx.Done():
		return false
	}
}

// Watch looks until there is reason to end the wait: there is something else to see than is known, a look fails, the
// machine was away, or this was the last look. Last is when a look found nothing new.
func (w Wait) Watch(ctx context.Context, clock func() time.Time,
	look func(context.Context) (News, error)) (last time.Time) {
	for since := w.Due; ; since = last {
		now := clock()
		due, _ := next(w.Due, w.Pace, now)
		if !sleep(ctx, min(due.Sub(now), w.Pace.last())) { // a clock may be set back
			return last
		}
		news, err := look(ctx)
		if ctx.Err() != nil {
			return last
		}
		now = clock().UTC().Round(0)
		away := now.Sub(since) > 2*w.Pace.last() // since Due at first: what an earlier process saw is not known
		if err != nil || away || !w.Known.same(news) {
			return last
		}
		if last = now; !now.Before(w.Until) {
			return last
		}
	}
}

// same says whether a later look has found nothing new.
func (n News) same(later News) bool {
	same := len(later.Comments) == 0 && n.Updated.Equal(later.Updated)
	n.Comments, later.Comments = nil, nil
	n.Updated, later.Updated = time.Time{}, time.Time{}
	return same && reflect.DeepEqual(n, later)
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
	m.showWait(wait)
	m.awaitEvent(wait)
}

func (m *machine) showWait(wait time.Duration) {
	m.Looks.Next = m.now().Add(wait)
	m.save()
}

// waitSlower waits for an event, and longer the next time if nobody wants a look.
func (m *machine) waitSlower(wait time.Duration) {
	m.idle()
	if m.waitShown(wait); !m.asked {
		m.Looks.Backoff = m.Looks.Backoff.Slower()
	}
}

// waitLooking is waitShown for a phase whose look has found nothing to do.
func (m *machine) waitLooking() {
	wait := m.Looks.Backoff.Interval()
	if m.known == nil || m.Waiting.Trouble != "" || m.unsure() {
		m.waitShown(wait)
		return
	}
	m.showWait(wait)
	w := Wait{Look: m.lookIn(), Known: *m.known, Due: m.Looks.Next, Pace: m.Looks.Backoff,
		Until: m.Looks.Next.Add(longestWait)}
	if idle := m.LastActivity.Add(m.Spec.Timeout); m.Spec.Timeout > 0 && idle.Before(w.Until) {
		w.Until = idle
	}
	e, looked, err := m.Await(w)
	leaveOn(err)
	if looked.After(m.Looks.Last) {
		m.Looks.Last = looked
		_, m.Looks.Backoff = latest(w.Due, w.Pace, looked)
	}
	if e != nil {
		m.handleEvent(e)
	}
}
