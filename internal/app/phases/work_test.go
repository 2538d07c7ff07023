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
	if none := must.Get(a.workerID(false))(t); none != "" {
		t.Errorf("it has the name %q", none)
	}
	id := must.Get(a.workerID(true))(t)
	if again := must.Get(a.workerID(false))(t); id == "" || again != id {
		t.Errorf("it is %q, then %q", id, again)
	}
}
