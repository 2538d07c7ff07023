package whole_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/whole"
)

func TestWriteReplacesAndLeavesNothingElse(t *testing.T) {
	dir := t.TempDir()
	name := filepath.Join(dir, "a")
	must.Do(t, whole.Write(name, []byte("one"), 0o600))
	must.Do(t, whole.Write(name, []byte("two"), 0o640))
	if got := string(must.Get(os.ReadFile(name))(t)); got != "two" {
		t.Errorf("it holds %q", got)
	}
	if mode := must.Get(os.Stat(name))(t).Mode(); mode != 0o640 {
		t.Errorf("its mode is %v", mode)
	}
	must.Do(t, os.Mkdir(filepath.Join(dir, "d"), 0o700))
	if err := whole.Write(filepath.Join(dir, "d"), nil, 0o600); err == nil {
		t.Error("a directory was replaced")
	}
	if left := must.Get(os.ReadDir(dir))(t); len(left) != 2 {
		t.Errorf("it left %v", left)
	}
}
