package api

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a box whose files lead elsewhere, or never end.
func TestWhatABoxHoldsIsCountedWithoutOpeningIt(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	must.Do(t, os.WriteFile(filepath.Join(elsewhere, "large"), make([]byte, 1<<20), 0o600))
	must.Do(t, os.MkdirAll(filepath.Join(dir, "a", "b"), 0o700))
	must.Do(t, os.WriteFile(filepath.Join(dir, "a", "b", "ten"), make([]byte, 10), 0o600))
	must.Do(t, os.Symlink(elsewhere, filepath.Join(dir, "link")))
	must.Do(t, os.Symlink(filepath.Join(elsewhere, "large"), filepath.Join(dir, "a", "file")))
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "pipe"), 0o600))
	if got := bytesIn(dir); got != 10 {
		t.Errorf("it holds %d", got)
	}
	for _, name := range []string{"pipe", "link", "none"} { // in the place of a directory
		if got := bytesIn(filepath.Join(dir, name)); got != 0 {
			t.Errorf("%s holds %d", name, got)
		}
	}
}
