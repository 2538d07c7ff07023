package keeping

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/quarantine"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/whole"
)

// Restore brings the commits of a session that is in the graveyard to refs below refs/cco/<id>-kept/ of its repository.
// They are published in a box without a network, by the git that publishes everything else, and examined like all that
// comes from one. No branch moves, and the graveyard keeps what it has.
func (s Keeping) Restore(ctx context.Context, id string, o session.PullOptions) (r session.Restored, err error) {
	r.ID = id
	rec, graves, err := s.gravesOf(ctx, id)
	if err != nil {
		return r, err
	}
	lock, err := s.LockPull(ctx, id)
	if err != nil {
		return r, err
	}
	defer func() { _ = lock.Close() }()
	repo, err := s.Repository(ctx, rec, session.Where{Dir: o.Dir, Into: o.Into})
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
			err = s.HandOff().Exhume(ctx, repo, rec, g.File, s.QuarantineDir(id), o, &r)
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
		err = &session.StateError{ID: id, State: rec.State, Why: "nothing of it is in the graveyard, see `cco box graveyard`"}
	}
	return rec, graves, err
}

// restoreCommits publishes what is in a grave and brings it.
func (s Keeping) restoreCommits(ctx context.Context, repo *git.Repo, rec store.Session, g store.Grave,
	o session.PullOptions, r *session.Restored) error {
	return s.HandOff().ExhumeAll(ctx, repo, rec, o, r, func(dir string) error {
		err := s.raised(ctx, rec, g, o, func(b *box.Box, d box.Driver, _ store.Grave) (bool, error) {
			err := s.HandOff().CopyPublished(ctx, b, d, rec, o, dir, r)
			if err == nil {
				s.at(atOut)
			}
			return false, err
		})
		if no, ok := errors.AsType[*session.UnreadableError](err); ok {
			no.Buried = true
		}
		return err
	}, inside.OutputBundle, inside.RestBundle)
}

// raised puts a grave's workspace into a box, and buries it again when do has done something there, unless do says that
// it stays. From the first step on it counts as a removal: if this is broken off, the next start takes it back to the
// grave.
func (s Keeping) raised(ctx context.Context, rec store.Session, g store.Grave, o session.PullOptions,
	do func(*box.Box, box.Driver, store.Grave) (stays bool, err error)) error {
	lock, err := s.LockSoon(ctx, rec.ID)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	stays := false
	b, d, g, err := s.raise(ctx, rec, g, o)
	if err == nil {
		stays, err = do(b, d, g)
	}
	if stays || g.State != store.Removing { // it stays, or nothing has been moved
		return err
	}
	return errors.Join(err, s.finishRemoving(context.WithoutCancel(ctx), []store.Grave{g}))
}

// raise puts a grave's workspace into a box: its own, or the one that the user names.
func (s Keeping) raise(ctx context.Context, rec store.Session, g store.Grave, o session.PullOptions) (*box.Box,
	box.Driver, store.Grave, error) {
	if graveyard.Has(s.OrderFile(rec.ID)) {
		return nil, nil, g, &session.StateError{ID: rec.ID, State: rec.State, Why: "it has a workspace again in box " +
			rec.Box + ", which comes first: `cco box prune " + rec.ID + "`"}
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
	repo, err := s.Repository(ctx, rec, session.Where{})
	if err != nil {
		return err
	}
	rec.Box = b.Name
	return s.HandOff().SendBase(ctx, b, d, repo, rec)
}

// boxFor finds the box that a grave's workspace can be put into, and starts it if it is stopped.
func (s Keeping) boxFor(ctx context.Context, g store.Grave, o session.PullOptions) (*box.Box, box.Driver, error) {
	name := o.Box
	if own, _, err := s.boxOf(g); own != nil && err == nil && !o.Elsewhere {
		name = own.Name
	}
	b, d, _, err := s.Started(ctx, name)
	if errors.As(err, new(*box.NotFoundError)) {
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
		err = whole.Write(s.OrderFile(g.Session), data, 0o600)
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
func (s Keeping) RestoreSession(ctx context.Context, id string, o session.PullOptions) (r session.Restored, err error) {
	r.ID = id
	rec, graves, err := s.gravesOf(ctx, id)
	if err != nil {
		return r, err
	}
	var last store.Grave
	for _, g := range graves {
		if g.row.N > last.N {
			last = g.row
		}
	}
	if last.N == 0 {
		return r, &session.StateError{ID: id, State: rec.State, Why: "an earlier cco has removed it: `cco box restore " + id +
			"` brings its commits"}
	}
	err = s.raised(ctx, rec, last, o, func(b *box.Box, d box.Driver, now store.Grave) (bool, error) {
		// It makes the workspace find its objects in this box. A broken one comes back as it was.
		if err := s.HandOff().PublishAs(ctx, b, d, rec, inside.What{All: true}); err != nil {
			s.Warn("the workspace of session %s can't be published: %s", id, session.FirstLine(err.Error()))
		}
		if ctx.Err() != nil {
			return false, ctx.Err()
		}
		if err := errors.Join(s.Forget(id), s.Store.SetGraves(ctx, store.Raised, now)); err != nil {
			return true, err
		}
		s.at(atRaised)
		r.Box = b.Name
		return true, s.finishRaising(ctx, now)
	})
	return r, err
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
func (s Keeping) RestoreFiles(ctx context.Context, id, to string) (r session.Restored, err error) {
	r.ID, r.Files = id, to
	rec, graves, err := s.gravesOf(ctx, id)
	if err != nil {
		return r, err
	}
	from, at := "", time.Time{}
	for _, g := range graves {
		dir := g.File
		if g.What == GraveSession {
			dir = filepath.Join(dir, graveWork)
		}
		if info, err := os.Lstat(dir); err == nil && info.IsDir() && g.Buried.After(at) {
			from, at = dir, g.Buried
		}
	}
	if from == "" {
		return r, &session.StateError{ID: id, State: rec.State, Why: "no files of it are in the graveyard as they were: " +
			"`cco box restore " + id + "` brings its commits"}
	}
	if err := outsideOfRepositories(to); err != nil {
		return r, err
	}
	lock, err := s.LockSoon(ctx, id)
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
		return &session.UsageError{Msg: dir + " exists already: name a new directory"}
	}
	real, err := filepath.EvalSymlinks(filepath.Dir(dir))
	if err != nil {
		return err
	}
	for at := real; ; at = filepath.Dir(at) {
		_, bare := os.Stat(filepath.Join(at, "objects"))
		_, head := os.Stat(filepath.Join(at, "HEAD"))
		if _, err := os.Lstat(filepath.Join(at, ".git")); !errors.Is(err, fs.ErrNotExist) || bare == nil && head == nil {
			return &session.UsageError{Msg: fmt.Sprintf("%s is in a repository, %s: these files have not passed the gate, so "+
				"name a directory that is in none", dir, at)}
		}
		if at == filepath.Dir(at) {
			return nil
		}
	}
}
