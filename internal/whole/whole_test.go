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

// Guards against a user's file that others can read after cco has changed it, and against one that they no longer can.
func TestReplaceKeepsTheMode(t *testing.T) {
	dir := t.TempDir()
	mode := func(name string) os.FileMode { return must.Get(os.Stat(filepath.Join(dir, name)))(t).Mode().Perm() }
	for name, want := range map[string]os.FileMode{"mine/a": 0o600, "all/a": 0o644} {
		file := filepath.Join(dir, name)
		must.Do(t, whole.Replace(file, []byte("one"), want))
		if got := mode(filepath.Dir(name)); got != want|want&0o444>>2 {
			t.Errorf("the directory of %s has mode %v", name, got)
		}
		must.Do(t, os.Chmod(file, 0o640))
		must.Do(t, whole.Replace(file, []byte("two"), want))
		if got := string(must.Get(os.ReadFile(file))(t)); got != "two" || mode(name) != 0o640 {
			t.Errorf("%s holds %q and has mode %v", name, got, mode(name))
		}
	}
}
