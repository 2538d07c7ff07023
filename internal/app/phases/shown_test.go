//go:build heavy

package phases

import (
	"database/sql"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/config"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/pgtest"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
	"github.com/cco-dev/cco/internal/term"
)

const shownPhase, shownRef = "00c0ffee", "refs/cco/"

// showing is a machine on which a phase was started, and commits of that phase which it does not have yet.
type showing struct {
	*settler
	data string
	db   *sql.DB
	base *gittest.Repo // without those commits
	b    store.Bundle
}

func TestShown(t *testing.T) {
	server := pgtest.Start(t)
	for name, test := range map[string]func(*testing.T, *showing){
		"by many at once":                  shownByManyAtOnce,
		"only where the phase was started": shownOnlyWhereItWasStarted,
	} {
		t.Run(name, func(t *testing.T) { test(t, newShowing(t, server)) })
	}
}

func newShowing(t *testing.T, server *pgtest.Server) *showing {
	t.Helper()
	gittest.Home(t)
	data := t.TempDir()
	st := must.Get(store.Open(t.Context(), data+"/cco.db"))(t)
	db := must.Get(sql.Open("pgx", server.Database(t)))(t)
	st.Share(must.Get(store.OpenShared(t.Context(), db))(t), db.Close)
	t.Cleanup(func() { _ = st.Close() })
	g := gittest.Init(t, t.TempDir(), "-b", "main")
	g.Commit("start", "a", "a")
	base := g.Git("rev-parse", "HEAD")
	there := gittest.At(t, t.TempDir())
	there.Git("clone", "-q", g.Dir, ".")
	g.Commit("more", "b", "b")
	repo := must.Get(git.Open(t.Context(), g.Dir))(t)
	b := must.Get(bundle(t.Context(), repo, t.TempDir(), g.Git("rev-parse", "HEAD"), base, 1<<20))(t)
	b.Phase, b.Name = shownPhase, store.BundleWork
	must.Do(t, store.PutBundle(t.Context(), db, b))
	streams, _, _ := term.Test("")
	a := &Phases{App: &app.App{Dirs: config.Dirs{Data: data}, IO: streams}}
	return &showing{data: data, db: db, base: there, b: b, settler: &settler{phases: a, shown: map[string]string{},
		svc: &session.Service{Store: st, Data: data}, kept: kept{most: 1 << 20}}}
}

// at is another repository in which the phase may have been started.
func (s *showing) at(t *testing.T) *gittest.Repo {
	t.Helper()
	g := gittest.At(t, t.TempDir())
	g.Git("clone", "-q", s.base.Dir, ".")
	must.Do(t, s.phases.noteStart(shownPhase, g.Dir))
	return g
}

func (s *showing) head(g *gittest.Repo) string {
	return g.Git("for-each-ref", "--format=%(objectname)", shownRef+steps.SessionOf(shownPhase))
}

// Guards against commands and workers of one machine that unpack commits in one place: each would remove what another
// is reading.
func shownByManyAtOnce(t *testing.T, s *showing) {
	id := steps.SessionOf(shownPhase)
	for range 3 {
		taken, one := s.at(t), s.at(t)
		clone := must.Get(git.Open(t.Context(), taken.Dir))(t)
		var failed [3]error
		var wg sync.WaitGroup
		wg.Go(func() { failed[0] = s.unbundle(t.Context(), clone, shownPhase, s.b.Name, id+s.b.Name) }) // a takeover
		for i := range failed[1:] {
			wg.Go(func() { _, failed[i+1] = s.show(t.Context(), shownPhase, one.Dir) })
		}
		wg.Wait()
		must.Do(t, errors.Join(failed[:]...))
		if got := taken.Git("rev-parse", shownRef+id+s.b.Name); got != s.b.Head || s.head(one) != s.b.Head {
			t.Fatalf("taken over at %s, shown at %q", got, s.head(one))
		}
	}
	if left := must.Get(filepath.Glob(s.data + "/phases/*/*"))(t); len(left) != 1 { // the note
		t.Errorf("left: %v", left)
	}
}

// Guards against refs in a repository in which the phase was not started, because the one that it was started in is
// gone, and against rows that name places.
func shownOnlyWhereItWasStarted(t *testing.T, s *showing) {
	outer := s.at(t)
	inner := filepath.Join(outer.Dir, "project")
	must.Do(t, os.Mkdir(inner, 0o700))
	elsewhere := filepath.Join(t.TempDir(), "link")
	must.Do(t, os.Symlink(outer.Dir, elsewhere))
	stranger := gittest.Init(t, t.TempDir(), "-b", "main")
	stranger.Commit("another", "x", "x")
	for name, top := range map[string]string{"gone": filepath.Join(outer.Dir, "gone"), "no repository any more": inner,
		"a link to another one": elsewhere, "another one": stranger.Dir} {
		ref, err := s.show(t.Context(), shownPhase, top)
		if err == nil || s.head(outer)+s.head(stranger) != "" {
			t.Errorf("%s: shown at %q, %v", name, ref, err)
		}
	}
	// Rows.
	for name, c := range map[string]struct{ set, want string }{
		"no commit":             {`head = '--upload-pack=x'`, "has no name"},
		"another commit":        {`head = '` + strings.Repeat("1", 40) + `'`, "are not those that are recorded"},
		"cut short":             {`data = substr(data, 1, 200)`, "EOF"},
		"no bundle":             {`data = 'x'`, "bundle"},
		"a base like an option": {`base = '--all'`, "--all"},
		"in a directory":        {`data = ''`, "engine.bundles"},
	} {
		must.Do(t, store.PutBundle(t.Context(), s.db, s.b))
		must.Get(s.db.ExecContext(t.Context(), `UPDATE bundles SET `+c.set))(t)
		if ref, err := s.show(t.Context(), shownPhase, outer.Dir); err == nil || !strings.Contains(err.Error(), c.want) ||
			s.head(outer) != "" {
			t.Errorf("%s: shown at %q, %v", name, ref, err)
		}
	}
	must.Do(t, store.PutBundle(t.Context(), s.db, s.b))
	// What a ref of that name had is kept.
	outer.Commit("by hand", "hand", "hand")
	hand := outer.Git("rev-parse", "HEAD")
	outer.Git("update-ref", shownRef+steps.SessionOf(shownPhase), hand)
	must.Get(s.show(t.Context(), shownPhase, outer.Dir))(t)
	if got := outer.Git("for-each-ref", "--format=%(objectname)", "refs/cco"); !strings.Contains(got, s.b.Head) ||
		!strings.Contains(got, hand) {
		t.Errorf("refs: %s", got)
	}
	if top, err := s.phases.startedIn("../phases/" + shownPhase); err != nil || top != "" {
		t.Errorf("a row that names a path was started in %q, %v", top, err)
	}
}
