package session

import (
	"context"
	"slices"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/store"
)

// CanPush refuses what a push would refuse, before it makes anything. If a box is given it may not be there yet, so
// that nothing looks into it.
func (s HandOff) CanPush(ctx context.Context, o PushOptions, b *box.Box) error {
	repo, _, _, err := s.check(ctx, o)
	var d box.Driver
	if err == nil && b == nil {
		b, d, err = s.Boxes.Ready(ctx, o.Box)
	}
	if err != nil {
		return err
	}
	rec := store.Session{Box: b.Name, Backend: b.Backend, Agent: o.Agent, Model: o.Model, Repo: repo.Top}
	return s.ready(ctx, rec, b, d, o.Limits)
}

// CanRun refuses what runs of agents in a box would refuse later, one after the other. If the box is given it may not
// be there yet, as for CanPush.
func (s HandOff) CanRun(ctx context.Context, name string, b *box.Box, repo string, agents []string) (err error) {
	var d box.Driver
	if b == nil {
		if b, d, err = s.Boxes.Ready(ctx, name); err != nil {
			return err
		}
	}
	if b.Spec.NoKernel() {
		return Unguarded(b.Name)
	}
	slices.Sort(agents)
	for _, a := range slices.Compact(agents) {
		rec := store.Session{Box: b.Name, Backend: b.Backend, Agent: a, Repo: repo}
		if err := s.ready(ctx, rec, b, d, Limits{}); err != nil {
			return err
		}
	}
	return nil
}

// Unguarded says that a box is none for phases.
func Unguarded(name string) error {
	return &StateError{Why: "in box " + name + " agents run as you: a phase needs a box in which reviewers can't write"}
}

// ready refuses what the keeper would refuse later: an agent that can't reach its model, has no money for it, or isn't
// there. Without a driver nothing looks for it.
func (s HandOff) ready(ctx context.Context, rec store.Session, b *box.Box, d box.Driver, l Limits) error {
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
		if _, err := s.Afford(ctx, l); err != nil {
			return err
		}
	}
	if d == nil {
		return nil
	}
	return s.hasProgram(ctx, rec, a, b, d) // last: it may have to be installed
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
	_, leave, err := s.Place(ctx, b, d, rec.ID)
	if err == nil {
		err = LookFor(ctx, a, b, d, rec.ID)
	}
	if err != nil {
		leave()
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
