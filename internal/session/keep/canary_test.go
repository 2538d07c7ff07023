package keep

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/audit"
	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

func service(t *testing.T) *session.Service {
	t.Helper()
	data := t.TempDir()
	st := must.Get(store.Open(t.Context(), filepath.Join(data, "cco.db")))(t)
	t.Cleanup(func() { _ = st.Close() })
	return &session.Service{
		Store: st, Boxes: &box.Boxes{Data: data, Now: time.Now}, Data: data, Now: time.Now, NewID: session.NewID,
		Report: func(string, ...any) {}, Warn: func(string, ...any) {},
	}
}

// orphan makes a session in a box without isolation whose keeper took its picture, whose agent moved a ref, and that
// then died.
func orphan(t *testing.T, id string) (s *session.Service, tell func()) {
	t.Helper()
	user := gittest.New(t)
	base := user.Commit("start", "a.txt", "a")
	s = service(t)
	s.Boxes.Drivers = map[string]box.Driver{"worktree": worktree.New(worktree.Options{Tool: "/nowhere"})}
	must.Get(s.Boxes.Create(t.Context(), "wt", "worktree",
		box.Spec{Accept: []string{box.AcceptNoKernel}}, func(string, ...any) {}))(t)
	b, d, err := s.Boxes.Find("wt")
	must.Do(t, err)
	rec := store.Session{ID: id, Box: "wt", Repo: user.Dir, Base: base, State: store.Running, Created: time.Now()}
	must.Do(t, s.Store.AddSession(t.Context(), rec))
	dir := filepath.Dir(s.TranscriptFile(id))
	must.Do(t, errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "order.json"), []byte(`{"session":"`+id+`"}`), 0o600)))
	k := &keeper{Service: s, rec: rec, box: b, drv: d}
	k.transcript = must.Get(session.OpenTranscript(filepath.Join(t.TempDir(), "transcript"), time.Now))(t)
	t.Cleanup(func() { _ = k.transcript.Close() })
	tell = must.Get(k.watchHost(t.Context()))(t)
	user.Git("update-ref", "refs/evil", "HEAD")
	return s, tell
}

// Guards against a keeper's death at any moment: before it compared, and after that.
func TestADeadKeepersCanaryIsHeard(t *testing.T) {
	const id = "0badcafe"
	for name, compared := range map[string]bool{"before comparing": false, "after comparing": true} {
		t.Run(name, func(t *testing.T) {
			s, tell := orphan(t, id)
			if compared {
				tell()
			}
			for range 2 {
				reports, err := s.Findings(t.Context(), id, "", false)
				if err != nil || len(reports) != 1 || len(reports[0].Moved) != 1 {
					t.Fatalf("%+v, %v", reports, err)
				}
			}
			n := 0
			must.Do(t, audit.Open(s.Data, s.Now).Read(func(audit.Entry) error { n++; return nil }))
			if n != 1 {
				t.Errorf("%d entries in the log", n)
			}
		})
	}
}
