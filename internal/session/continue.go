package session

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
)

// ContinuePrompt is the prompt of an agent that is started again after an interruption.
const ContinuePrompt = "You were interrupted. Go on with the plan where you left off."

// resume lets an agent go on in the workspace of an earlier session, with its plan or a new one.
func (s HandOff) resume(ctx context.Context, o PushOptions) (store.Session, error) {
	id, err := s.Resolve(ctx, o.Resume)
	if err != nil {
		return store.Session{}, err
	}
	rec, err := s.AtRest(ctx, id)
	if err != nil {
		return rec, err
	}
	o = o.like(rec)
	if _, err := s.Agents.Find(o.Agent); err != nil {
		return rec, err
	}
	return s.StartAgain(ctx, rec, o, func(order *Order, repo *git.Repo) error {
		if o.Plan == "" && o.Message == "" {
			// The conversation is resumed where there is one; another agent has none.
			order.Fresh = o.Agent != rec.Agent
			if order.Again && rec.CLISession != "" && !order.Fresh {
				order.Prompt = ContinuePrompt
			}
			return nil
		}
		p, err := s.findPlan(ctx, repo, git.Head{Branch: rec.Branch, Commit: rec.Base}, o)
		if err != nil {
			return err
		}
		p.rel = "" // it always travels as a file: the workspace has its own commits by now
		order.Title, order.Fresh = title(p.text), o.Agent != rec.Agent
		order.Plan, err = s.placePlan(rec.ID, p)
		return err
	})
}

// StartAgain starts a keeper for a session that has ended, after change has said what is new about its order.
func (s HandOff) StartAgain(ctx context.Context, rec store.Session, o PushOptions,
	change func(*Order, *git.Repo) error) (store.Session, error) {
	if err := s.removed(ctx, rec); err != nil {
		return rec, err
	}
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err != nil {
		return rec, err
	}
	order, err := s.ReadOrder(rec.ID)
	if err != nil {
		return rec, err
	}
	repo, err := s.Repository(ctx, rec, Where{Dir: o.Dir})
	if err != nil {
		return rec, err // its restrictions could not be read, and no work could come back to it
	}
	asked := rec
	asked.Repo = repo.Top
	asked.Agent, asked.Model = o.Agent, o.Model
	if err := s.ready(ctx, asked, b, d, o.Limits); err != nil {
		return rec, err
	}
	lock, err := s.LockSoon(ctx, rec.ID)
	if err != nil {
		return rec, err
	}
	defer func() { _ = lock.Close() }()
	// Another process may have been faster: a decision made on the old record must not be applied to the new one.
	if now, err := s.Store.Session(ctx, rec.ID); err != nil || now.State != rec.State ||
		!now.Finished.Equal(rec.Finished) {
		return now, errors.Join(err, &BusyError{ID: rec.ID, What: "push or answer"})
	}

	order.Run = s.shownAs(o)
	order.Prompt, order.Asked, order.Fresh = "", "", false
	order.Key, order.Message, order.Env = "", "", nil
	// A session that never got as far as its clone starts from the beginning.
	order.Again = !rec.Started.IsZero()
	if err := s.ClearExchange(rec.ID); err != nil {
		return rec, err
	}
	titled := rec.Title
	if err := change(&order, repo); err != nil {
		return rec, err
	}
	if order.Title != "" {
		titled = order.Title
	}
	if !order.Again && !order.Shallow {
		if err := s.sendAll(ctx, rec, Where{Dir: o.Dir}); err != nil {
			return rec, fmt.Errorf("push: %w", err)
		}
	}
	if err := s.WriteOrder(order); err != nil {
		return rec, err
	}
	rec, err = s.Store.UpdateSession(ctx, rec.ID, func(v *store.Session) error {
		v.State, v.Cause, v.Reason = store.Created, "", ""
		v.ExitCode = 0
		v.Agent, v.Model, v.Repo = o.Agent, o.Model, repo.Top
		v.Plan, v.Title = order.Plan, titled
		v.Question, v.Asked, v.Finished = "", time.Time{}, time.Time{}
		if order.Fresh {
			v.CLISession, v.CLITotal = "", ""
		}
		return nil
	})
	if err != nil {
		return rec, err
	}
	return rec, s.spawn(rec.ID, lock)
}

// ClearExchange removes the files of the last run, so that a wait can't mistake them for this run's.
func (s HandOff) ClearExchange(id string) error {
	if err := s.reopen(id); err != nil {
		return err
	}
	return s.Clear(id, inside.ResultFile, inside.ErrorFile, inside.OutputBundle, inside.RestBundle, inside.QuestionFile,
		inside.AnswerFile)
}

// AtRest is a session in which nothing runs.
func (s HandOff) AtRest(ctx context.Context, id string) (store.Session, error) {
	rec, err := s.Get(ctx, id)
	if err == nil && rec.Live() {
		err = &StateError{ID: id, State: rec.State, Why: "it is still at work"}
	}
	return rec, err
}
