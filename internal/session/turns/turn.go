// Package turns gives phases their workspaces, and takes the turns of their agents.
package turns

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Turns is the hand-off as phases need it.
type Turns struct{ session.HandOff }

// Of takes turns.
func Of(s *session.Service) Turns { return Turns{s.HandOff()} }

// Turn is one agent's turn in a phase. Its key names it for ever: a turn that has been taken is not taken again.
type Turn struct {
	Key       string
	Phase     string
	Workspace string // the session that owns the workspace
	Agent     string
	Model     string
	Prompt    string
	Plan      string // what an agent without a model carries out; never text by others
	Title     string
	Look      bool   // it only looks: several can do so at once, each with a session of its own
	Message   string // for a commit of what it leaves uncommitted
	Env       []string
	Run       session.Run
	// Stop ends the turn early when it is closed. The agent is killed and its work is kept.
	Stop <-chan struct{}
}

// Taken is how a turn went.
type Taken struct {
	Session store.Session
	Answer  string      // the agent's last words
	Spent   store.Spend // by this turn
	// Transient says that the agent ended for a reason that passes: its model is down or overloaded.
	Transient bool
}

// maxTurns is how often a turn is begun whose keeper was killed.
const maxTurns = 4

// Take runs an agent's turn and waits for it. If cco is killed meanwhile the turn goes on, and Take finds it again.
func (s Turns) Take(ctx context.Context, t Turn) (Taken, error) {
	id := t.Workspace
	if t.Look {
		var err error
		if id, err = s.lookID(ctx, t); err != nil {
			return Taken{}, err
		}
	}
	defer s.killWhenStopped(ctx, id, t.Stop)()
	for try := 1; ; try++ {
		if _, err := s.begun(ctx, id, t); err != nil {
			return Taken{}, err
		}
		rec, err := s.Await(ctx, id, session.PullOptions{Timeout: forever, Interval: time.Second, Partial: true})
		if err != nil {
			return Taken{Session: rec}, err
		}
		if rec.Cause == store.Interrupted && try < maxTurns {
			s.unlock(ctx, rec)
			if rec, err = s.beginTurn(ctx, rec, t); err != nil {
				return Taken{Session: rec}, err
			}
			continue
		}
		order, err := s.ReadOrder(id)
		if err != nil {
			return Taken{Session: rec}, err
		}
		answer, last, err := s.Looking().LastWords(ctx, id)
		return Taken{Session: rec, Answer: answer, Spent: rec.Spent.Sub(order.Before), Transient: last.Transient}, err
	}
}

// ErrStopped says that a turn was stopped before it began.
var ErrStopped = errors.New("it was stopped before it began")

func stopped(stop <-chan struct{}) bool {
	select {
	case <-stop:
		return true
	default:
		return false
	}
}

// killWhenStopped kills a turn's agent when the turn is stopped, until the returned function is called. It tries again:
// the keeper may be just starting.
func (s Turns) killWhenStopped(ctx context.Context, id string, stop <-chan struct{}) func() {
	ctx, cancel := context.WithCancel(ctx)
	over := make(chan struct{})
	go func() {
		defer close(over)
		select {
		case <-ctx.Done():
			return
		case <-stop:
		}
		tick := time.NewTicker(100 * time.Millisecond)
		defer tick.Stop()
		for s.Kill(ctx, id) != nil {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
		}
	}()
	return func() { cancel(); <-over }
}

// unlock removes locks that a killed git has left in a workspace: the next git would take them for another's and fail.
// If it can't, the agent sees them.
func (s Turns) unlock(ctx context.Context, rec store.Session) {
	b, d, err := s.readyBox(ctx, rec.Box)
	if err != nil || d.Halt(ctx, b, rec.ID) != nil || s.Forget(rec.ID) != nil {
		return
	}
	_ = d.Run(ctx, b, box.Exec{Session: rec.ID, Own: true, Repo: rec.RepoKey,
		Argv: []string{"find", ".git", "-name", "*.lock", "-type", "f", "-delete"}})
}

