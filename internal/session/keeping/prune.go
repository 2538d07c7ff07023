package keeping

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/graveyard"
	"github.com/cco-dev/cco/internal/session"
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

	held   session.Holding                 // what it is, if it has a workspace
	remove func(ctx context.Context) error // what there is but its workspace
}

// Subject is what it is, for a sentence.
func (r Remains) Subject() string {
	if r.Repo != "" {
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
	strays, err := s.strays(list)
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

// onDisk lists the directories of sessions that have ended, and the transcripts of those that have nothing else: they
// were pruned before, or removed with their box.
func (s Keeping) onDisk(ctx context.Context, list []store.Session, force, named bool) (free, kept []Remains,
	err error) {
	var old []store.Session
	for _, v := range list {
		if v.Live() {
			continue
		}
		if graveyard.Has(s.OrderFile(v.ID)) {
			old = append(old, v)
		} else if n, _ := size(soon(slice), s.TranscriptFile(v.ID)); n > 0 {
			free = append(free, Remains{ID: v.ID, Box: v.Box, What: "transcript of a " + string(v.State) + " session",
				Bytes: n, remove: s.locked(v.ID, s.removeRest)})
		}
	}
	all, err := s.HandOff().LeftBy(ctx, old, s.Boxes.Ready)
	if err != nil {
		return nil, nil, err
	}
	more := soon(slice / 4)
	for _, h := range all {
		r := Remains{ID: h.ID, Box: h.Box, What: "workspace, exchange and transcript of a " + string(h.State) + " session",
			Beside: h.Count, held: h, remove: s.locked(h.ID, s.removeRest)}
		r.Bytes, r.Least = size(more, s.TranscriptFile(h.ID), s.Exchange(h.ID),
			filepath.Join(s.Boxes.Dir(h.Box), "sessions", h.ID))
		if r.Why = s.mustStay(h, force, named); r.Why != "" {
			kept = append(kept, r)
		} else {
			free = append(free, r)
		}
	}
	return free, kept, nil
}

// size is how many bytes are somewhere, or at least are.
func size(more func() bool, places ...string) (bytes int64, least bool) {
	for _, place := range places {
		n, all := graveyard.Size(place, more)
		bytes, least = bytes+n, least || !all
	}
	return bytes, least
}

func (s Keeping) mustStay(h session.Holding, force, named bool) string {
	if h.Started.IsZero() {
		return ""
	}
	if (h.State == store.Waiting || h.State == store.Paused) && (!force || !named) {
		return "it goes on when you want it to, see `cco attention`"
	}
	if _, err := s.Boxes.Record(h.Box); force || err != nil && h.State == store.Pulled { // it went with its box
		return ""
	}
	return h.Refusal()
}

// strays are session directories without a record: a push was killed before it wrote one.
func (s Keeping) strays(list []store.Session) (strays []Remains, err error) {
	known := map[string]bool{}
	for _, v := range list {
		known[v.ID] = true
	}
	for _, parent := range []string{s.Boxes.Exchange(), filepath.Join(s.Data, "sessions")} {
		entries, err := os.ReadDir(parent)
		if ignoreMissing(err) != nil {
			return nil, err
		}
		for _, e := range entries {
			id := e.Name()
			if known[id] || !session.ValidID(id) || !s.Gone(id) { // a push is making it right now
				continue
			}
			known[id] = true
			r := Remains{ID: id, What: "files of a session that was never recorded"}
			r.Bytes, r.Least = size(soon(slice), s.Exchange(id), s.Dir(id))
			r.remove = s.locked(id, func(context.Context, string) error {
				return errors.Join(tree.Remove(s.Exchange(id)), tree.Remove(s.Dir(id)))
			})
			strays = append(strays, r)
		}
	}
	return strays, nil
}

// Prune removes what Remains listed as free: workspaces go to the graveyard.
func (s Keeping) Prune(ctx context.Context, free []Remains) (buried []string, err error) {
	var all []session.Holding
	var errs []error
	for _, r := range free {
		if r.held.ID == "" {
			continue
		}
		if err := s.unchangedSince(ctx, r.held); err != nil {
			errs = append(errs, err)
			continue
		}
		all = append(all, r.held)
	}
	buried, err = s.BuryAll(ctx, all)
	errs = append(errs, err)
	for _, r := range free {
		errs = append(errs, r.remove(ctx))
	}
	return buried, errors.Join(append(errs, s.Expire(ctx))...)
}

// unchangedSince refuses to remove a session that somebody has continued since it was listed.
func (s Keeping) unchangedSince(ctx context.Context, was session.Holding) error {
	now, err := s.Store.Session(ctx, was.ID)
	if err != nil || was.Started.IsZero() {
		return err
	}
	l, ok := s.Left(now)
	if now.Live() || was.Left.Failed == "" && was.Commits.OID != "" &&
		(!ok || l.Commits.OID != was.Commits.OID || l.Uncommitted.OID != was.Uncommitted.OID) {
		return &session.BusyError{ID: was.ID, What: "run"}
	}
	return nil
}

// locked does something to a session that nobody else is about.
func (s Keeping) locked(id string, do func(ctx context.Context, id string) error) func(context.Context) error {
	return func(ctx context.Context) error {
		lock, err := s.LockSoon(ctx, id)
		if err != nil {
			return err
		}
		defer func() { _ = lock.Close() }()
		return do(ctx, id)
	}
}

// removeRest removes what is left of a session whose workspace was moved, or went with its box.
func (s Keeping) removeRest(ctx context.Context, id string) error {
	v, err := s.Store.Session(ctx, id)
	if err != nil {
		return err
	}
	if graveyard.Has(s.OrderFile(id)) {
		if _, err := s.Boxes.Record(v.Box); err == nil {
			return nil // it could not be moved
		}
		if err := s.clearRest(id); err != nil {
			return err
		}
	}
	if v.State != store.Pulled {
		s.DropBase(ctx, v)
	}
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
			if id == nil || name == session.BaseRef(id[1]) || states[id[1]] != store.Pulled && states[id[1]] != "" {
				continue
			}
			r := Remains{ID: id[1], What: name, Repo: repo.Top,
				remove: func(ctx context.Context) error { return repo.DropRefAt(ctx, name, ref.OID) }}
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
		old = append(old, Remains{ID: v.ID, Box: v.Box, What: "record of a " + string(v.State) + " session",
			remove: s.locked(v.ID, s.forget)})
	}
	return old, nil
}

// nothingLeft says whether a session has neither workspace nor transcript, or all that it has goes now.
func (s Keeping) nothingLeft(id string, goes []Remains) bool {
	if slices.ContainsFunc(goes, func(r Remains) bool { return r.ID == id && r.Repo == "" }) {
		return true
	}
	return !graveyard.Has(s.OrderFile(id)) && !graveyard.Has(s.TranscriptFile(id))
}

// forget removes a session's record. What it has spent stays on record.
func (s Keeping) forget(ctx context.Context, id string) error {
	if !s.nothingLeft(id, nil) {
		return nil // what should have gone before it could not be removed
	}
	return errors.Join(s.Store.RemoveSessions(ctx, id), tree.Remove(s.Dir(id)))
}
