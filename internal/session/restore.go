package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/gate"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
	"github.com/cco-dev/cco/internal/whole"
)

// Restored is what came back from the graveyard.
type Restored struct {
	ID         string      `json:"id"`
	Refs       []string    `json:"refs"`
	Kept       []string    `json:"kept,omitempty"` // refs that now hold what others held before
	Gate       gate.Report `json:"gate"`
	Workspaces []string    `json:"workspaces,omitempty"` // what can't be brought back as commits
	Lost       []string    `json:"lost,omitempty"`       // what is in a grave and could not be brought
	Box        string      `json:"box,omitempty"`        // where the session itself is again
	Files      string      `json:"files,omitempty"`      // where its plain files are
}

// Restore brings the commits of a session that is in the graveyard to refs below refs/cco/<id>-kept/ of its repository.
// They are published in a box without a network, by the git that publishes everything else, and examined like all that
// comes from one. No branch moves, and the graveyard keeps what it has.
func (s Keeping) Restore(ctx context.Context, id string, o PullOptions) (r Restored, err error) {
	r.ID = id
	rec, graves, err := s.gravesOf(ctx, id)
	if err != nil {
		return r, err
	}
	lock, err := s.lock(id, pullLock)
	if err != nil {
		return r, err
	}
	defer func() { _ = lock.Close() }()
	repo, err := s.repository(ctx, rec, o.where())
	if err != nil {
		return r, err
	}
	var errs []error
	for _, g := range graves {
		switch g.What {
		case GraveWorkspace:
			r.Workspaces = append(r.Workspaces, g.File)
			continue
		case GraveSession:
			err = s.restoreCommits(ctx, repo, rec, g.row, o, &r)
		default:
			err = s.HandOff().exhume(ctx, repo, rec, g.File, s.quarantineDir(id), o, &r)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("restore %s: %w", g.Name, err))
		}
	}
	return r, errors.Join(errs...)
}

// gravesOf finds the graves of a session, of which there must be one.
func (s Keeping) gravesOf(ctx context.Context, id string) (rec store.Session, graves []Grave, err error) {
	if rec, err = s.Get(ctx, id); err == nil {
		graves, err = s.Graveyard(ctx, id)
	}
	if err == nil && len(graves) == 0 {
		err = &StateError{ID: id, State: rec.State, Why: "nothing of it is in the graveyard, see `cco box graveyard`"}
	}
	return rec, graves, err
}

// restoreCommits publishes what is in a grave and brings it.
func (s Keeping) restoreCommits(ctx context.Context, repo *git.Repo, rec store.Session, g store.Grave, o PullOptions,
	r *Restored) error {
	dir, err := os.MkdirTemp(s.dir(rec.ID), "restore-")
	if err != nil {
		return err
	}
	defer func() { _ = tree.Remove(dir) }()
	if err := s.publishGrave(ctx, rec, g, o, dir, r); err != nil {
		return err
	}
	var errs []error
	for _, name := range []string{inside.OutputBundle, inside.RestBundle} {
		if file := filepath.Join(dir, name); graveyard.Has(file) {
			errs = append(errs, s.HandOff().exhume(ctx, repo, rec, file, s.quarantineDir(rec.ID), o, r))
		}
	}
	return errors.Join(errs...)
}

// publishGrave lets a box publish a grave's workspace, copies the bundles to dir, and buries the workspace again. From
// the first step on it counts as a removal: if this is broken off, the next start takes it back to the grave.
func (s Keeping) publishGrave(ctx context.Context, rec store.Session, g store.Grave, o PullOptions, dir string,
	r *Restored) error {
	lock, err := s.lockSoon(ctx, rec.ID)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	b, d, g, err := s.raise(ctx, rec, g, o)
	if err == nil {
		err = s.HandOff().copyPublished(ctx, b, d, rec, o, dir, r)
	}
	if no, ok := errors.AsType[*UnreadableError](err); ok {
		no.Buried = true
	}
	if g.State != store.Removing {
		return err // nothing has been moved
	}
	return errors.Join(err, s.finishRemoving(context.WithoutCancel(ctx), []store.Grave{g}))
}

// copyPublished publishes everything that a raised workspace has, and copies it out of its reach.
func (s HandOff) copyPublished(ctx context.Context, b *box.Box, d box.Driver, rec store.Session, o PullOptions,
	dir string, r *Restored) error {
	if err := s.publishAs(ctx, b, d, rec, inside.What{All: true}); err != nil {
		return err
	}
	pub, err := s.readResult(rec)
	if err != nil {
		return err
	}
	r.Lost = append(r.Lost, cleanList(pub.Lost)...)
	for name, sum := range map[string]*inside.Sum{inside.OutputBundle: pub.Bundle, inside.RestBundle: pub.Rest} {
		if sum == nil {
			continue
		}
		got, err := quarantine.CopyOut(ctx, s.Exchange(rec.ID), name, filepath.Join(dir, name), o.Bundle)
		if err == nil && got != sum.SHA256 {
			err = otherSum(name)
		}
		if err != nil {
			return err
		}
	}
	s.at(atOut)
	return nil
}

