package keep

import (
	"context"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// watchTime is how often a keeper looks at its agent. One that is killed loses what was spent in that time, and the
// request under way.
const watchTime = time.Second

// askTime is how long an agent that can be called again may go on after it has written its question down.
const askTime = time.Minute

// clocks count an agent's time, up to limits of which 0 is none.
type clocks struct {
	total, idle    time.Duration
	worked, silent time.Duration
}

// pass lets time pass, in which the agent has stirred or not, and says whether it is over. While an agent waits for a
// person its silence counts for nothing. The time limit holds on for one that stays meanwhile: writing a file must not
// lift it.
func (c *clocks) pass(d time.Duration, stirred, waiting, stays bool) error {
	switch {
	case stirred:
		c.silent = 0
	case !waiting:
		c.silent += d
	}
	if !waiting || stays {
		c.worked += d
	}
	switch {
	case c.total > 0 && c.worked >= c.total:
		return errTimedOut
	case c.idle > 0 && c.silent >= c.idle:
		return errIdle
	}
	return nil
}

// asked is what was last written down of an agent's questions.
type asked struct {
	asks bool
	text string
}

// note has a change written down, and at the next look again if that fails, as while a disk is full. An agent that
// stays while it waits can put another question in the place of the first.
func (q *asked) note(now asked, stays bool, write func() error) {
	if now.asks == q.asks && (now.text == q.text || !stays) {
		return
	}
	if write() == nil {
		*q = now
	}
}

// watch looks after the agent for as long as it runs: what it spends, how long it takes, whether it has a question. It
// keeps the session in state waiting while there is one, and tells the user once for each.
func (a *attempt) watch(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	var watching sync.WaitGroup
	watching.Go(func() {
		tick := time.NewTicker(watchTime)
		defer tick.Stop()
		waiting, known, last := false, asked{}, time.Now()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_ = a.meter.write(ctx) // tried again at the next tick
			passed := time.Since(last)
			last = last.Add(passed)
			stirred := a.heard.stirred.Swap(false)
			if err := a.clocks.pass(passed, stirred, waiting, !a.resumable()); err != nil {
				a.cancel(err)
			}
			if a.order.Interactive {
				a.lookForRest(ctx, a.door.Busy())
			}
			text, asks := a.readQuestion()
			waiting = asks
			known.note(asked{asks, text}, !a.resumable(), func() error {
				rec, tell, err := a.setWaiting(ctx, asks, text)
				if tell {
					watching.Go(func() { a.notify(ctx, rec, a.order.OnWaiting) })
				}
				return err
			})
		}
	})
	return func() { cancel(); watching.Wait() }
}

// setWaiting records whether the agent waits for a person, and says whether to tell one.
func (a *attempt) setWaiting(ctx context.Context, waiting bool, question string) (rec store.Session, tell bool,
	err error) {
	a.mu.Lock()
	a.asks = waiting
	a.mu.Unlock()
	if waiting && a.resumable() {
		// It need not stay while a person thinks: the answer starts it again.
		a.wrapUp(errAsked, askTime)
		return rec, false, nil
	}
	state, since := store.Running, time.Time{}
	if waiting {
		state, since = store.Waiting, a.Now()
	}
	rec, err = a.Store.UpdateSession(ctx, a.rec.ID, func(v *store.Session) error {
		v.State, v.Question, v.Asked = state, question, since
		return nil
	})
	switch {
	case err != nil:
		return rec, false, err
	case waiting:
		a.step("%s waits for an answer: see %s", a.rec.Agent, a.questionFile())
	default:
		a.recordRest(ctx)
		a.step("%s goes on", a.rec.Agent)
	}
	return rec, waiting, nil
}

func (k *keeper) questionFile() string {
	return filepath.Join(k.Exchange(k.rec.ID), inside.QuestionFile)
}

// readQuestion reads the file by which an agent asks; there may be one that can't be read.
func (k *keeper) readQuestion() (text string, asks bool) {
	if _, err := os.Lstat(k.questionFile()); err != nil {
		return "", false
	}
	data, err := k.ReadOut(k.rec.ID, inside.QuestionFile, session.MaxQuestion)
	if err != nil {
		return "", true
	}
	return session.CleanLines(string(data)), true
}
