package session

import (
	"context"
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
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
