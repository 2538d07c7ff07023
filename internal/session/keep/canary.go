package keep

import (
	"context"
	"fmt"

	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/session"
)

// watchHost takes a picture of the user's repository before an agent runs that only the guard keeps from it. The
// function that it returns tells what changed by the agent's end.
func (k *keeper) watchHost(ctx context.Context) (tell func(), err error) {
	if !k.box.Spec.NoKernel() {
		return func() {}, nil
	}
	repo, err := k.Open(ctx, k.rec.Repo)
	if err != nil {
		return nil, err
	}
	picture := k.NewPicture(k.rec.ID)
	before, err := canary.Take(ctx, repo)
	if err == nil {
		err = canary.Report{Session: k.rec.ID, Box: k.rec.Box, Repo: k.rec.Repo, Since: k.Now(), Before: before}.Keep(picture)
	}
	if err != nil {
		return nil, fmt.Errorf("look at %s before the agent starts: %w", k.rec.Repo, err)
	}
	return func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), session.PublishTime)
		defer cancel()
		r, err := k.Concluded(ctx, k.rec, picture)
		if err != nil {
			// The picture stays: `cco guard canary` compares.
			k.step("your repository could not be compared with what it was before: %v", err)
			return
		}
		if r == nil {
			return
		}
		for _, m := range r.Moved {
			kind := session.KindErr
			if m.New() {
				kind = session.KindStep
			}
			k.transcript.Add(kind, "canary: "+m.Words())
		}
		k.step("%s", session.FoundWords(*r))
	}, nil
}
