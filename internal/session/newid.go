package session

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// maxDraws is how often an id is drawn: of 4 billion, one that is taken is rare, and a hundred in a row are a fault.
const maxDraws = 100

var errNoID = fmt.Errorf("no free session id in %d draws", maxDraws)

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
		known, err := s.known(ctx, id)
		if err != nil {
			return "", nil, err
		}
		if known || named(refs, id) {
			continue
		}
		switch err := os.Mkdir(s.dir(id), 0o700); {
		case errors.Is(err, fs.ErrExist):
			continue // another push was faster
		case err != nil:
			return "", nil, err
		}
		if lock, err = s.lockSoon(ctx, id); err != nil { // prune may be looking at it
			return "", nil, errors.Join(err, tree.Remove(s.dir(id)))
		}
		return id, lock, nil
	}
	return "", nil, errNoID
}

// known says whether an id is in use: by a record, or by files that outlived one.
func (s HandOff) known(ctx context.Context, id string) (bool, error) {
	_, err := s.Store.Session(ctx, id)
	if _, missing := errors.AsType[*store.NotFoundError](err); !missing {
		return err == nil, err
	}
	places := []string{s.dir(id), s.Exchange(id)}
	boxes, err := os.ReadDir(s.Boxes.Dir(""))
	for _, b := range boxes {
		places = append(places, filepath.Join(s.Boxes.Dir(b.Name()), "sessions", id))
	}
	buried, buriedErr := os.ReadDir(filepath.Join(s.Data, "graveyard"))
	if err := errors.Join(ignoreMissing(err), ignoreMissing(buriedErr)); err != nil {
		return false, err
	}
	for _, p := range places {
		if _, err := os.Lstat(p); !errors.Is(err, fs.ErrNotExist) {
			return true, nil
		}
	}
	return slices.ContainsFunc(buried, func(e fs.DirEntry) bool { return strings.HasPrefix(e.Name(), id) }), nil
}

// named says whether a ref is a session's, such as refs/cco/<id>, refs/cco/<id>-wip and what is below them.
func named(refs map[string]git.Ref, id string) bool {
	for name := range refs {
		for part := range strings.SplitSeq(name, "/") {
			if part == id || strings.HasPrefix(part, id+"-") {
				return true
			}
		}
	}
	return false
}

// lookID is the session of a turn that only looks. It follows from the turn's key, so that a turn is found again; if
// another session has that id, the next free one is taken.
func (s HandOff) lookID(ctx context.Context, key string) (string, error) {
	for n := range maxDraws {
		text := key
		if n > 0 {
			text = fmt.Sprintf("%s %d", key, n)
		}
		sum := sha256.Sum256([]byte(text))
		id := hex.EncodeToString(sum[:4])
		if o, err := s.ReadOrder(id); err == nil && o.Key == key {
			return id, nil
		}
		if known, err := s.known(ctx, id); err != nil || !known {
			return id, err
		}
	}
	return "", errNoID
}
