package session

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"path"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// WorkspaceOptions say which workspace a phase works in.
type WorkspaceOptions struct {
	ID     string // of the session that it belongs to
	Box    string
	Repo   string // the user's repository
	Branch string // new in the workspace
	Commit string // at which the branch begins; "" is the repository's HEAD
	Title  string
}

// Workspace makes the lasting workspace of a phase, or finds it. One that is gone is made anew at the last commit that
// the host has of it.
func (s HandOff) Workspace(ctx context.Context, o WorkspaceOptions) (store.Session, error) {
	rec, err := s.Get(ctx, o.ID)
	if _, missing := errors.AsType[*store.NotFoundError](err); missing {
		return s.newWorkspace(ctx, o)
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
	s.Report("the workspace of %s is gone; it is made anew", rec.ID)
	if _, err := s.ReadOrder(rec.ID); errors.Is(err, os.ErrNotExist) { // it went with its box
		repo, err := s.repository(ctx, rec, where{})
		if err != nil {
			return rec, err
		}
		if err := s.orderWorkspace(repo, rec.ID); err != nil {
			return rec, err
		}
	}
	return s.fillWorkspace(ctx, b, d, rec)
}

// WorkspacePath is where a person finds a session's workspace on this machine. In a machine of its own it is the path
// that the agent sees.
func (s *Service) WorkspacePath(ctx context.Context, rec store.Session) string {
	b, d, err := s.Boxes.Ready(ctx, rec.Box)
	if r, ok := d.(box.Reachable); err == nil && ok {
		return r.HostWorkspace(b, rec.ID)
	}
	return "/workspace/" + rec.ID
}

// orderWorkspace writes what is needed to make a workspace.
func (s HandOff) orderWorkspace(repo *git.Repo, id string) error {
	who := s.identity(repo)
	if err := os.MkdirAll(s.dir(id), 0o700); err != nil {
		return err
	}
	return s.writeOrder(Order{Session: id, Format: repo.ObjectFormat, Name: who.Name, Email: who.Email})
}

// started finds a box and starts it if it is stopped.
func (s *Service) started(ctx context.Context, name string) (b *box.Box, d box.Driver, now bool, err error) {
	if b, d, err = s.Boxes.Ready(ctx, name); !errors.Is(err, box.ErrNotRunning) {
		return b, d, false, err
	}
	if err = s.Boxes.Start(ctx, name, s.Report); err != nil {
		return nil, nil, false, err
	}
	b, d, err = s.Boxes.Ready(ctx, name)
	return b, d, true, err
}

// readyBox finds a box for phases, and starts it if it is stopped.
func (s HandOff) readyBox(ctx context.Context, name string) (*box.Box, box.Driver, error) {
	b, d, _, err := s.started(ctx, name)
	if err != nil {
		return nil, nil, err
	}
	if err := s.refresh(ctx, b); err != nil {
		return nil, nil, err
	}
	if b.Spec.NoKernel() {
		return nil, nil, &UnguardedError{Box: name}
	}
	return b, d, nil
}

func (s HandOff) newWorkspace(ctx context.Context, o WorkspaceOptions) (store.Session, error) {
	repo, err := s.Open(ctx, o.Repo)
	if err != nil {
		return store.Session{}, err
	}
	commit := o.Commit
	if commit == "" {
		head, err := repo.Head(ctx)
		if err != nil {
			return store.Session{}, err
		}
		commit = head.Commit
	}
	if err := repo.CheckComplete(ctx, commit, 0); err != nil {
		return store.Session{}, err
	}
	b, d, err := s.readyBox(ctx, o.Box)
	if err != nil {
		return store.Session{}, err
	}
	rec := store.Session{
		ID: o.ID, Box: b.Name, Backend: b.Backend, Agent: "script", Repo: repo.Top, RepoKey: repo.Key(), Branch: o.Branch,
		Base: commit, Origin: commit, Title: o.Title, State: store.Done, Created: s.Now(),
	}
	if err := s.orderWorkspace(repo, rec.ID); err != nil {
		return rec, err
	}
	if err := s.Store.AddSession(ctx, rec); err != nil {
		return rec, err
	}
	return s.fillWorkspace(ctx, b, d, rec)
}

// fillWorkspace clones the session's base into its workspace.
func (s HandOff) fillWorkspace(ctx context.Context, b *box.Box, d box.Driver,
	rec store.Session) (store.Session, error) {
	lock, err := s.keeperLock(rec.ID)
	if err != nil {
		return rec, err
	}
	defer func() { _ = lock.Close() }()
	repo, err := s.repository(ctx, rec, where{})
	if err != nil {
		return rec, err
	}
	t, err := OpenTranscript(s.TranscriptFile(rec.ID), s.Now)
	if err != nil {
		return rec, err
	}
	defer func() { _ = t.Close() }()
	order, err := s.ReadOrder(rec.ID)
	if err != nil {
		return rec, err
	}
	if !rec.Started.IsZero() { // what is there moves away
		l, _ := s.left(rec)
		known, err := s.Store.Graves(ctx, "")
		if err == nil {
			err = s.Keeping().bury(ctx, []store.Grave{s.Keeping().newGrave(b, d, rec, l, s.soon(slice/4), known)})
		}
		if err != nil {
			return rec, err
		}
	}
	if err := errors.Join(d.Halt(ctx, b, rec.ID), s.Forget(rec.ID), d.Discard(ctx, b, rec.ID), s.clearExchange(rec.ID),
		s.writeOrder(order)); err != nil {
		return rec, err
	}
	if err := s.send(ctx, repo, rec, false, 0); err != nil {
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
func (s HandOff) Collect(ctx context.Context, id, since string, o PullOptions) (Collected, error) {
	rec, err := s.atRest(ctx, id)
	if err != nil {
		return Collected{}, err
	}
	repo, err := s.repository(ctx, rec, where{})
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
	pub, err := s.published(ctx, rec, false)
	if err != nil {
		return Collected{}, err
	}
	q, err := s.quarantine(ctx, repo, rec, pub, o, s.quarantineDir(rec.ID))
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
func (s HandOff) putBack(ctx context.Context, repo *git.Repo, rec store.Session, pub inside.Result, fork string,
	o PullOptions) (string, error) {
	was := rec
	was.Base = fork
	q, err := s.quarantine(ctx, repo, was, pub, o, s.quarantineDir(was.ID))
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
func (s HandOff) clearPublished(id string) error {
	var errs []error
	for _, f := range []string{inside.ResultFile, inside.OutputBundle} {
		errs = append(errs, tree.Remove(filepath.Join(s.Exchange(id), f)))
	}
	return errors.Join(errs...)
}

// Show puts a file into a workspace for people to read. It is written inside the box, and git ignores it there.
func (s HandOff) Show(ctx context.Context, id, name string, data []byte) error {
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
	f := inside.Furniture{Dir: p.Workspace, Files: []inside.FurnishedFile{
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
func (s Keeping) RemoveWorkspace(ctx context.Context, id string, force bool) (buried []string, err error) {
	rec, err := s.Get(ctx, id)
	if as[*store.NotFoundError](err) {
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
	if err := s.endAll(ctx, list, true); err != nil {
		return nil, err
	}
	_, _, err = s.HandOff().readyBox(ctx, rec.Box)
	if as[*box.NotFoundError](err) {
		return nil, nil // it went with its box
	}
	if err != nil {
		return nil, err
	}
	all, err := s.HandOff().leftBy(ctx, list, s.Boxes.Ready)
	if err != nil {
		return nil, err
	}
	if why := all[0].refusal(); why != "" && !force {
		return nil, &UnsavedError{Box: rec.Box, Work: []Unsaved{{ID: id, Why: why, pull: len(all[0].work()) > 0}}}
	}
	if buried, err = s.buryAll(ctx, list, all); err != nil {
		return buried, err
	}
	for _, v := range list {
		err = errors.Join(err, s.dropTranscript(v.ID))
	}
	return buried, errors.Join(err, s.Expire(ctx))
}