// raise puts a grave's workspace into a box: its own, or the one that the user names.
func (s Keeping) raise(ctx context.Context, rec store.Session, g store.Grave, o PullOptions) (*box.Box, box.Driver,
	store.Grave, error) {
	if graveyard.Has(s.orderFile(rec.ID)) {
		return nil, nil, g, &StateError{ID: rec.ID, State: rec.State, Why: "it has a workspace again in box " + rec.Box +
			", which comes first: `cco box prune " + rec.ID + "`"}
	}
	b, d, err := s.boxFor(ctx, g, o)
	if err != nil {
		return nil, nil, g, err
	}
	if err := s.lendStore(b, d, g); err != nil {
		return nil, nil, g, err
	}
	s.at(atStored)
	now := g
	now.Box, now.BoxMade, now.State = b.Name, b.Created, store.Removing
	if err := s.Store.SetGraves(ctx, store.Removing, now); err != nil {
		return nil, nil, g, err
	}
	if rec.Box != b.Name {
		if _, err := s.Store.UpdateSession(ctx, rec.ID, func(v *store.Session) error {
			v.Box, v.Backend = b.Name, b.Backend
			return nil
		}); err != nil {
			return nil, nil, now, err
		}
	}
	s.at(atRecorded)
	if err := s.putIntoBox(ctx, b, d, now); err != nil {
		return nil, nil, now, err
	}
	return b, d, now, s.lendBase(ctx, b, d, rec)
}

// lendBase sends a box the commit that a session began with, if it may not have it.
func (s Keeping) lendBase(ctx context.Context, b *box.Box, d box.Driver, rec store.Session) error {
	order, err := s.ReadOrder(rec.ID)
	if here, ok := d.(box.Reachable); err != nil || order.Shallow || ok && graveyard.Has(here.HostStore(b, rec.RepoKey)) {
		return err
	}
	repo, err := s.repository(ctx, rec, where{})
	if err != nil {
		return err
	}
	rec.Box = b.Name
	return s.HandOff().lend(ctx, b, d, repo, rec)
}

// boxFor finds the box that a grave's workspace can be put into, and starts it if it is stopped.
func (s Keeping) boxFor(ctx context.Context, g store.Grave, o PullOptions) (*box.Box, box.Driver, error) {
	name := o.Box
	if own, _, err := s.boxOf(g); own != nil && err == nil && !o.Elsewhere {
		name = own.Name
	}
	b, d, _, err := s.started(ctx, name)
	if as[*box.NotFoundError](err) {
		return nil, nil, fmt.Errorf("its box %s is gone, and a box is needed to look at it: %w, or name another with --box",
			g.Box, err)
	}
	return b, d, err
}

// putIntoBox moves a grave's workspace into a box, and its order to its place.
func (s Keeping) putIntoBox(ctx context.Context, b *box.Box, d box.Driver, g store.Grave) error {
	dir := s.yard().Grave(g.Name())
	if _, err := d.Prepare(ctx, b, g.Session); err != nil {
		return err
	}
	if here, ok := d.(box.Reachable); ok {
		to := filepath.Join(here.HostSession(b, g.Session), graveWork)
		if graveyard.Has(filepath.Join(dir, graveWork)) {
			if err := ignoreMissing(os.Remove(to)); err != nil { // it was made just now, and is empty
				return err
			}
		}
		if err := graveyard.Move(filepath.Join(dir, graveWork), to); err != nil {
			return err
		}
		if err := graveyard.Sync(dir, filepath.Dir(to)); err != nil {
			return err
		}
	} else if err := s.unpackInto(ctx, b, d, g, filepath.Join(dir, gravePack)); err != nil {
		return err
	}
	s.at(atRaised)
	data, err := os.ReadFile(filepath.Join(dir, graveOrder))
	if err == nil {
		err = whole.Write(s.orderFile(g.Session), data, 0o600)
	}
	s.at(atOrdered)
	return err
}

// unpackInto fills a workspace in another machine.
func (s Keeping) unpackInto(ctx context.Context, b *box.Box, d box.Driver, g store.Grave, file string) error {
	f, err := os.Open(file)
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }()
	return d.Run(ctx, b, box.Exec{Session: g.Session, Own: true, Argv: []string{"tar", "-xf", "-"}, Stdin: f})
}

