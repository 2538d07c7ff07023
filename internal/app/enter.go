package app

import (
	"context"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/session"
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
		out, err := a.openDoor(ctx, b, "shell")
		if err != nil {
			return err
		}
		defer out.Close()
		if e.Way = out.Way(); e.Way == nil {
			return &NoNetworkError{Box: b.Name}
		}
	}
	if e.Session != "" {
		s := session.Service{Data: a.Dirs.Data}
		release, err := s.HoldShell(e.Session)
		if err != nil {
			return err
		}
		defer func() {
			if release() {
				a.IO.Warn("another command of cco has ended this shell: the session was pulled or removed")
			}
		}()
	}
	return in(e, func(e box.Exec) error { return d.Run(ctx, b, e) })
}

// enter finds the box that a shell is for. The store is opened only if it is needed:
// that takes longer than entering the box.
func (a *App) enter(ctx context.Context, name string, e *box.Exec) (*box.Box, box.Driver, error) {
	if e.Session == "" {
		boxes, err := a.Boxes()
		if err != nil {
			return nil, nil, err
		}
		return boxes.Ready(ctx, name)
	}
	s, done, err := a.Sessions(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer done()
	if e.Session, err = s.Resolve(ctx, e.Session); err != nil {
		return nil, nil, err
	}
	rec, err := s.Enter(ctx, e.Session)
	if err != nil {
		return nil, nil, err
	}
	e.Repo = rec.RepoKey
	if e.ReadOnly = rec.Live(); e.ReadOnly {
		a.IO.Say("session %s is at work: its workspace is read-only here", rec.ID)
	}
	return s.Boxes.Ready(ctx, rec.Box)
}
