package app

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
)

// Enter runs a program in a box, or where a session of it works, with a way out if net says so. in gives the program
// its streams.
func (a *App) Enter(ctx context.Context, name string, net bool, e box.Exec,
	in func(e box.Exec, run func(box.Exec) error) error) error {
	b, d, err := a.enter(ctx, name, &e)
	if err != nil {
		return err
	}
	if net {
		out, err := a.OpenDoor(ctx, b, "shell")
		if err != nil {
			return err
		}
		defer out.Close()
		if e.Way = out.Way(); e.Way == nil {
			return &NoNetworkError{Box: b.Name}
		}
	}
	return in(e, func(e box.Exec) error { return d.Run(ctx, b, e) })
}

// enter finds the box that a shell is for, and refuses one that is frozen. The store is opened only if it is needed:
// that takes longer than entering the box.
func (a *App) enter(ctx context.Context, name string, e *box.Exec) (*box.Box, box.Driver, error) {
	if e.Session == "" {
		boxes, err := a.Boxes()
		if err != nil {
			return nil, nil, err
		}
		b, d, err := boxes.Ready(ctx, name)
		if _, shared := d.(box.Sharer); err != nil || !shared {
			return b, d, err
		}
	}
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	if e.Session != "" {
		rec, err := s.Enter(ctx, e.Session)
		if err != nil {
			return nil, nil, err
		}
		name, e.Repo = rec.Box, rec.RepoKey
		if e.ReadOnly = rec.Live(); e.ReadOnly {
			a.IO.Say("session %s is at work: its workspace is read-only here", rec.ID)
		}
	}
	b, d, err := s.Boxes.Ready(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	return b, d, s.Thawed(ctx, b, d)
}
