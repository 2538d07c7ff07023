package session

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/tree"
)

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
