package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/inside"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Remains is what an old session still has on disk.
type Remains struct {
	ID    string `json:"id"`
	Box   string `json:"box,omitempty"`
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why,omitempty"`  // why it must stay
	Repo  string `json:"repo,omitempty"` // whose ref it is
	// Beside says how much beside its branch is saved in the graveyard when it goes, Ignored what is never saved.
	Beside  int            `json:"beside,omitempty"`
	Ignored inside.Ignored `json:"ignored,omitzero"`

	session store.Session
	stake   stake
	ref     string // what the ref that What names holds
	record  bool   // it is the record
}

// Subject is what it is, for a sentence.
func (r Remains) Subject() string {
	if r.ref != "" {
		return r.What
	}
	return "session " + r.ID
}

// Remains lists what could be pruned, and what could not because it is not saved. With force everything goes but
// sessions that run or can still go on. Records come last: they go when nothing else is left.
func (s *Service) Remains(ctx context.Context, o PruneOptions) (free, kept []Remains, err error) {
	list, err := s.List(ctx, "")
	if err != nil {
		return nil, nil, err
	}
	named := len(o.IDs) > 0
	if named {
		list = slices.DeleteFunc(list, func(v store.Session) bool { return !slices.Contains(o.IDs, v.ID) })
	}
	if free, kept, err = s.onDisk(ctx, list, o.Force, named); err != nil || named {
		return free, kept, err
	}
	strays, err := s.strays(ids(list))
	if err != nil {
		return nil, nil, err
	}
	free = append(free, strays...)
	old, err := s.records(ctx, list, free, o.Older)
	if err != nil {
		return nil, nil, err
	}
	if o.Refs {
		refs, stay, err := s.oldRefs(ctx, list, o.Dir)
		if err != nil {
			return nil, nil, err
		}
		free, kept = append(free, refs...), append(kept, stay...)
	}
	return append(free, old...), kept, nil
}

// onDisk lists the directories and transcripts of sessions that have ended.
func (s *Service) onDisk(ctx context.Context, list []store.Session, force, named bool) (free, kept []Remains,
	err error) {
	var old []store.Session
	for _, v := range list {
		if _, err := os.Stat(s.orderFile(v.ID)); err == nil && !v.Live() {
			old = append(old, v)
		}
	}
	ready := map[string]*entrance{}
	all, err := s.stakes(ctx, old, func(name string) (*box.Box, box.Driver, error) {
		if ready[name] == nil {
			b, d, err := s.Boxes.Ready(ctx, name)
			ready[name] = &entrance{b: b, d: d, err: err, asked: true}
		}
		return ready[name].open(ctx)
	})
	if err != nil {
		return nil, nil, err
	}
	for i, v := range old {
		r := s.remainsOf(v)
		r.Ignored, r.stake, r.session = all[i].Ignored, all[i], v
		if all[i].unsaved() {
			r.Beside = all[i].Beside
		}
		if r.Why = s.mustStay(v, all[i], force, named); r.Why != "" {
			kept = append(kept, r)
		} else {
			free = append(free, r)
		}
	}
	return append(free, s.transcripts(list)...), kept, nil
}

func ids(list []store.Session) map[string]bool {
	known := map[string]bool{}
	for _, v := range list {
		known[v.ID] = true
	}
	return known
}

func (s *Service) remainsOf(v store.Session) Remains {
	r := Remains{ID: v.ID, Box: v.Box, What: "workspace, exchange and transcript of a " + string(v.State) + " session"}
	r.Bytes = s.transcriptSize(v.ID) + size(s.Exchange(v.ID)) + size(filepath.Join(s.Boxes.Dir(v.Box), "sessions", v.ID))
	return r
}

func (s *Service) mustStay(v store.Session, k stake, force, named bool) string {
	if v.Started.IsZero() {
		return ""
	}
	if (v.State == store.Waiting || v.State == store.Paused) && (!force || !named) {
		return "it goes on when you want it to, see `cco attention`"
	}
	if _, err := s.Boxes.Record(v.Box); err != nil && v.State == store.Pulled {
		return "" // it went with its box
	}
	if force {
		return ""
	}
	return k.refusal()
}

