package phases

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/app"
	"github.com/cco-dev/cco/internal/cruise/serve"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/store"
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

// Guards against a phase that a machine holds and can never begin, although another could.
func TestWhatSettingsForbidIsForOthers(t *testing.T) {
	for err, want := range map[error]bool{&store.LargeError{}: true, &LargeBundleError{}: true, fs.ErrNotExist: true,
		errors.New("the forge is down"): false} {
		if _, unfit := errors.AsType[*serve.UnfitError](forOthers(err)); unfit != want {
			t.Errorf("%v: %v", err, unfit)
		}
	}
}
