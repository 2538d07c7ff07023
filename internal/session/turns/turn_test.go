package turns

import (
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/box"
	"github.com/cco-dev/cco/internal/box/worktree"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

func service(t *testing.T) Turns {
	t.Helper()
	data := t.TempDir()
	st := must.Get(store.Open(t.Context(), filepath.Join(data, "cco.db")))(t)
	t.Cleanup(func() { _ = st.Close() })
	quiet := func(string, ...any) {}
	return Of(&session.Service{Store: st, Boxes: &box.Boxes{Data: data, Now: time.Now}, Data: data, Now: time.Now,
		NewID: session.NewID, Spawn: func(string, ...*os.File) error { return nil }, Report: quiet, Warn: quiet})
}

// Guards against a reviewer's turn that is taken in the session of somebody else, which it would have ended.
func TestALookDoesNotTakeAnothersSession(t *testing.T) {
	s, look := service(t), Turn{Key: "phase/review/1", Workspace: "0123abcd"}
	first := must.Get(s.lookID(t.Context(), look))(t)
	must.Do(t, s.Store.AddSession(t.Context(), store.Session{ID: first, State: store.Running,
		Created: time.Now()}))
	second, err := s.lookID(t.Context(), look)
	if err != nil || second == first {
		t.Fatalf("%s and %s, %v", first, second, err)
	}
	must.Do(t, os.MkdirAll(s.Dir(second), 0o700))
	must.Do(t, s.WriteOrder(session.Order{Session: second, Key: "phase/review/1"}))
	must.Do(t, s.Store.AddSession(t.Context(), store.Session{ID: second, State: store.Done, Created: time.Now()}))
	if again, err := s.lookID(t.Context(), look); err != nil || again != second {
		t.Errorf("%s, then %s, %v", second, again, err)
	}
}

// Guards against a session for each try to begin a reviewer's turn, until there are too many and none can begin.
func TestALookThatCannotBeginIsTriedAgainInTheSameSession(t *testing.T) {
	s, look := service(t), Turn{Key: "phase/review/1", Workspace: "0123abcd", Look: true}
	must.Do(t, os.MkdirAll(s.Dir(look.Workspace), 0o700))
	must.Do(t, s.WriteOrder(session.Order{Session: look.Workspace}))
	must.Do(t, s.Store.AddSession(t.Context(), store.Session{ID: look.Workspace, Box: "gone", State: store.Done,
		Created: time.Now()}))
	for range 3 {
		if _, err := s.Take(t.Context(), look); !errors.As(err, new(*box.NotFoundError)) {
			t.Fatal(err)
		}
	}
	if list := must.Get(s.Store.Sessions(t.Context(), ""))(t); len(list) != 2 {
		t.Errorf("there are %d sessions: %+v", len(list), list)
	}
}

// Guards against a phase's workspace of which git can read nothing, and which is removed to be made anew.
func TestAWorkspaceThatIsMadeAnewMovesToTheGraveyard(t *testing.T) {
	tools := t.TempDir()
	must.Do(t, programs.Build(t.Context(), tools, "cco-box"))
	user := gittest.New(t)
	user.Commit("start", "a.txt", "a")
	s := service(t)
	s.Boxes.Drivers = map[string]box.Driver{"worktree": worktree.New(worktree.Options{
		Tool: filepath.Join(tools, "cco-box"), Path: os.Getenv("PATH")})}
	spec := box.Spec{Accept: []string{box.AcceptNoKernel}}
	must.Get(s.Boxes.Create(t.Context(), "wt", "worktree", spec, func(string, ...any) {}))(t)
	rec := must.Get(s.Push(t.Context(), session.PushOptions{Dir: user.Dir, Message: "do it", Box: "wt",
		Agent: "script"}))(t)
	b, d, err := s.Boxes.Ready(t.Context(), "wt")
	must.Do(t, err)
	p := must.Get(d.Prepare(t.Context(), b, rec.ID))(t)
	must.Get(s.Receive(t.Context(), b, d, rec, p, false, s.Report))(t)
	rec = must.Get(s.Store.UpdateSession(t.Context(), rec.ID, func(v *store.Session) error {
		v.State, v.Started, v.Finished = store.Done, time.Now(), time.Now()
		return nil
	}))(t)
	must.Do(t, os.WriteFile(filepath.Join(p.Workspace, "left.txt"), []byte("left"), 0o600))
	must.Do(t, os.Rename(filepath.Join(p.Workspace, ".git/objects"), filepath.Join(p.Workspace, ".git/away")))
	must.Get(s.fillWorkspace(t.Context(), b, d, rec))(t)
	kept := filepath.Join(s.Data, "graveyard", rec.ID, "workspace")
	if text, err := os.ReadFile(filepath.Join(kept, "left.txt")); err != nil || string(text) != "left" {
		t.Errorf("it left %q, %v", text, err)
	}
	if _, err := os.Stat(filepath.Join(kept, ".git/away")); err != nil {
		t.Error(err)
	}
	if _, err := os.Lstat(filepath.Join(p.Workspace, "left.txt")); !os.IsNotExist(err) {
		t.Errorf("it is still in the box: %v", err)
	}
	if got := gittest.At(t, p.Workspace).Git("rev-parse", "HEAD"); got != rec.Base {
		t.Errorf("it is at %s", got)
	}
}
