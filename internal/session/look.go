package session

import (
	"context"
	"io"

	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
)

// Changed is what a session changed: the range of its commits, and what a person must know of it.
type Changed struct {
	Base    string
	Tip     string
	Wip     string // what was left uncommitted, as a commit
	Pulled  bool
	Summary git.Summary
	Gate    gate.Report
}

// Seen names what was shown, for PullOptions.Seen.
func (c Changed) Seen() string { return offer{head: c.Tip, wip: c.Wip}.Seen() }

// Look opens what a session changed, as Unexamined does, and says what of it a person must know.
func (s Looking) Look(ctx context.Context, id string, o PullOptions, read func(*git.Repo, Changed) error) error {
	return s.Unexamined(ctx, id, o, examined(ctx, read))
}

// examined has the gate look at a change before it is read.
func examined(ctx context.Context, read func(*git.Repo, Changed) error) func(*git.Repo, Changed) error {
	return func(repo *git.Repo, c Changed) (err error) {
		if c.Gate, err = examine(ctx, repo, c.Base, offer{head: c.Tip, wip: c.Wip}, &c.Summary); err != nil {
			return err
		}
		return read(repo, c)
	}
}

// Unexamined opens what a session changed: in quarantine, if it has not been pulled. The gate has not looked at it.
func (s Looking) Unexamined(ctx context.Context, id string, o PullOptions,
	read func(*git.Repo, Changed) error) error {
	rec, err := s.Get(ctx, id)
	if err != nil {
		return err
	}
	if rec.Live() {
		return &StateError{ID: id, State: rec.State, Why: "its work can be seen when it has ended"}
	}
	if rec.State != store.Pulled {
		lock, err := s.LockPull(ctx, id)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
	}
	published := func(rec store.Session) (inside.Result, error) {
		if err := s.HandOff().removed(ctx, rec); err != nil {
			return inside.Result{}, err
		}
		return s.HandOff().Published(ctx, rec, false)
	}
	return s.open(ctx, rec, o, published, s.QuarantineDir(id), read)
}

// open opens what was pulled, where it is now, or what a session has published, in a quarantine at dir.
func (s Looking) open(ctx context.Context, rec store.Session, o PullOptions,
	published func(store.Session) (inside.Result, error), dir string, read func(*git.Repo, Changed) error) error {
	repo, err := s.Repository(ctx, rec, Where{o.Dir, o.Into})
	if err != nil {
		return err
	}
	if rec.State == store.Pulled {
		c := Changed{Base: rec.Origin, Tip: rec.Tip, Pulled: true}
		if c.Summary, err = repo.Summary(ctx, c.Base, c.Tip); err != nil {
			return err
		}
		return read(repo, c)
	}
	pub, err := published(rec)
	if err != nil {
		return err
	}
	q, err := s.HandOff().Quarantine(ctx, repo, rec, pub, o, dir)
	if err != nil {
		return err
	}
	if q == nil {
		return read(repo, Changed{Base: rec.Base, Tip: rec.Base})
	}
	defer func() { _ = q.Close() }()
	c := Changed{Base: rec.Base, Tip: pub.Head, Wip: pub.Wip}
	if c.Summary, err = q.Summary(ctx); err != nil {
		return err
	}
	return read(q.Inside(), c)
}

// Offered names what a session that has ended has published and nobody has pulled yet: another name is other work. It
// is "" if there is nothing, or if it was never published.
func (s Looking) Offered(v store.Session) string {
	l, ok := s.Left(v)
	if !ok || l.Failed != "" || l.Bundle == nil || v.State == store.Pulled {
		return ""
	}
	return l.Bundle.SHA256
}

// Glance examines what a session offers, in a quarantine of its own at dir, or what was pulled. Unlike Look it starts
// nothing and takes no lock, so that it is in nobody's way.
func (s Looking) Glance(ctx context.Context, v store.Session, o PullOptions, dir string) (out Changed, err error) {
	err = s.open(ctx, v, o, s.readResult, dir, examined(ctx, func(_ *git.Repo, c Changed) error {
		out = c
		return nil
	}))
	return out, err
}

// Diff writes what a session changed, as a patch, and says what of it a person must know.
func (s Looking) Diff(ctx context.Context, w io.Writer, id string, style git.DiffStyle, o PullOptions) (r gate.Report,
	err error) {
	err = s.Look(ctx, id, o, func(repo *git.Repo, c Changed) error {
		r = c.Gate
		if c.Base == c.Tip && c.Wip == "" {
			return nil
		}
		return repo.Diff(ctx, w, c.Base, c.Tip, style)
	})
	return r, err
}
