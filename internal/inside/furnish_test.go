package inside

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against settings that an agent has closed or replaced by a link, so that the next run would lack them.
func TestFurnishPutsFilesInPlaceWhateverIsThere(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, ".codex", "config.toml", "x"), 0o700))
	must.Do(t, os.Symlink("/nowhere", filepath.Join(dir, "settings.json")))
	job := must.Get(json.Marshal(Furniture{Dir: dir, Files: []FurnishedFile{
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
		job, _ := json.Marshal(Furniture{Dir: dir, Files: []FurnishedFile{{Path: path}}})
		if err := Furnish(t.Context(), strings.NewReader(string(job))); err == nil {
			t.Errorf("%q was written", path)
		}
	}
}