// strays are session directories without a record: a push was killed before it wrote one.
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
				Bytes: size(s.Exchange(e.Name())) + size(s.dir(e.Name()))})
		}
	}
	return list, nil
}

// Prune removes what Remains listed as free, and first saves what must not be lost.
func (s *Service) Prune(ctx context.Context, free []Remains, limit int64) (buried []string, err error) {
	var errs []error
	for _, r := range free {
		files, err := s.prune(ctx, r, limit)
		buried, errs = append(buried, files...), append(errs, err)
	}
	return buried, errors.Join(errs...)
}

func (s *Service) prune(ctx context.Context, r Remains, limit int64) (buried []string, err error) {
	if r.ref != "" {
		return nil, s.dropRef(ctx, r)
	}
	lock, err := s.lockSoon(ctx, r.ID) // a keeper may still be finishing
	if err != nil {
		return nil, err
	}
	defer func() { _ = lock.Close() }()
	if r.record {
		return nil, s.forget(ctx, r.ID)
	}
	if r.Box != "" && !r.session.Started.IsZero() {
		// Somebody may have continued it since it was listed.
		now, err := s.Store.Session(ctx, r.ID)
		if h, ok := s.held(now); err != nil || r.stake.Failed == "" && r.stake.Head != "" &&
			(!ok || h.Head != r.stake.Head || h.Wip != r.stake.Wip) {
			return nil, errors.Join(err, &BusyError{ID: r.ID, What: "run"})
		}
		if b, d, err := s.Boxes.Find(r.Box); err == nil {
			if buried, err = s.save(ctx, b, d, r.session, r.stake, limit); err != nil {
				return buried, fmt.Errorf("session %s stays: %w", r.ID, err)
			}
		}
	}
	return buried, s.remove(ctx, []Remains{r})
}

// remove removes what sessions have on disk.
func (s *Service) remove(ctx context.Context, free []Remains) error {
	var errs []error
	for _, r := range free {
		if r.Box == "" {
			errs = append(errs, tree.Remove(s.Exchange(r.ID)), tree.Remove(s.dir(r.ID)))
			continue
		}
		if v, err := s.Store.Session(ctx, r.ID); err == nil && v.State != store.Pulled {
			s.dropBase(ctx, v)
		}
		if b, d, err := s.Boxes.Find(r.Box); err == nil {
			errs = append(errs, d.Discard(ctx, b, r.ID))
		}
		// A removal that was killed is listed again while there is an order, and looked into while nothing says what it held.
		errs = append(errs, tree.Remove(s.Exchange(r.ID)), ignoreMissing(os.Remove(s.orderFile(r.ID))), s.Forget(r.ID),
			s.dropTranscript(r.ID))
	}
	return errors.Join(errs...)
}

func size(dir string) (n int64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if err != nil {
			return nil // unreadable files don't count
		}
		if info, err := e.Info(); err == nil && info.Mode().IsRegular() {
			n += info.Size()
		}
		return nil
	})
	return n
}

// transcripts lists those of sessions that have nothing else left: pruned before, or removed with their box.
func (s *Service) transcripts(list []store.Session) (old []Remains) {
	for _, v := range list {
		if _, err := os.Stat(s.orderFile(v.ID)); v.Live() || !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if n := s.transcriptSize(v.ID); n > 0 {
			old = append(old, Remains{ID: v.ID, Box: v.Box, What: "transcript of a " + string(v.State) + " session", Bytes: n})
		}
	}
	return old
}

func (s *Service) transcriptSize(id string) int64 { return size(s.TranscriptFile(id)) }

// dropTranscript removes a session's transcript.
func (s *Service) dropTranscript(id string) error {
	file := s.TranscriptFile(id)
	return errors.Join(ignoreMissing(os.Remove(file)), ignoreMissing(os.Remove(indexFile(file))))
}
