package phases

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/cruise"
	"github.com/cco-dev/cco/internal/cruise/reading"
	"github.com/cco-dev/cco/internal/cruise/steps"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a workspace whose phase has to be named, and against an agent that names another's there.
func TestAWorkspaceMeansItsPhase(t *testing.T) {
	db := must.Get(store.Open(t.Context(), filepath.Join(t.TempDir(), "cco.db")))(t)
	defer func() { _ = db.Close() }()
	here, elsewhere := t.TempDir(), t.TempDir()
	for id, dir := range map[string]string{"aaaaaaaa": here, "bbbbbbbb": elsewhere} {
		st := cruise.NewState(cruise.Spec{Repo: "/r", Kind: cruise.Building})
		st.Workspace.Path, st.Meta.Branch = dir, "keep-carts"
		must.Do(t, db.SavePhase(t.Context(), must.Get(steps.Record(id, st, time.Now()))(t)))
	}
	for id, want := range map[string]bool{"aaaaaaaa": true, "bbbbbbbb": false, "cccccccc": false, "": false} {
		shown := steps.Show(id, cruise.State{Kind: cruise.Building, Meta: reading.Metadata{Branch: "keep-carts"}})
		file := filepath.Join(here, steps.StateFile)
		must.Do(t, errors.Join(os.MkdirAll(filepath.Dir(file), 0o700),
			os.WriteFile(file, must.Get(json.Marshal(shown))(t), 0o600)))
		if p, ok := ofWorkspace(t.Context(), db, here); ok != want || ok && p.ID != id {
			t.Errorf("%q: %v, %s", id, ok, p.ID)
		}
	}
	if _, ok := ofWorkspace(t.Context(), db, elsewhere); ok {
		t.Error("a directory without the file")
	}
}
