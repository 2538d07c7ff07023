package phases

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a worker that can never be started again, because the power went while its name was written, and
// against two that go by one name, because a machine was cloned.
func TestAWorkerHasANameThatStays(t *testing.T) {
	a := &Phases{App: &app.App{}}
	a.Dirs.Data = t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(a.Dirs.Data, workerFile), nil, 0o600))
	if none := must.Get(a.workerID(false))(t); none != "" {
		t.Errorf("it has the name %q", none)
	}
	id := must.Get(a.workerID(true))(t)
	if again := must.Get(a.workerID(false))(t); id == "" || again != id {
		t.Errorf("it is %q, then %q", id, again)
	}
	// Another machine began with a copy of this one's disk.
	must.Do(t, os.WriteFile(filepath.Join(a.Dirs.Data, workerFile), []byte("that-0000x\n"), 0o600))
	if none := must.Get(a.workerID(false))(t); none != "" {
		t.Errorf("it goes by the name of another: %q", none)
	}
	if own := must.Get(a.workerID(true))(t); own != id {
		t.Errorf("it is %q, and was %q", own, id)
	}
}
