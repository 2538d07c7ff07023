package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// TimeoutError says that a session did not end in the time that its user gave it.
type TimeoutError struct{ Path string }

func (e *TimeoutError) Error() string {
	return "timed out waiting for output bundle at " + e.Path +
		": wait longer with --timeout, look with `cco box logs`, or end it with `cco box kill`"
}

// await waits until a session has ended, its agent has given up, or time runs out. It believes the record, not the
// exchange directory, where an agent can write what it likes.
func (s HandOff) await(ctx context.Context, id string, o PullOptions) (store.Session, error) {
	deadline := time.NewTimer(o.Timeout)
	defer deadline.Stop()
	tick := time.NewTicker(o.Interval)
	defer tick.Stop()
	ended := s.ended(ctx, id)
	start := s.Now()
	var stays <-chan string
	for said, idle := false, false; ; {
		rec, err := s.Get(ctx, id)
		if err != nil || !rec.Live() {
			return rec, err
		}
		if words := s.ErrorText(id); words != "" && !o.Partial {
			return rec, &FailedError{ID: id, State: store.Failed, Reason: "the agent gave up", Words: words,
				Next: fmt.Sprintf("its commits come with: cco box pull %s --partial", id)}
		}
		if at := rec.State == store.Idle; at != idle {
			if idle = at; at {
				stays = s.atPrompt(ctx, rec, said, o)
			}
		}
		if !said {
			s.Report("waiting for session %s (%s, up to %s)", id, rec.State, o.Timeout)
			said = true
		} else {
			s.Report("waiting for session %s (%s, %s so far)", id, rec.State, s.Now().Sub(start).Round(time.Second))
		}
		select {
		case <-ended:
			ended = nil
		case why := <-stays:
			s.Warn("session %s is not ended: %s; leave it there with Ctrl-C, or end it with `cco box kill %[1]s`", id, why)
		case <-tick.C:
		case <-deadline.C:
			return rec, &TimeoutError{Path: s.Exchange(id) + "/" + inside.OutputBundle}
		case <-ctx.Done():
			return rec, ctx.Err()
		}
	}
}

// atPrompt is told why an agent that sits at its prompt is not ended, or nothing if it is.
func (s HandOff) atPrompt(ctx context.Context, rec store.Session, waited bool, o PullOptions) <-chan string {
	stays := make(chan string, 1)
	if o.DryRun || o.Idle == nil || !o.Idle(rec, waited) {
		s.Warn("the agent of session %s is idle: it sits at its prompt; `cco box attach %[1]s` shows it, and `cco box pull "+
			"%[1]s` ends it there and takes its work", rec.ID)
		return stays
	}
	go func() {
		// An error says that it has ended, which the wait finds out.
		if why, err := s.request(ctx, rec.ID, Request{Op: "end"}); err == nil && why != "" {
			stays <- why
		}
	}()
	return stays
}

// ended is closed when the keeper hangs up, so that a wait ends before its next look.
func (s *Service) ended(ctx context.Context, id string) <-chan struct{} {
	link, err := s.Dial(ctx, id)
	if err != nil {
		return nil
	}
	done := make(chan struct{})
	stop := context.AfterFunc(ctx, func() { _ = link.Close() })
	go func() {
		defer close(done)
		defer stop()
		_ = link.Follow(func(Event) error { return nil })
		_ = link.Close()
	}()
	return done
}

// WaitOptions say which of several sessions are waited for.
type WaitOptions struct {
	Any     bool          // until the first has ended; otherwise all
	Timeout time.Duration // 0 is without end
	Ended   func(store.Session)
	// Answered is when a question was asked that has its answer, so that nobody waits for one.
	Answered time.Time
}

// LateError says that sessions had not ended when the time to wait was over.
type LateError struct {
	After time.Duration
	Live  []store.Session
}

func (e *LateError) Error() string {
	words := fmt.Sprintf("after %s not ended:", e.After)
	for _, v := range e.Live {
		words += fmt.Sprintf(" %s (%s)", v.ID, v.State)
	}
	return words
}

// Settled says that a session gets no further by itself: it has ended, or waits for a person.
func Settled(v store.Session) bool { return !v.Live() || v.State == store.Waiting }

// lookAgain is how often waiting looks for what no keeper tells: a question, and a keeper that was killed.
const lookAgain = time.Second

// Wait waits until sessions have ended, and gives those that have, as they did. A session that waits for an answer
// counts as ended. On a terminal an agent that sits at its prompt does not: somebody may be about to type.
func (s Looking) Wait(ctx context.Context, ids []string, o WaitOptions) (ended []store.Session, err error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	woken := make(chan struct{}, 1)
	for _, id := range ids {
		if over := s.ended(ctx, id); over != nil {
			go func() {
				<-over
				select {
				case woken <- struct{}{}:
				default: // it will look at all of them anyway
				}
			}()
		}
	}
	late := make(<-chan time.Time)
	if o.Timeout > 0 {
		t := time.NewTimer(o.Timeout)
		defer t.Stop()
		late = t.C
	}
	tick := time.NewTicker(lookAgain)
	defer tick.Stop()
	said := 0
	for live := slices.Clone(ids); ; {
		var still []store.Session
		for _, id := range live {
			v, err := s.Get(ctx, id)
			if err != nil {
				return ended, err
			}
			if !Settled(v) || v.State == store.Waiting && v.Asked.Equal(o.Answered) {
				still = append(still, v)
				continue
			}
			if ended = append(ended, v); o.Ended != nil {
				o.Ended(v)
			}
		}
		if len(still) == 0 || o.Any && len(ended) > 0 {
			return ended, nil
		}
		live = live[:0]
		for _, v := range still {
			live = append(live, v.ID)
		}
		if len(live) != said {
			said = len(live)
			s.Report("waiting for %d of %s", said, unit.Count(len(ids), "session"))
		}
		select {
		case <-woken:
		case <-tick.C:
		case <-late:
			return ended, &LateError{After: o.Timeout, Live: still}
		case <-ctx.Done():
			return ended, ctx.Err()
		}
	}
}

// Outcome is the error that tells how sessions ended: nil if all are done, a *FailedError if one failed, and otherwise
// a *PendingError if one waits for a person.
func (s Looking) Outcome(list []store.Session) (worst error) {
	for _, v := range list {
		if v.State == store.Done || v.State == store.Pulled {
			continue
		}
		err := s.Failure(v)
		if as[*FailedError](err) {
			return err
		}
		if worst == nil {
			worst = err
		}
	}
	return worst
}
