package keeping

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/store"
)

// Guards against a removal that takes as long as there are files: 200 sessions, and many files in one of them, are
// moved. How long a million takes is measured with CCO_MANY=1000000.
func TestManySessionsAndManyFilesAreMoved(t *testing.T) {
	for name, remove := range map[string]func(m *mourner) (buried []string, err error){
		"prune": func(m *mourner) ([]string, error) {
			free, kept, err := Of(m.Service).Remains(t.Context(), PruneOptions{Older: time.Hour})
			if err == nil && len(kept) > 0 {
				err = fmt.Errorf("%v stay", kept)
			}
			must.Do(t, err)
			return Of(m.Service).Prune(t.Context(), free)
		},
		"destroy": func(m *mourner) ([]string, error) {
			gone, err := Of(m.Service).DestroyBox(t.Context(), "wt", false)
			return gone.Buried, err
		},
	} {
		t.Run(name, func(t *testing.T) {
			m := manySessions(t)
			begin, before := time.Now(), cpuTime()
			buried := must.Get(remove(m))(t)
			t.Logf("%s of %d sessions took %s, and %s of CPU", name, len(buried), time.Since(begin), cpuTime()-before)
			if len(buried) != 200 {
				t.Fatalf("%d were moved", len(buried))
			}
			for _, dir := range buried {
				must.Get(os.Stat(filepath.Join(dir, "workspace", "left.txt")))(t)
			}
			if list := must.Get(m.Store.Graves(t.Context(), store.Buried))(t); len(list) > 0 {
				t.Errorf("not finished: %v", list)
			}
		})
	}
}

func cpuTime() time.Duration {
	var u syscall.Rusage
	_ = syscall.Getrusage(syscall.RUSAGE_SELF, &u) // it never fails
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// manySessions is a box with 200 sessions of which all has been looked at, and many files in one of them.
func manySessions(t *testing.T) *mourner {
	t.Helper()
	m := mourn(t)
	files := 2_000
	if text := os.Getenv("CCO_MANY"); text != "" {
		must.Get(fmt.Sscan(text, &files))(t)
	}
	b, d, err := m.Boxes.Ready(t.Context(), "wt")
	must.Do(t, err)
	first := must.Get(m.Store.Session(t.Context(), m.id))(t)
	for i := range 200 {
		v := first
		if i > 0 {
			v.ID = fmt.Sprintf("%08x", i)
			must.Do(t, m.Store.AddSession(t.Context(), v))
			must.Do(t, os.MkdirAll(m.Dir(v.ID), 0o700))
			must.Do(t, m.WriteOrder(session.Order{Session: v.ID, Plan: "plan.md"}))
		}
		p := must.Get(d.Prepare(t.Context(), b, v.ID))(t)
		must.Do(t, os.WriteFile(filepath.Join(p.Workspace, "left.txt"), []byte("left"), 0o600))
		left := fmt.Sprintf(`{"run":%d,"commits":{"oid":"%s"},"uncommitted":{}}`, v.Started.UnixMilli(), v.Base)
		must.Do(t, os.WriteFile(filepath.Join(m.Dir(v.ID), "left.json"), []byte(left), 0o600))
	}
	many := filepath.Join(m.Boxes.Dir("wt"), "sessions", "00000001", "workspace")
	for i := range files {
		if i%1000 == 0 {
			must.Do(t, os.Mkdir(filepath.Join(many, fmt.Sprint(i/1000)), 0o700))
		}
		must.Do(t, os.WriteFile(filepath.Join(many, fmt.Sprint(i/1000), fmt.Sprint(i)), nil, 0o600))
	}
	return m
}
