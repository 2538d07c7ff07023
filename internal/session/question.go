package session

import (
	"context"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
)

// lookForQuestions is how often a keeper looks whether its agent has one.
const lookForQuestions = time.Second

// watchQuestions keeps the session in state waiting for as long as its agent has a question, and tells the user once for each.
func (k *keeper) watchQuestions(ctx context.Context) (stop func()) {
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		tick := time.NewTicker(lookForQuestions)
		defer tick.Stop()
		waiting := false
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			_, err := os.Lstat(filepath.Join(k.exchange(k.rec.ID), inside.QuestionFile))
			if asks := err == nil; asks != waiting {
				waiting = asks
				k.wait(ctx, waiting)
			}
		}
	}()
	return func() { cancel(); <-done }
}

func (k *keeper) wait(ctx context.Context, waiting bool) {
	rec, err := k.Store.UpdateSession(ctx, k.rec.ID, func(v *store.Session) error {
		v.State = store.Running
		if waiting {
			v.State = store.Waiting
		}
		return nil
	})
	if err != nil {
		return // the record is corrected when the session ends
	}
	if !waiting {
		k.step("%s goes on", k.rec.Agent)
		return
	}
	k.step("%s waits for an answer: see %s", k.rec.Agent, filepath.Join(k.exchange(k.rec.ID), inside.QuestionFile))
	k.notify(ctx, rec, k.order.OnWaiting)
}
