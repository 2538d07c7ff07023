package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/safetext"
	"github.com/cco-dev/cco/internal/store"
)

// RepositoryError says that a session's repository is not where it was, or that another was named in its place.
type RepositoryError struct {
	Why  string
	Next string

	same *git.Repo // the repository itself, if it has only lost the commit that the session began with
}

func (e *RepositoryError) Error() string { return e.Why + "\n" + e.Next }

// where says where else a session's repository may be than where it was pushed from.
type where struct {
	dir  string // of the command
	into string // the only place to look, if set
}

// repository finds a session's repository: where it was, or else in the command's directory. A worktree may have been
// removed since, a repository may have moved, and another may stand in its place. It is the same repository if it has
// the commit that the session began with: it names all the history below it, and without it no work could be brought
// there.
func (s *Service) repository(ctx context.Context, rec store.Session, w where) (*git.Repo, error) {
	if w.into != "" {
		repo, err := s.Open(ctx, w.into)
		if err != nil {
			return nil, err
		}
		if !repo.HasObject(ctx, rec.Base) {
			return nil, &RepositoryError{Why: lacks(repo.Top, rec),
				Next: "name a checkout of the repository that it was pushed from"}
		}
		return repo, nil
	}
	was, err := s.Open(ctx, rec.Repo)
	if err == nil && was.HasObject(ctx, rec.Base) {
		return was, nil
	}
	if w.dir != "" {
		if here, err := s.Open(ctx, w.dir); err == nil && here.HasObject(ctx, rec.Base) {
			return here, nil
		}
	}
	gone := &RepositoryError{Next: "do this in a checkout of it, or name one: `cco box pull " + rec.ID +
		" --into DIR`"}
	_, none := errors.AsType[*git.NotRepositoryError](err)
	switch {
	case err == nil:
		gone.Why = lacks(was.Top, rec)
		if was.Key() == rec.RepoKey {
			gone.same = was
		}
	case none, errors.Is(err, fs.ErrNotExist):
		gone.Why = fmt.Sprintf("the repository of session %s is no longer at %s", rec.ID, safetext.Line(rec.Repo))
	default:
		return nil, err
	}
	return nil, gone
}

func lacks(top string, rec store.Session) string {
	return fmt.Sprintf("the repository at %s has not the commit %s that the session began with", safetext.Line(top),
		rec.Base[:min(10, len(rec.Base))])
}

// where resolves a directory that the user named.
func (o PullOptions) where() where {
	into := o.Into
	if into != "" && !filepath.IsAbs(into) {
		into = filepath.Join(o.Dir, into)
	}
	return where{dir: o.Dir, into: into}
}
