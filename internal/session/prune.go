package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Remains is what an old session has left on disk.
type Remains struct {
	ID    string `json:"id"`
	Box   string `json:"box,omitempty"`
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why,omitempty"` // why it must stay
}

// Remains lists what could be pruned, and what could not because it is not saved.
func (s *Service) Remains(ctx context.Context) (free, kept []Remains, err error) {
	list, err := s.List(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	known := map[string]bool{}
	for _, v := range list {
		known[v.ID] = true
		r, has := s.remainsOf(v)
		switch {
		case !has:
		case v.Live():
		default:
			if r.Why = s.mustStay(ctx, v); r.Why != "" {
				kept = append(kept, r)
			} else {
				free = append(free, r)
			}
		}
	}
	strays, err := s.strays(known)
	return append(free, strays...), kept, err
}

func (s *Service) remainsOf(v store.Session) (Remains, bool) {
	r := Remains{ID: v.ID, Box: v.Box, What: "workspace and exchange of a " + string(v.State) + " session"}
	_, err := os.Stat(s.orderFile(v.ID))
	r.Bytes = size(s.exchange(v.ID)) + size(filepath.Join(s.Boxes.Dir(v.Box), "sessions", v.ID))
	return r, err == nil
}

func (s *Service) mustStay(ctx context.Context, v store.Session) string {
	if v.Started.IsZero() {
		return ""
	}
	if v.State == store.Waiting || v.State == store.Paused {
		return "it goes on when you want it to, see `cco attention`"
	}
	if err := s.frozenBy(v); err != nil {
		return err.Error()
	}
	b, d, err := s.Boxes.Ready(ctx, v.Box)
	if err != nil {
		if v.State == store.Pulled {
			return ""
		}
		return "not pulled, and its box can't be looked into: " + err.Error()
	}
	return s.atStake(ctx, b, d, v)
}

// strays are directories of sessions that have no record: a push was killed before it was written.
func (s *Service) strays(known map[string]bool) (list []Remains, err error) {
	for _, parent := range []string{s.Boxes.Exchange(), filepath.Join(s.Data, "sessions")} {
		entries, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
		for _, e := range entries {
			if known[e.Name()] || !validID(e.Name()) {
				continue
			}
			lock, err := s.keeperLock(e.Name())
			if err != nil {
				continue // a push is making it right now
			}
			_ = lock.Close()
			known[e.Name()] = true
			list = append(list, Remains{ID: e.Name(), What: "files of a session that was never recorded",
				Bytes: size(s.exchange(e.Name())) + size(s.dir(e.Name()))})
		}
	}
	return list, nil
}

// Prune removes what Remains found free. The records of sessions stay.
func (s *Service) Prune(ctx context.Context, free []Remains) error {
	var errs []error
	for _, r := range free {
		if r.Box == "" {
			errs = append(errs, tree.Remove(s.exchange(r.ID)), tree.Remove(s.dir(r.ID)))
			continue
		}
		if b, d, err := s.Boxes.Find(r.Box); err == nil {
			errs = append(errs, d.Discard(ctx, b, r.ID), canary.Drop(canary.Dir(b.Dir, r.ID)))
		}
		errs = append(errs, tree.Remove(s.exchange(r.ID)), ignoreMissing(os.Remove(s.orderFile(r.ID))))
	}
	return errors.Join(errs...)
}

func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil //nolint:nilerr // what can't be read isn't counted
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}
