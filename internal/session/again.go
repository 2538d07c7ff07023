package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
)

// again lets an agent go on in the workspace of an earlier session, with its plan or a new one.
func (s *Service) again(ctx context.Context, o PushOptions) (store.Session, error) {
	rec, err := s.Get(ctx, o.Resume)
	if err != nil {
		return rec, err
	}
	if rec.Live() {
		return rec, &StateError{ID: rec.ID, State: rec.State, Why: "it is still at work"}
	}
	if _, err := agent.Find(o.Agent); err != nil {
		return rec, err
	}
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err != nil {
		return rec, err
	}
	if err := s.Thawed(ctx, b, d); err != nil {
		return rec, err
	}
	order, err := s.readOrder(rec.ID)
	if err != nil {
		return rec, &StateError{ID: rec.ID, State: rec.State, Why: "its workspace was removed"}
	}
	lock, err := s.keeperLock(rec.ID)
	if errors.Is(err, errLocked) {
		return rec, &BusyError{ID: rec.ID, What: "push or pull"}
	}
	if err != nil {
		return rec, err
	}
	defer func() { _ = lock.Close() }()

	order.Interactive, order.Cols, order.Rows, order.Timeout = o.Interactive, o.Cols, o.Rows, o.Timeout
	order.OnDone, order.OnWaiting, order.PlainGit = o.OnDone, o.OnWaiting, o.PlainGit
	// A session that never got as far as its clone starts from the beginning.
	order.Again = !rec.Started.IsZero()
	if err := s.clearExchange(rec.ID); err != nil {
		return rec, err
	}
	if o.Plan != "" || o.Message != "" {
		p, err := s.planAgain(ctx, rec, o)
		if err != nil {
			return rec, err
		}
		if order.Plan, err = s.placePlan(rec.ID, b, d, p); err != nil {
			return rec, err
		}
		rec.Title = title(p.text)
	}
	if !order.Again && !order.Shallow {
		if err := s.sendAll(ctx, rec); err != nil {
			return rec, fmt.Errorf("push: %w", err)
		}
	}
	if err := s.writeOrder(order); err != nil {
		return rec, err
	}
	rec, err = s.Store.UpdateSession(ctx, rec.ID, func(v *store.Session) error {
		v.State, v.Reason, v.ExitCode, v.Agent, v.Model, v.Plan, v.Title = store.Created, "", 0, o.Agent, o.Model, order.Plan, rec.Title
		return nil
	})
	if err != nil {
		return rec, err
	}
	return rec, s.spawn(rec.ID, lock)
}

// planAgain finds a new plan for an old workspace. It always travels as a file: the workspace has its own commits by now.
func (s *Service) planAgain(ctx context.Context, rec store.Session, o PushOptions) (plan, error) {
	repo, err := git.Open(ctx, o.Dir)
	if err != nil {
		return plan{}, err
	}
	p, err := s.findPlan(ctx, repo, git.Head{Branch: rec.Branch, Commit: rec.Base}, o)
	p.rel = ""
	return p, err
}

// clearExchange removes what the last run said, so that a wait can't take it for this run's answer.
func (s *Service) clearExchange(id string) error {
	if err := os.MkdirAll(s.exchange(id), 0o700); err != nil {
		return err
	}
	for _, f := range []string{inside.ResultFile, inside.ErrorFile, inside.OutputBundle, inside.RestBundle} {
		if err := os.RemoveAll(filepath.Join(s.exchange(id), f)); err != nil {
			return err
		}
	}
	return nil
}
