package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// maxDraws is how often an id is drawn: of 4 billion, one that is taken is rare, and a hundred in a row are a fault.
const maxDraws = 100

// draw chooses a new session's id, and makes and locks its directory: a known id would give this session the files of
// another, and no other push may choose the same one.
func (s HandOff) draw(ctx context.Context, repo *git.Repo) (id string, lock *os.File, err error) {
	refs, err := repo.Refs(ctx, "refs/cco", "refs/heads/cco")
	if err != nil {
		return "", nil, err
	}
	if err := os.MkdirAll(filepath.Join(s.Data, "sessions"), 0o700); err != nil {
		return "", nil, err
	}
	for range maxDraws {
		id = s.NewID()
		known, err := s.Known(ctx, id)
		if err != nil {
			return "", nil, err
		}
		used := func(name string) bool { return strings.Contains(name, id) } // such as refs/cco/<id>-wip
		if known || slices.ContainsFunc(slices.Collect(maps.Keys(refs)), used) {
			continue
		}
		switch err := os.Mkdir(s.Dir(id), 0o700); {
		case errors.Is(err, fs.ErrExist):
			continue // another push was faster
		case err != nil:
			return "", nil, err
		}
		if lock, err = s.LockSoon(ctx, id); err != nil { // prune may be looking at it
			return "", nil, errors.Join(err, tree.Remove(s.Dir(id)))
		}
		return id, lock, nil
	}
	return "", nil, fmt.Errorf("no free session id in %d draws", maxDraws)
}

// Known says whether an id is in use: by a record, or by files that outlived one.
func (s HandOff) Known(ctx context.Context, id string) (bool, error) {
	_, err := s.Store.Session(ctx, id)
	if _, missing := errors.AsType[*store.NotFoundError](err); !missing {
		return err == nil, err
	}
	places := []string{s.Dir(id), s.Exchange(id)}
	boxes, err := os.ReadDir(s.Boxes.Dir(""))
	for _, b := range boxes {
		places = append(places, filepath.Join(s.Boxes.Dir(b.Name()), "sessions", id))
	}
	if err := ignoreMissing(err); err != nil || slices.ContainsFunc(places, graveyard.Has) {
		return true, err
	}
	return s.buried(id)
}

// buried says whether something of a session is in the graveyard.
func (s *Service) buried(id string) (bool, error) {
	list, err := os.ReadDir(filepath.Join(s.Data, "graveyard"))
	of := func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), id) }
	return slices.ContainsFunc(list, of), ignoreMissing(err)
}
