package turns

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/session/keeping"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// Workspace makes the lasting workspace of a phase, or finds it: in a box, for a repository of the user's, with a new
// branch that begins at the base, or at the repository's HEAD. One that is gone is made anew at the last commit that
// the host has of it.
func (s Turns) Workspace(ctx context.Context, want store.Session) (store.Session, error) {
	rec, err := s.Get(ctx, want.ID)
	if errors.As(err, new(*store.NotFoundError)) {
		rec, err = s.newWorkspace(ctx, want)
	}
	if err != nil || rec.Live() {
		return rec, err
	}
	b, d, err := s.readyBox(ctx, rec.Box)
	if err != nil {
		return rec, err
	}
	if s.workspaceHead(ctx, b, d, rec) != "" {
		return rec, nil
	}
	if !rec.Started.IsZero() {
		s.Report("the workspace of %s is gone; it is made anew", rec.ID)
	}
	if !graveyard.Has(s.OrderFile(rec.ID)) { // it is new, or the order went with its box
		repo, err := s.Repository(ctx, rec, session.Where{})
		if err != nil {
			return rec, err
		}
		who := s.Identity(repo)
		order := session.Order{Session: rec.ID, Format: repo.ObjectFormat, Name: who.Name, Email: who.Email}
		if err := errors.Join(os.MkdirAll(s.Dir(rec.ID), 0o700), s.WriteOrder(order)); err != nil {
			return rec, err
		}
	}
	return s.fillWorkspace(ctx, b, d, rec)
}

