package session

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

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
	all, err := s.HandOff().leftBy(ctx, old, s.Boxes.Ready)
	if err != nil {
		return nil, nil, err
	}
	more := s.soon(slice / 4)
	for i, v := range old {
		r := Remains{ID: v.ID, Box: v.Box, What: "workspace, exchange and transcript of a " + string(v.State) + " session",
			Beside: all[i].Count, left: all[i], session: v}
		r.Bytes, r.Least = size(more, s.TranscriptFile(v.ID), s.Exchange(v.ID),
			filepath.Join(s.Boxes.Dir(v.Box), "sessions", v.ID))
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

// size is how many bytes are somewhere, or at least are.
func size(more func() bool, places ...string) (bytes int64, least bool) {
	for _, place := range places {
		n, all := graveyard.Size(place, more)
		bytes, least = bytes+n, least || !all
	}
	return bytes, least
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
			r := Remains{ID: e.Name(), What: "files of a session that was never recorded"}
			r.Bytes, r.Least = size(s.soon(slice), s.Exchange(r.ID), s.dir(r.ID))
			list = append(list, r)
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

// transcripts lists those of sessions that have nothing else left: pruned before, or removed with their box.
func (s Keeping) transcripts(list []store.Session) (old []Remains) {
	for _, v := range list {
		if _, err := os.Stat(s.orderFile(v.ID)); v.Live() || !errors.Is(err, os.ErrNotExist) {
			continue
		}
		if n, _ := size(s.soon(slice), s.TranscriptFile(v.ID)); n > 0 {
			old = append(old, Remains{ID: v.ID, Box: v.Box, What: "transcript of a " + string(v.State) + " session", Bytes: n})
		}
	}
	return old
}

// dropTranscript removes a session's transcript.
func (s Keeping) dropTranscript(id string) error {
	return ignoreMissing(os.Remove(s.TranscriptFile(id)))
}

// PruneOptions say what prune looks for.
type PruneOptions struct {
	IDs   []string      // only what these sessions have on disk
	Force bool          // also work that was not pulled
	Refs  bool          // also refs/cco/* of pulled sessions
	Older time.Duration // records of sessions that ended so long ago
	Dir   string        // of the command: refs of its repository count even if all its sessions are forgotten
}

// ownRef is a ref that a pull wrote: what it is of, and whether it holds uncommitted work or an earlier state.
var ownRef = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^refs/cco/([0-9a-f]{8})(?:[-/].*)?$`) })

// oldRefs lists the refs of sessions that were pulled, or forgotten: those that can go, and those that alone lead to a
// commit.
func (s Keeping) oldRefs(ctx context.Context, list []store.Session, here string) (free, kept []Remains, err error) {
	states, repos := map[string]store.State{}, map[string]string{}
	if repo, err := s.Open(ctx, here); err == nil {
		repos[repo.Key()] = repo.Top
	}
	for _, v := range list {
		states[v.ID] = v.State
		if _, here := repos[v.RepoKey]; v.State == store.Pulled && !here {
			repos[v.RepoKey] = v.Repo
		}
	}
	for _, dir := range repos {
		repo, err := s.Open(ctx, dir)
		if err != nil {
			continue // it is gone, and its refs with it
		}
		refs, err := repo.Refs(ctx, "refs/cco")
		if err != nil {
			return nil, nil, err
		}
		var tips []string
		for _, ref := range refs {
			tips = append(tips, ref.OID)
		}
		has, err := repo.Reachable(ctx, tips, "refs/cco/*")
		if err != nil {
			return nil, nil, fmt.Errorf("look what %s has: %w", dir, err)
		}
		for name, ref := range refs {
			id := ownRef().FindStringSubmatch(name)
			if id == nil || name == baseRef(id[1]) || states[id[1]] != store.Pulled && states[id[1]] != "" {
				continue
			}
			r := Remains{ID: id[1], What: name, Repo: repo.Top, ref: ref.OID}
			if !has[ref.OID] {
				r.Why = fmt.Sprintf("no branch has what it holds; `git update-ref -d %s` removes it", name)
				kept = append(kept, r)
				continue
			}
			free = append(free, r)
		}
	}
	byName := func(a, b Remains) int { return strings.Compare(a.Repo+"\x00"+a.What, b.Repo+"\x00"+b.What) }
	slices.SortFunc(free, byName)
	slices.SortFunc(kept, byName)
	return free, kept, nil
}

// dropRef removes a session's ref, if it still holds what was listed.
func (s Keeping) dropRef(ctx context.Context, r Remains) error {
	repo, err := s.Open(ctx, r.Repo)
	if err != nil {
		return err
	}
	return repo.DropRefAt(ctx, r.What, r.ref)
}

// records lists the sessions that can be forgotten: they ended long ago, and nothing is left of them but what goes now.
func (s Keeping) records(ctx context.Context, list []store.Session, goes []Remains, older time.Duration) (
	old []Remains, err error) {
	phases, err := s.Store.Phases(ctx, 1<<20)
	if err != nil {
		return nil, err
	}
	busy := map[[2]string]bool{}
	for _, p := range phases {
		if !p.Ended {
			busy[[2]string{p.Repo, p.Branch}] = true
		}
	}
	graves, err := s.Graveyard(ctx, "")
	if err != nil {
		return nil, err
	}
	for _, v := range list {
		last := slices.MaxFunc([]time.Time{v.Created, v.Finished, v.Pulled}, time.Time.Compare)
		if v.Live() || v.State == store.Waiting || v.State == store.Paused || s.Now().Sub(last) < older ||
			busy[[2]string{v.Repo, v.Branch}] ||
			slices.ContainsFunc(graves, func(g Grave) bool { return g.ID == v.ID }) || !s.nothingLeft(v.ID, goes) {
			continue
		}
		old = append(old, Remains{ID: v.ID, Box: v.Box, What: "record of a " + string(v.State) + " session", record: true})
	}
	return old, nil
}

// nothingLeft says whether a session has neither workspace nor transcript, or all that it has goes now.
func (s Keeping) nothingLeft(id string, goes []Remains) bool {
	if slices.ContainsFunc(goes, func(r Remains) bool { return r.ID == id && r.ref == "" }) {
		return true
	}
	for _, file := range []string{s.orderFile(id), s.TranscriptFile(id)} {
		if _, err := os.Stat(file); !errors.Is(err, os.ErrNotExist) {
			return false
		}
	}
	return true
}

// forget removes a session's record. What it has spent stays on record.
func (s Keeping) forget(ctx context.Context, id string) error {
	if !s.nothingLeft(id, nil) {
		return nil // what should have gone before it could not be removed
	}
	return errors.Join(s.Store.RemoveSessions(ctx, id), tree.Remove(s.dir(id)))
}
