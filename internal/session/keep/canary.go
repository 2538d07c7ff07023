package keep

import (
	"context"

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
	if err := canary.Take(ctx, repo, picture, canary.Own{Session: k.rec.ID, Box: k.rec.Box}, k.Now()); err != nil {
		return nil, err
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
		for _, f := range r.Findings {
			kind := session.KindErr
			if f.New {
				kind = session.KindStep
			}
			k.transcript.Add(kind, "canary: "+f.Words)
		}
		k.step("%s", session.FoundWords(*r))
	}, nil
}
