package session

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

// Remains is what an old session still has on disk.
type Remains struct {
	ID    string `json:"id"`
	Box   string `json:"box,omitempty"`
	What  string `json:"what"`
	Bytes int64  `json:"bytes"`
	Why   string `json:"why,omitempty"`   // why it must stay
	Repo  string `json:"repo,omitempty"`  // whose ref it is
	Least bool   `json:"least,omitempty"` // there are more bytes than could be counted in a moment
	// Beside says how much beside its branch goes to the graveyard with it.
	Beside int `json:"beside,omitempty"`

	session store.Session
	left    Left
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
func (s Keeping) Remains(ctx context.Context, o PruneOptions) (free, kept []Remains, err error) {
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
func (s Keeping) onDisk(ctx context.Context, list []store.Session, force, named bool) (free, kept []Remains,
	err error) {
	var old []store.Session
	for _, v := range list {
		if _, err := os.Stat(s.orderFile(v.ID)); err == nil && !v.Live() {
			old = append(old, v)
		}
	}
	ready := map[string]*entrance{}
	all, err := s.HandOff().leftBy(ctx, old, func(name string) (*box.Box, box.Driver, error) {
		if ready[name] == nil {
			b, d, err := s.Boxes.Ready(ctx, name)
			ready[name] = &entrance{b: b, d: d, err: err, asked: true}
		}
		return ready[name].open(ctx)
	})
	if err != nil {
		return nil, nil, err
	}
	more := s.soon(slice / 4)
	for i, v := range old {
		r := s.remainsOf(v, more)
		r.Beside, r.left, r.session = all[i].Count, all[i], v
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

func (s Keeping) remainsOf(v store.Session, more func() bool) Remains {
	r := Remains{ID: v.ID, Box: v.Box, What: "workspace, exchange and transcript of a " + string(v.State) + " session"}
	for _, dir := range []string{s.TranscriptFile(v.ID), s.Exchange(v.ID),
		filepath.Join(s.Boxes.Dir(v.Box), "sessions", v.ID)} {
		n, all := graveyard.Size(dir, more)
		r.Bytes, r.Least = r.Bytes+n, r.Least || !all
	}
	return r
}

func (s Keeping) mustStay(v store.Session, l Left, force, named bool) string {
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
	return l.refusal()
}

// strays are session directories without a record: a push was killed before it wrote one.
func (s Keeping) strays(known map[string]bool) (list []Remains, err error) {
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
				Bytes: s.strayBytes(e.Name())})
		}
	}
	return list, nil
}

// Prune removes what Remains listed as free: workspaces go to the graveyard.
func (s Keeping) Prune(ctx context.Context, free []Remains) (buried []string, err error) {
	var list []store.Session
	var all []Left
	var errs []error
	for _, r := range free {
		if r.session.ID == "" {
			continue
		}
		if err := s.unchangedSince(ctx, r); err != nil {
			errs = append(errs, err)
			continue
		}
		list, all = append(list, r.session), append(all, r.left)
	}
	buried, err = s.buryAll(ctx, list, all)
	errs = append(errs, err)
	for _, r := range free {
		errs = append(errs, s.prune(ctx, r))
	}
	return buried, errors.Join(append(errs, s.Expire(ctx))...)
}

// unchangedSince refuses to remove a session that somebody has continued since it was listed.
func (s Keeping) unchangedSince(ctx context.Context, r Remains) error {
	now, err := s.Store.Session(ctx, r.ID)
	if err != nil || r.session.Started.IsZero() {
		return err
	}
	l, ok := s.left(now)
	if was := r.left; now.Live() || was.Failed == "" && was.Commits.OID != "" &&
		(!ok || l.Commits.OID != was.Commits.OID || l.Uncommitted.OID != was.Uncommitted.OID) {
		return &BusyError{ID: r.ID, What: "run"}
	}
	return nil
}

// prune removes what is not a workspace, and what is left of a session whose workspace was moved.
func (s Keeping) prune(ctx context.Context, r Remains) error {
	if r.ref != "" {
		return s.dropRef(ctx, r)
	}
	lock, err := s.lockSoon(ctx, r.ID)
	if err != nil {
		return err
	}
	defer func() { _ = lock.Close() }()
	switch {
	case r.record:
		return s.forget(ctx, r.ID)
	case r.Box == "":
		return errors.Join(tree.Remove(s.Exchange(r.ID)), tree.Remove(s.dir(r.ID)))
	case graveyard.Has(s.orderFile(r.ID)):
		if _, err := s.Boxes.Record(r.Box); err == nil {
			return nil // it could not be moved
		}
		if err := s.clearRest(r.ID); err != nil { // it went with its box
			return err
		}
	}
	if v, err := s.Store.Session(ctx, r.ID); err == nil && v.State != store.Pulled {
		s.dropBase(ctx, v)
	}
	return s.dropTranscript(r.ID)
}

func (s Keeping) strayBytes(id string) int64 {
	x, _ := graveyard.Size(s.Exchange(id), s.soon(slice))
	n, _ := graveyard.Size(s.dir(id), s.soon(slice))
	return x + n
}

// transcripts lists those of sessions that have nothing else left: pruned before, or removed with their box.
func (s Keeping) transcripts(list []store.Session) (old []Remains) {
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

func (s Keeping) transcriptSize(id string) int64 {
	n, _ := graveyard.Size(s.TranscriptFile(id), s.soon(slice))
	return n
}

// dropTranscript removes a session's transcript.
func (s Keeping) dropTranscript(id string) error {
	file := s.TranscriptFile(id)
	return errors.Join(ignoreMissing(os.Remove(file)), ignoreMissing(os.Remove(indexFile(file))))
}