// RestoreSession puts a session into a box again, as it was when it was removed, so that it can go on.
func (s Keeping) RestoreSession(ctx context.Context, id string, o PullOptions) (r Restored, err error) {
	r.ID = id
	rec, g, err := s.lastGrave(ctx, id)
	if err != nil {
		return r, err
	}
	lock, err := s.lockSoon(ctx, id)
	if err != nil {
		return r, err
	}
	defer func() { _ = lock.Close() }()
	b, d, now, err := s.raise(ctx, rec, g, o)
	if err == nil {
		// It makes the workspace find its objects in this box. A broken one comes back as it was.
		if err := s.HandOff().publishAs(ctx, b, d, rec, inside.What{All: true}); err != nil {
			s.Warn("the workspace of session %s can't be published: %s", id, FirstLine(err.Error()))
		}
		err = ctx.Err()
	}
	if err != nil {
		if now.State == store.Removing {
			err = errors.Join(err, s.finishRemoving(context.WithoutCancel(ctx), []store.Grave{now}))
		}
		return r, err
	}
	if err := errors.Join(s.Forget(id), s.Store.SetGraves(ctx, store.Raised, now)); err != nil {
		return r, err
	}
	s.at(atRaised)
	r.Box = b.Name
	return r, s.finishRaising(ctx, now)
}

// lastGrave is the newest grave of a session that has one.
func (s Keeping) lastGrave(ctx context.Context, id string) (rec store.Session, g store.Grave, err error) {
	rec, graves, err := s.gravesOf(ctx, id)
	if err != nil {
		return rec, g, err
	}
	for _, one := range graves {
		if one.What == GraveSession && one.row.N > g.N {
			g = one.row
		}
	}
	if g.N == 0 {
		err = &StateError{ID: id, State: rec.State, Why: "an earlier cco has removed it: `cco box restore " + id +
			"` brings its commits"}
	}
	return rec, g, err
}

// finishRaising gives a session that is in a box again what is left in its grave, and removes that.
func (s Keeping) finishRaising(ctx context.Context, g store.Grave) error {
	dir := s.yard().Grave(g.Name())
	b, d, err := s.boxOf(g)
	if err != nil {
		return err
	}
	if here, ok := d.(box.Reachable); ok && b != nil {
		home := filepath.Join(here.HostSession(b, g.Session), graveHome)
		for _, name := range roster.Private() {
			from, to := filepath.Join(dir, graveHome, name), filepath.Join(home, name)
			if !graveyard.Has(from) {
				continue
			}
			if err := graveyard.Replace(from, home, name); err != nil {
				return fmt.Errorf("put %s back: %w", to, err)
			}
			s.at(atHome)
		}
	}
	return errors.Join(s.yard().Throw(dir), s.Store.RemoveGraves(ctx, g))
}

// RestoreFiles copies the plain files of a session's newest grave to a new directory that is in no repository. They
// don't pass the gate.
func (s Keeping) RestoreFiles(ctx context.Context, id, to string) (r Restored, err error) {
	r.ID, r.Files = id, to
	rec, graves, err := s.gravesOf(ctx, id)
	if err != nil {
		return r, err
	}
	from := ""
	for _, g := range graves {
		for _, dir := range []string{filepath.Join(g.File, graveWork), g.File} {
			if info, err := os.Lstat(dir); err == nil && info.IsDir() && (g.What == GraveSession) == (dir != g.File) {
				from = dir
			}
		}
	}
	if from == "" {
		return r, &StateError{ID: id, State: rec.State, Why: "no files of it are in the graveyard as they were: `cco box " +
			"restore " + id + "` brings its commits"}
	}
	if err := outsideOfRepositories(to); err != nil {
		return r, err
	}
	lock, err := s.lockSoon(ctx, id)
	if err != nil {
		return r, err
	}
	defer func() { _ = lock.Close() }()
	return r, graveyard.Files(from, to, quarantine.IsDotGit)
}

// outsideOfRepositories refuses a directory that exists, or is in a repository: git would take what is in it for the
// user's.
func outsideOfRepositories(dir string) error {
	if graveyard.Has(dir) {
		return &UsageError{Msg: dir + " exists already: name a new directory"}
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for at := real; ; at = filepath.Dir(at) {
		_, bare := os.Stat(filepath.Join(at, "objects"))
		_, head := os.Stat(filepath.Join(at, "HEAD"))
		if _, err := os.Lstat(filepath.Join(at, ".git")); !errors.Is(err, fs.ErrNotExist) || bare == nil && head == nil {
			return &UsageError{Msg: fmt.Sprintf("%s is in a repository, %s: these files have not passed the gate, so name a "+
				"directory that is in none", dir, at)}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