// readyBox finds a box for phases, and starts it if it is stopped.
func (s Turns) readyBox(ctx context.Context, name string) (*box.Box, box.Driver, error) {
	b, d, _, err := s.Started(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := s.Refresh(ctx, b); err != nil {
		return nil, nil, err
	}
	if b.Spec.NoKernel() {
		return nil, nil, session.Unguarded(name)
	}
	return b, d, nil
}

// newWorkspace records a workspace.
func (s Turns) newWorkspace(ctx context.Context, rec store.Session) (store.Session, error) {
	repo, err := s.Open(ctx, rec.Repo)
	if err != nil {
		return rec, err
	}
	if rec.Base == "" {
		head, err := repo.Head(ctx)
		if err != nil {
			return rec, err
		}
		rec.Base = head.Commit
	}
	if err := repo.CheckComplete(ctx, rec.Base, 0); err != nil {
		return rec, err
	}
	b, _, err := s.readyBox(ctx, rec.Box)
	if err != nil {
		return rec, err
	}
	rec.Box, rec.Backend, rec.Agent = b.Name, b.Backend, "script"
	rec.Repo, rec.RepoKey, rec.Origin = repo.Top, repo.Key(), rec.Base
	rec.State, rec.Created = store.Done, s.Now()
	return rec, s.Store.AddSession(ctx, rec)
}

// fillWorkspace clones the session's base into its workspace.
func (s Turns) fillWorkspace(ctx context.Context, b *box.Box, d box.Driver,
	rec store.Session) (store.Session, error) {
	lock, err := s.KeeperLock(rec.ID)
	if err != nil {
		return rec, err
	}
	defer func() { _ = lock.Close() }()
	repo, err := s.Repository(ctx, rec, session.Where{})
	if err != nil {
		return rec, err
	}
	t, err := session.OpenTranscript(s.TranscriptFile(rec.ID), s.Now)
	if err != nil {
		return rec, err
	}
	defer func() { _ = t.Close() }()
	order, err := s.ReadOrder(rec.ID)
	if err != nil {
		return rec, err
	}
	if !rec.Started.IsZero() { // what is there moves away
		l, _ := s.Left(rec)
		if _, err := keeping.Of(s.Service).Bury(ctx, []session.Holding{{Session: rec, Left: l}}); err != nil {
			return rec, err
		}
	}
	if err := errors.Join(d.Halt(ctx, b, rec.ID), s.Forget(rec.ID), d.Discard(ctx, b, rec.ID), s.ClearExchange(rec.ID),
		s.WriteOrder(order)); err != nil {
		return rec, err
	}
	if err := s.Send(ctx, repo, rec, false, 0); err != nil {
		return rec, err
	}
	p, err := d.Prepare(ctx, b, rec.ID)
	if err != nil {
		return rec, err
	}
	if _, err := s.Receive(ctx, b, d, rec, p, order.Shallow, t.Step); err != nil {
		return rec, err
	}
	return s.Store.UpdateSession(ctx, rec.ID, func(v *store.Session) error {
		v.State, v.Cause, v.Reason = store.Done, "", ""
		v.Started, v.Finished = s.Now(), s.Now()
		return nil
	})
}

// Collected is what the host has of a workspace now.
type Collected struct {
	Tip string
	// Rewritten is the ref that keeps an agent's version of commits that it was not allowed to change. The workspace is
	// back at the last of them.
	Rewritten string
}

// Collect brings a workspace's commits to the host, through quarantine, and leaves the user's branches as they are: the
// commits are at refs/cco/<id>. It can be repeated. Since is the last commit that others have seen: an agent may
// rewrite only what came after it.
func (s Turns) Collect(ctx context.Context, id, since string, o session.PullOptions) (Collected, error) {
	rec, err := s.AtRest(ctx, id)
	if err != nil {
		return Collected{}, err
	}
	repo, err := s.Repository(ctx, rec, session.Where{})
	if err != nil {
		return Collected{}, err
	}
	if since != "" && since != rec.Base {
		// Commits that were brought and never pushed may have been rewritten since. They are published again.
		rec, err = s.Store.UpdateSession(ctx, id, func(v *store.Session) error { v.Base = since; return nil })
		if err = errors.Join(err, s.clearPublished(id)); err != nil {
			return Collected{}, err
		}
	}
	pub, err := s.Published(ctx, rec, false)
	if err != nil {
		return Collected{}, err
	}
	q, err := s.Quarantine(ctx, repo, rec, pub, o, s.QuarantineDir(rec.ID))
	if err != nil {
		return Collected{}, err
	}
	got := Collected{Tip: rec.Base}
	if q == nil {
		return got, nil
	}
	defer func() { _ = q.Close() }()
	if _, err := q.Examine(ctx); err != nil {
		refusal, ok := errors.AsType[*quarantine.RefusedError](err)
		if !ok || refusal.Rule != quarantine.RuleBase {
			return got, err
		}
		fork := q.Fork(ctx)
		if fork == "" {
			return got, err
		}
		got.Rewritten, err = s.putBack(ctx, repo, rec, pub, fork, o)
		return got, err
	}
	if _, err := q.Import(ctx, id); err != nil {
		return got, err
	}
	got.Tip = pub.Head
	_, err = s.Store.UpdateSession(context.WithoutCancel(ctx), id, func(v *store.Session) error {
		v.Base, v.Tip, v.Wip = pub.Head, pub.Head, pub.Wip
		return nil
	})
	if err != nil {
		return got, err
	}
	return got, s.clearPublished(id)
}

// putBack makes a workspace again at its base, which its head no longer contains, and keeps the old head at a ref.
func (s Turns) putBack(ctx context.Context, repo *git.Repo, rec store.Session, pub inside.Result, fork string,
	o session.PullOptions) (string, error) {
	was := rec
	was.Base = fork
	q, err := s.Quarantine(ctx, repo, was, pub, o, s.QuarantineDir(was.ID))
	if err != nil {
		return "", err
	}
	defer func() { _ = q.Close() }()
	if _, err := q.Examine(ctx); err != nil {
		return "", err
	}
	kept, err := q.Import(ctx, rec.ID+"rewritten")
	if err != nil {
		return "", err
	}
	b, d, err := s.readyBox(ctx, rec.Box)
	if err != nil {
		return "", err
	}
	if _, err := s.fillWorkspace(ctx, b, d, rec); err != nil {
		return "", err
	}
	return kept.Ref, s.clearPublished(rec.ID)
}

// clearPublished removes what was brought, so that it can't be mistaken for the next work.
func (s Turns) clearPublished(id string) error {
	return s.Clear(id, inside.ResultFile, inside.OutputBundle)
}

// Show puts a file into a workspace for people to read. It is written inside the box, and git ignores it there.
func (s Turns) Show(ctx context.Context, id, name string, data []byte) error {
	rec, err := s.Store.Session(ctx, id)
	if err != nil {
		return err
	}
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if err != nil {
		return err
	}
	if err := s.Forget(id); err != nil {
		return err
	}
	p, err := d.Prepare(ctx, b, id)
	if err != nil {
		return err
	}
	// First what keeps it out of commits: this can be broken off, and the agent commits what it finds.
	f := inside.Furniture{Dir: p.Workspace, Files: []whole.File{
		{Path: path.Join(path.Dir(name), ".gitignore"), Data: []byte("*\n"), Mode: 0o644},
		{Path: name, Data: data, Mode: 0o644},
	}}
	job, err := json.Marshal(f)
	if err != nil {
		return err
	}
	return d.Run(ctx, b, box.Exec{Session: id, Own: true, Argv: []string{p.Tool, "furnish"}, Stdin: bytes.NewReader(job)})
}

// RemoveWorkspace moves a phase's workspace, and those of its turns, to the graveyard. Work that exists nowhere else
// stops it unless force says so.
func (s Turns) RemoveWorkspace(ctx context.Context, id string, force bool) (buried []string, err error) {
	rec, err := s.Get(ctx, id)
	if errors.As(err, new(*store.NotFoundError)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	list, err := s.List(ctx, rec.Box)
	if err != nil {
		return nil, err
	}
	looks := slices.DeleteFunc(list, func(v store.Session) bool {
		o, err := s.ReadOrder(v.ID)
		return err != nil || o.View != id
	})
	list = append([]store.Session{rec}, looks...)
	if err := keeping.Of(s.Service).EndAll(ctx, list, true); err != nil {
		return nil, err
	}
	_, _, err = s.readyBox(ctx, rec.Box)
	if errors.As(err, new(*box.NotFoundError)) {
		return nil, nil // it went with its box
	}
	if err != nil {
		return nil, err
	}
	all, err := s.LeftBy(ctx, list, s.Boxes.Ready)
	if err != nil {
		return nil, err
	}
	if err := keeping.Unsaved(rec.Box, all[:1]); err != nil && !force {
		return nil, err
	}
	if buried, err = keeping.Of(s.Service).BuryAll(ctx, all); err != nil {
		return buried, err
	}
	for _, v := range list {
		err = errors.Join(err, os.RemoveAll(s.TranscriptFile(v.ID)))
	}
	return buried, errors.Join(err, keeping.Of(s.Service).Expire(ctx))
}
