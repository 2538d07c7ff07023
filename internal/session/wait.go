package session

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/unit"
)

// TimeoutError says that sessions did not end in the time that their user gave them.
type TimeoutError struct{ Words string }

func (e *TimeoutError) Error() string { return e.Words }

// errLate says that the time to wait is over.
var errLate = errors.New("it is late")

// watch looks at sessions until it has seen enough: when a keeper hangs up, and again and again for what none tells.
func (s Looking) watch(ctx context.Context, ids []string, every, most time.Duration, seen func() (bool, error)) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	woken := make(chan struct{}, 1)
	for _, id := range ids {
		link, err := s.Dial(ctx, id)
		if err != nil {
			continue
		}
		context.AfterFunc(ctx, func() { _ = link.Close() })
		go func() {
			_ = link.Follow(func(Event) error { return nil })
			_ = link.Close()
			select {
			case woken <- struct{}{}:
			default: // it will look at all of them anyway
			}
		}()
	}
	late := make(<-chan time.Time)
	if most > 0 {
		late = time.After(most)
	}
	tick := time.NewTicker(every)
	defer tick.Stop()
	for {
		if enough, err := seen(); enough || err != nil {
			return err
		}
		select {
		case <-woken:
		case <-tick.C:
		case <-late:
			return errLate
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Await waits until a session has ended, its agent has given up, or time runs out. It believes the record, not the
// exchange directory, where an agent can write what it likes.
func (s HandOff) Await(ctx context.Context, id string, o PullOptions) (rec store.Session, err error) {
	start, said, idle := s.Now(), false, false
	var stays <-chan string
	err = s.Looking().watch(ctx, []string{id}, o.Interval, max(1, o.Timeout), func() (bool, error) {
		if rec, err = s.Get(ctx, id); err != nil || !rec.Live() {
			return true, err
		}
		if words := s.ErrorText(id); words != "" && !o.Partial {
			return true, &FailedError{ID: id, State: store.Failed, Reason: "the agent gave up", Words: words,
				Next: fmt.Sprintf("its commits come with: cco box pull %s --partial", id)}
		}
		if at := rec.State == store.Idle; at != idle {
			if idle = at; at {
				stays = s.atPrompt(ctx, rec, said, o)
			}
		}
		select {
		case why := <-stays:
			s.Warn("session %s is not ended: %s; leave it there with Ctrl-C, or end it with `cco box kill %[1]s`", id, why)
		default:
		}
		span := "up to " + o.Timeout.String()
		if said {
			span = s.Now().Sub(start).Round(time.Second).String() + " so far"
		}
		s.Report("waiting for session %s (%s, %s)", id, rec.State, span)
		said = true
		return false, nil
	})
	if errors.Is(err, errLate) {
		err = &TimeoutError{"timed out waiting for output bundle at " + s.Exchange(id) + "/" + inside.OutputBundle +
			": wait longer with --timeout, look with `cco box logs`, or end it with `cco box kill`"}
	}
	return rec, err
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

// WaitOptions say which of several sessions are waited for.
type WaitOptions struct {
	Any     bool          // until the first has ended; otherwise all
	Timeout time.Duration // 0 is without end
	Ended   func(store.Session)
	// Answered is when a question was asked that has its answer, so that nobody waits for one.
	Answered time.Time
}

// Settled says that a session gets no further by itself: it has ended, or waits for a person.
func Settled(v store.Session) bool { return !v.Live() || v.State == store.Waiting }

// lookAgain is how often waiting looks for what no keeper tells: a question, and a keeper that was killed.
const lookAgain = time.Second

// Wait waits until sessions have ended, and gives those that have, as they did. A session that waits for an answer
// counts as ended. On a terminal an agent that sits at its prompt does not: somebody may be about to type.
func (s Looking) Wait(ctx context.Context, ids []string, o WaitOptions) (ended []store.Session, err error) {
	live := slices.Clone(ids)
	said, words := 0, ""
	err = s.watch(ctx, ids, lookAgain, o.Timeout, func() (bool, error) {
		words = ""
		var still []string
		for _, id := range live {
			v, err := s.Get(ctx, id)
			if err != nil {
				return true, err
			}
			if !Settled(v) || v.State == store.Waiting && v.Asked.Equal(o.Answered) {
				still, words = append(still, id), words+fmt.Sprintf(" %s (%s)", v.ID, v.State)
				continue
			}
			if ended = append(ended, v); o.Ended != nil {
				o.Ended(v)
			}
		}
		if live = still; len(live) == 0 || o.Any && len(ended) > 0 {
			return true, nil
		}
		if len(live) != said {
			said = len(live)
			s.Report("waiting for %d of %s", said, unit.Count(len(ids), "session"))
		}
		return false, nil
	})
	if errors.Is(err, errLate) {
		err = &TimeoutError{fmt.Sprintf("after %s not ended:%s", o.Timeout, words)}
	}
	return ended, err
}
