package session

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/store"
)

// WaitOptions say which of several sessions are waited for.
type WaitOptions struct {
	Any     bool          // until the first has ended; otherwise all
	Timeout time.Duration // 0 is without end
	Ended   func(store.Session)
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
			if !Settled(v) {
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
			s.Report("waiting for %d of %d sessions", said, len(ids))
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
