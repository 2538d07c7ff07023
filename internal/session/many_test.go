package session

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a removal that takes as long as there are files: 200 sessions, and many files in one of them, are
// moved. How long a million takes is measured with CCO_MANY=1000000.
func TestManySessionsAndManyFilesAreMoved(t *testing.T) {
	m := mourn(t)
	files := 2_000
	if text := os.Getenv("CCO_MANY"); text != "" {
		must.Get(fmt.Sscan(text, &files))(t)
	}
	b, d, err := m.Boxes.Ready(t.Context(), "wt")
	must.Do(t, err)
	first := must.Get(m.Store.Session(t.Context(), m.id))(t)
	for i := range 199 {
		v := first
		v.ID = fmt.Sprintf("%08x", i+1)
		must.Do(t, m.Store.AddSession(t.Context(), v))
		must.Do(t, os.MkdirAll(m.dir(v.ID), 0o700))
		must.Do(t, m.writeOrder(Order{Session: v.ID, Plan: "plan.md"}))
		p := must.Get(d.Prepare(t.Context(), b, v.ID))(t)
		must.Do(t, os.WriteFile(filepath.Join(p.Workspace, "left.txt"), []byte("left"), 0o600))
		must.Do(t, m.startLook(v.ID))
		must.Do(t, m.recordLeft(v, Left{Commits: Commit{OID: v.Base}}))
	}
	many := filepath.Join(m.Boxes.Dir("wt"), "sessions", "00000001", "workspace")
	for i := range files {
		if i%1000 == 0 {
			must.Do(t, os.Mkdir(filepath.Join(many, fmt.Sprint(i/1000)), 0o700))
		}
		must.Do(t, os.WriteFile(filepath.Join(many, fmt.Sprint(i/1000), fmt.Sprint(i)), nil, 0o600))
	}
	begin := time.Now()
	free, kept, err := m.Keeping().Remains(t.Context(), PruneOptions{Older: time.Hour})
	must.Do(t, err)
	buried := must.Get(m.Keeping().Prune(t.Context(), free))(t)
	t.Logf("prune of %d sessions took %s", len(buried), time.Since(begin))
	if len(buried) != 199 || len(kept) != 1 || kept[0].ID != m.id {
		t.Fatalf("%d were moved, %d stay", len(buried), len(kept))
	}
	for _, dir := range buried {
		must.Get(os.Stat(filepath.Join(dir, "workspace", "left.txt")))(t)
	}
	begin = time.Now()
	gone := must.Get(m.Keeping().DestroyBox(t.Context(), "wt", true))(t)
	t.Logf("destroy took %s", time.Since(begin))
	if len(gone.Buried) != 1 {
		t.Errorf("%v", gone)
	}
	if list := must.Get(m.Store.Graves(t.Context(), store.Buried))(t); len(list) > 0 {
		t.Errorf("not finished: %v", list)
	}
}
