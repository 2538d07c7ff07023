package phases

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a worker that can never be started again, because the power went while its name was written.
func TestAWorkerHasANameThatStays(t *testing.T) {
	a := &Phases{App: &app.App{}}
	a.Dirs.Data = t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(a.Dirs.Data, workerFile), nil, 0o600))
	id := must.Get(a.workerID())(t)
	if again := must.Get(a.workerID())(t); id == "" || again != id {
		t.Errorf("it is %q, then %q", id, again)
	}
}
