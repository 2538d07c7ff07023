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

// Where says where else a session's repository may be than where it was pushed from.
type Where struct {
	Dir  string // of the command
	Into string // the only place to look, if set
}

// Repository finds a session's repository: where it was, or else in the command's directory. A worktree may have been
// removed since, a repository may have moved, and another may stand in its place. It is the same repository if it has
// the commit that the session began with, which a ref keeps there: it names all the history below it, and without it no
// work could be brought there.
func (s *Service) Repository(ctx context.Context, rec store.Session, w Where) (*git.Repo, error) {
	first, next := rec.Repo, "do this in a checkout of it, or name one: `cco box pull "+rec.ID+" --into DIR`"
	if w.Into != "" {
		first, next = w.Into, "name a checkout of the repository that it was pushed from"
		if !filepath.IsAbs(first) {
			first = filepath.Join(w.Dir, first)
		}
	}
	repo, err := s.Open(ctx, first)
	if err == nil && repo.HasObject(ctx, rec.Base) {
		return repo, nil
	}
	if w.Into == "" && w.Dir != "" {
		if here, err := s.Open(ctx, w.Dir); err == nil && here.HasObject(ctx, rec.Base) {
			return here, nil
		}
	}
	switch {
	case err == nil:
		return nil, &StateError{Why: fmt.Sprintf("the repository at %s has not the commit %s that the session began with\n%s",
			safetext.Line(repo.Top), git.Short(rec.Base), next)}
	case w.Into == "" && (as[*git.NotRepositoryError](err) || errors.Is(err, fs.ErrNotExist)):
		return nil, &StateError{Why: fmt.Sprintf("the repository of session %s is no longer at %s\n%s", rec.ID,
			safetext.Line(rec.Repo), next)}
	}
	return nil, err
}
