package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"slices"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// CanPush refuses what needs no look into the box, which may not be there yet.
func (s HandOff) CanPush(ctx context.Context, o PushOptions, b *box.Box) error {
	repo, _, _, err := s.check(ctx, o)
	if err != nil {
		return err
	}
	return s.canAsk(ctx, store.Session{Box: b.Name, Backend: b.Backend, Agent: o.Agent, Repo: repo.Top}, b, o.Limits)
}

// CanBegin refuses what a push to a box that runs would refuse, before it makes anything.
func (s HandOff) CanBegin(ctx context.Context, o PushOptions) error {
	repo, _, _, err := s.check(ctx, o)
	if err != nil {
		return err
	}
	b, d, err := s.Boxes.Ready(ctx, o.Box)
	if err != nil {
		return err
	}
	rec := store.Session{Box: b.Name, Backend: b.Backend, Agent: o.Agent, Model: o.Model, Repo: repo.Top}
	return s.ready(ctx, rec, b, d, o.Limits)
}

// ready refuses what the keeper would refuse later: an agent that isn't there, or can't reach its model.
func (s HandOff) ready(ctx context.Context, rec store.Session, b *box.Box, d box.Driver, l Limits) error {
	if err := s.canAsk(ctx, rec, b, l); err != nil {
		return err
	}
	a, err := s.Agents.Find(rec.Agent)
	if err != nil {
		return err
	}
	return s.hasProgram(ctx, rec, a, b, d) // last: it may have to be installed
}

// canAsk refuses an agent that can't reach its model, or has no money for it.
func (s HandOff) canAsk(ctx context.Context, rec store.Session, b *box.Box, l Limits) error {
	a, err := s.Agents.Find(rec.Agent)
	if err != nil {
		return err
	}
	if s.Door != nil {
		if _, err := s.Door(ctx, rec, b); err != nil {
			return err
		}
	}
	if a.Provider() != "" {
		_, err = s.Afford(ctx, l)
	}
	return err
}

// hasProgram says what to install before anything is made, instead of failing with "not found" in the box.
func (s HandOff) hasProgram(ctx context.Context, rec store.Session, a agent.Adapter, b *box.Box, d box.Driver) error {
	path, _, err := s.FindProgram(ctx, a, b, d)
	if err != nil || path != "" || a.Binary() == "" {
		return err
	}
	_, err = s.ReadOrder(rec.ID)
	if rec.ID == "" || err != nil {
		return LookFor(ctx, a, b, d, "")
	}
	// A pull has removed the directory without which the session's home can't be entered.
	_, gone := os.Lstat(s.Exchange(rec.ID))
	if _, err = d.Prepare(ctx, b, rec.ID); err == nil {
		err = LookFor(ctx, a, b, d, rec.ID)
	}
	if err != nil && errors.Is(gone, fs.ErrNotExist) {
		_ = os.Remove(s.Exchange(rec.ID)) // not if anything is in it by now
	}
	return err
}

// LookFor looks for an agent's program in a box, in the environment of agents, where it will be looked up; the session
// is the one whose home it may be in, or "".
func LookFor(ctx context.Context, a agent.Adapter, b *box.Box, d box.Driver, session string) error {
	err := d.Run(ctx, b, box.Exec{Session: session,
		Argv: []string{"/bin/sh", "-c", `command -v "$0" >/dev/null`, a.Binary()}})
	if proc.Code(err) > 0 {
		return agent.Missing(a, b.Name)
	}
	return err
}

// CanRun refuses what runs of agents in a box would refuse later, one after the other.
func (s HandOff) CanRun(ctx context.Context, name, repo string, agents []string) error {
	b, d, err := s.Boxes.Ready(ctx, name)
	if err != nil {
		return err
	}
	return s.each(b, repo, agents, func(rec store.Session) error { return s.ready(ctx, rec, b, d, Limits{}) })
}

// CanAsk is CanRun without a look into the box, which may not be there yet.
func (s HandOff) CanAsk(ctx context.Context, b *box.Box, repo string, agents []string) error {
	return s.each(b, repo, agents, func(rec store.Session) error { return s.canAsk(ctx, rec, b, Limits{}) })
}

func (s HandOff) each(b *box.Box, repo string, agents []string, may func(store.Session) error) error {
	if b.Spec.NoKernel() {
		return &UnguardedError{Box: b.Name}
	}
	slices.Sort(agents)
	for _, a := range slices.Compact(agents) {
		if err := may(store.Session{Box: b.Name, Backend: b.Backend, Agent: a, Repo: repo}); err != nil {
			return err
		}
	}
	return nil
}

// UnguardedError says that a box is none for phases.
type UnguardedError struct{ Box string }

func (e *UnguardedError) Error() string {
	return fmt.Sprintf("in box %s agents run as you: a phase needs a box in which reviewers can't write", e.Box)
}
