package keep

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// lookForQuestions is how often a keeper looks whether its agent has one.
const lookForQuestions = time.Second

// askTime is how long an agent that can be called again may go on after it has written its question down.
const askTime = time.Minute

// watchQuestions keeps the session in state waiting for as long as its agent has a question, and tells the user once
// for each.
func (a *attempt) watchQuestions(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lookForQuestions)
		defer tick.Stop()
		waiting, question := false, ""
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			if a.order.Interactive {
				a.lookForRest(ctx, a.door.Busy())
			}
			_, err := os.Lstat(filepath.Join(a.Exchange(a.rec.ID), inside.QuestionFile))
			asks, text := err == nil, ""
			if asks {
				text = a.readQuestion()
			}
			// One that stays while it waits can put another question in the place of the first.
			if asks != waiting || text != question && !a.resumable() {
				waiting, question = asks, text
				a.setWaiting(ctx, waiting)
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (a *attempt) setWaiting(ctx context.Context, waiting bool) {
	a.mu.Lock()
	a.asks = waiting
	a.mu.Unlock()
	clocks := []*stopwatch{a.idle}
	if a.resumable() {
		// It is ended soon in any case. The time limit also holds for an agent that stays while it waits: writing a file must
		// not lift the limit.
		clocks = append(clocks, a.total)
	}
	for _, c := range clocks {
		if waiting {
			c.hold()
		} else {
			c.run()
		}
	}
	if waiting && a.resumable() {
		// It need not stay while a person thinks: the answer starts it again.
		a.wrapUp(errAsked, askTime)
		return
	}
	state, question, asked := store.Running, "", time.Time{}
	if waiting {
		state, question, asked = store.Waiting, a.readQuestion(), a.Now()
	}
	rec, err := a.Store.UpdateSession(ctx, a.rec.ID, func(v *store.Session) error {
		v.State, v.Question, v.Asked = state, question, asked
		return nil
	})
	if err != nil {
		return // the record is corrected when the session ends
	}
	if !waiting {
		a.recordRest(ctx)
		a.step("%s goes on", a.rec.Agent)
		return
	}
	a.step("%s waits for an answer: see %s", a.rec.Agent, filepath.Join(a.Exchange(a.rec.ID), inside.QuestionFile))
	a.notify(ctx, rec, a.order.OnWaiting)
}

// readQuestion reads the question of an agent that is still running.
func (a *attempt) readQuestion() string {
	data, err := a.ReadOut(a.rec.ID, inside.QuestionFile, session.MaxQuestion)
	if err != nil {
		return ""
	}
	return session.CleanLines(string(data))
}
