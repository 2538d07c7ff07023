package keep

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/canary"
	"github.com/cco-dev/cco/internal/git"
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

// orphan makes a session in a worktree box whose keeper took its shot, whose agent wrote a hook, and that then died.
func orphan(t *testing.T, id string) (s *session.Service, b *box.Box, after func() error) {
	t.Helper()
	user := gittest.New(t)
	base := user.Commit("start", "a.txt", "a")
	s = service(t)
	s.Boxes.Drivers = map[string]box.Driver{"worktree": worktree.New(worktree.Options{Tool: "/nowhere"})}
	must.Get(s.Boxes.Create(t.Context(), "wt", "worktree",
		box.Spec{Repo: user.Dir, Accept: []string{worktree.AcceptNoKernel}}, func(string, ...any) {}))(t)
	b, d, err := s.Boxes.Find("wt")
	if err != nil {
		t.Fatal(err)
	}
	repo := must.Get(git.Open(t.Context(), user.Dir))(t)
	rec := store.Session{ID: id, Box: "wt", Repo: user.Dir, RepoKey: repo.Key(), Base: base, State: store.Running,
		Created: time.Now()}
	must.Do(t, s.Store.AddSession(t.Context(), rec))
	dir := filepath.Dir(s.TranscriptFile(id))
	must.Do(t, errors.Join(os.MkdirAll(dir, 0o700),
		os.WriteFile(filepath.Join(dir, "order.json"), []byte(`{"session":"`+id+`"}`), 0o600)))
	must.Get(d.(box.Sharer).Checkout(t.Context(), b, id, base))(t)
	place := must.Get(d.Prepare(t.Context(), b, id))(t)
	k := &keeper{Service: s, rec: rec, box: b, drv: d, place: place}
	k.transcript = must.Get(session.OpenTranscript(filepath.Join(t.TempDir(), "transcript"), time.Now))(t)
	t.Cleanup(func() { _ = k.transcript.Close() })
	// An earlier agent has left a tree where its trace was.
	must.Do(t, os.MkdirAll(filepath.Join(s.Exchange(id), traceFile, "in", "the", "way"), 0o700))
	compare := must.Get(k.watchHost(t.Context()))(t)
	must.Do(t, os.WriteFile(user.Path(".git/hooks/post-merge"), []byte("evil"), 0o600))
	return s, b, func() error {
		end := compare(ending{Ran: true, Killed: true})
		if state, _, reason := end.judge(); state != store.Failed || !strings.Contains(reason, "it made 1 change") {
			return errors.New(reason)
		}
		return nil
	}
}

// Guards against a keeper's death at any moment: before it compared, and after it froze the box but before it said so.
func TestADeadKeepersCanaryIsHeard(t *testing.T) {
	const id = "0badcafe"
	for name, compared := range map[string]bool{"before comparing": false, "before recording": true} {
		t.Run(name, func(t *testing.T) {
			s, b, after := orphan(t, id)
			if compared {
				must.Do(t, after())
			}
			v, err := s.Get(t.Context(), id)
			if err != nil || v.State != store.Failed || !strings.HasPrefix(v.Reason, "interrupted; it made 1 change") {
				t.Fatalf("%s %q, %v", v.State, v.Reason, err)
			}
			var frozen *canary.FrozenError
			if err := canary.Check(b.Dir, b.Name); !errors.As(err, &frozen) {
				t.Fatal(err)
			}
			if _, err := s.Pull(t.Context(), id, session.PullOptions{Partial: true, Timeout: time.Minute,
				Interval: time.Second}); !errors.As(err, &frozen) {
				t.Fatal(err)
			}
			out, err := s.UndoFindings(t.Context(), id, false)
			if err != nil || len(out) != 1 || !out[0].Done {
				t.Fatalf("%+v, %v", out, err)
			}
			must.Do(t, canary.Check(b.Dir, b.Name))
		})
	}
}

// Guards against a push that comes before anybody has looked at the sessions.
func TestAPushComparesForADeadKeeper(t *testing.T) {
	s, b, _ := orphan(t, "0badcafe")
	_, d, err := s.Boxes.Find("wt")
	if err != nil {
		t.Fatal(err)
	}
	var frozen *canary.FrozenError
	if err := s.Thawed(t.Context(), b, d); !errors.As(err, &frozen) {
		t.Fatal(err)
	}
	must.Do(t, s.AcceptFindings(t.Context(), "0badcafe"))
	must.Do(t, s.Thawed(t.Context(), b, d))
	reports, err := s.Findings(t.Context(), "", "wt")
	if err != nil || len(reports) != 1 || reports[0].Resolved != canary.Accepted {
		t.Errorf("%+v, %v", reports, err)
	}
}
