package keep

import (
	"context"
	"path/filepath"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/tree"
)

// traceFile is where git writes down the agent's commands, in the exchange directory because both sides see that.
const traceFile = "git-trace.jsonl"

// traceEnv makes git record the agent's commands, if the canary will need them.
func (k *keeper) traceEnv() []string {
	if _, shared := k.drv.(box.Sharer); !shared {
		return nil
	}
	return canary.TraceEnv(filepath.Join(k.place.Exchange, traceFile))
}

// watchHost records the user's repository before an agent runs in a box that shares it. The function that it returns
// compares it after the agent's end, and fails the session if anything else than its own has changed.
func (k *keeper) watchHost(ctx context.Context) (compare func(ending) ending, err error) {
	if _, shared := k.drv.(box.Sharer); !shared {
		return func(e ending) ending { return e }, nil
	}
	repo, err := git.Open(ctx, k.box.Spec.Repo)
	if err != nil {
		return nil, err
	}
	// The changes of an earlier run were examined then.
	if err := tree.Remove(filepath.Join(k.Exchange(k.rec.ID), traceFile)); err != nil {
		return nil, err
	}
	own := canary.Own{
		ID: k.rec.ID, Branch: "cco/" + k.rec.ID, Workspace: k.place.Workspace, Stash: true,
		Trace: filepath.Join(k.Exchange(k.rec.ID), traceFile),
	}
	after, err := canary.Watch(ctx, repo, canary.Dir(k.box.Dir, k.rec.ID), own)
	if err != nil {
		return nil, err
	}
	return func(end ending) ending {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), session.PublishTime)
		defer cancel()
		r, err := canary.Report{}, k.drv.Halt(ctx, k.box, k.rec.ID)
		if err == nil {
			own, err = k.Peers(ctx, own, k.rec)
		}
		if err == nil {
			r, err = after(ctx, own, k.Now())
		}
		if err != nil {
			// The record from before the run stays: the next command that uses the box compares.
			end.Canary = "your repository could not be compared with what it was before: " + err.Error()
			return end
		}
		k.reportFindings(r)
		if r.Frozen {
			end.Canary = session.FoundWords(r)
		}
		return end
	}, nil
}

// reportFindings puts findings where people look: the transcript and the guard's log.
func (k *keeper) reportFindings(r canary.Report) {
	for _, f := range r.Findings {
		if f.Ordinary {
			k.step("meanwhile: %s (%s)", f.Words, f.Why)
			continue
		}
		k.transcript.Add(session.KindErr, "canary: "+f.Words)
	}
	if err := k.LogFindings(r, k.rec); err != nil {
		k.step("the canary's findings are not logged: %v", err)
	}
}