// forever is longer than any turn, which its own limits bound.
const forever = 30 * 24 * time.Hour

// begun finds a turn that was begun, or begins it.
func (s Turns) begun(ctx context.Context, id string, t Turn) (store.Session, error) {
	rec, err := s.Get(ctx, id)
	if _, missing := errors.AsType[*store.NotFoundError](err); missing && t.Look {
		if stopped(t.Stop) {
			return rec, ErrStopped
		}
		return s.newLook(ctx, id, t)
	}
	if err != nil {
		return rec, err
	}
	order, err := s.ReadOrder(id)
	if err != nil {
		return rec, err
	}
	if order.Key == t.Key {
		return rec, nil
	}
	if rec.Live() {
		// Its caller is gone. Two agents never write at once.
		if err := s.Kill(ctx, id); err != nil {
			return rec, err
		}
		if rec, err = s.Get(ctx, id); err != nil {
			return rec, err
		}
	}
	if stopped(t.Stop) {
		return rec, ErrStopped
	}
	return s.beginTurn(ctx, rec, t)
}

// beginTurn starts a keeper for a turn in a session that is there.
func (s Turns) beginTurn(ctx context.Context, rec store.Session, t Turn) (store.Session, error) {
	if _, _, err := s.readyBox(ctx, rec.Box); err != nil {
		return rec, err
	}
	was, err := s.ReadOrder(rec.ID)
	if err != nil {
		return rec, err
	}
	before := rec.Spent
	if was.Key == t.Key {
		before = was.Before // it is the same turn, begun again
	}
	o := session.PushOptions{Run: t.Run, Agent: t.Agent, Model: t.Model}
	return s.StartAgain(ctx, rec, o, func(o *session.Order, _ *git.Repo) (err error) {
		o.Again, o.Before = true, before
		o.Key, o.Phase, o.Env, o.Message = t.Key, t.Phase, t.Env, t.Message
		o.Title, o.Prompt, o.Fresh = t.Title, t.Prompt, true
		o.Plan, err = s.PlacePlan(rec.ID, []byte(t.Plan))
		return err
	})
}

// newLook records a session that looks at another's workspace, and begins its turn.
func (s Turns) newLook(ctx context.Context, id string, t Turn) (store.Session, error) {
	rec, err := s.Get(ctx, t.Workspace)
	if err != nil {
		return rec, err
	}
	was, err := s.ReadOrder(t.Workspace)
	if err != nil {
		return rec, err
	}
	rec = store.Session{ID: id, Box: rec.Box, Backend: rec.Backend, Agent: t.Agent, Model: t.Model, Repo: rec.Repo,
		RepoKey: rec.RepoKey, Branch: rec.Branch, Base: rec.Base, Origin: rec.Origin, Title: t.Title, State: store.Done,
		Created: s.Now()}
	order := session.Order{Session: id, Format: was.Format, Name: was.Name, Email: was.Email, View: t.Workspace}
	if err := errors.Join(os.MkdirAll(s.Dir(id), 0o700), s.WriteOrder(order), s.Store.AddSession(ctx, rec)); err != nil {
		return rec, err
	}
	return s.beginTurn(ctx, rec, t)
}

// lookID is the session of a turn that only looks. It follows from the turn's key, so that a turn is found again, also
// one that has no key yet because it could not begin; if another session has that id, the next free one is taken.
func (s Turns) lookID(ctx context.Context, t Turn) (string, error) {
	for n := range 100 {
		text := t.Key
		if n > 0 {
			text = fmt.Sprintf("%s %d", t.Key, n)
		}
		sum := sha256.Sum256([]byte(text))
		id := hex.EncodeToString(sum[:4])
		if o, err := s.ReadOrder(id); err == nil && (o.Key == t.Key || o.Key == "" && o.View == t.Workspace) {
			return id, nil
		}
		if known, err := s.Known(ctx, id); err != nil || !known {
			return id, err
		}
	}
	return "", errors.New("no free session id for turn " + t.Key)
}
