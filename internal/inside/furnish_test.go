package inside

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/whole"
)

// Guards against settings that an agent has closed or replaced by a link, so that the next run would lack them.
func TestFurnishPutsFilesInPlaceWhateverIsThere(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, ".codex", "config.toml", "x"), 0o700))
	must.Do(t, os.Symlink("/nowhere", filepath.Join(dir, "settings.json")))
	job := must.Get(json.Marshal(Furniture{Dir: dir, Files: []whole.File{
		{Path: ".codex/config.toml", Data: []byte("a"), Mode: 0o600}, {Path: "settings.json", Data: []byte("b"), Mode: 0o400},
	}}))(t)
	for range 2 {
		must.Do(t, Furnish(t.Context(), strings.NewReader(string(job))))
	}
	for path, want := range map[string]string{".codex/config.toml": "a", "settings.json": "b"} {
		if got, err := os.ReadFile(filepath.Join(dir, path)); err != nil || string(got) != want {
			t.Errorf("%s: %q, %v", path, got, err)
		}
	}
	for _, path := range []string{"../x", "/etc/x", ""} {
		job, _ := json.Marshal(Furniture{Dir: dir, Files: []whole.File{{Path: path}}})
		if err := Furnish(t.Context(), strings.NewReader(string(job))); err == nil {
			t.Errorf("%q was written", path)
		}
	}
}

// Guards against a reader of a phase's state who finds a part of it, or nothing, while it is written anew.
func TestFurnishReplacesAFileAsAWhole(t *testing.T) {
	dir, data := t.TempDir(), strings.Repeat("x", 1<<16)
	job := string(must.Get(json.Marshal(Furniture{Dir: dir, Files: []whole.File{
		{Path: "state.json", Data: []byte(data), Mode: 0o644}}}))(t))
	must.Do(t, Furnish(t.Context(), strings.NewReader(job)))
	written := make(chan error, 1)
	go func() {
		var err error
		for range 50 {
			err = errors.Join(err, Furnish(t.Context(), strings.NewReader(job)))
		}
		written <- err
	}()
	for {
		if got, err := os.ReadFile(filepath.Join(dir, "state.json")); err != nil || string(got) != data {
			t.Fatalf("%d of %d bytes, %v", len(got), len(data), err)
		}
		select {
		case err := <-written:
			must.Do(t, err)
			return
		default:
		}
	}
}
