package cli_test

import (
	"encoding/json"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
	"github.com/rogpeppe/go-internal/txtar"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/programs"
)

// Guards against knowledge of agents that spreads again: an agent is added with five files, which CONTRIBUTING names,
// and then works everywhere. The programs are built with those files laid over the module's own.
func TestAnAgentIsAddedWithFiveFiles(t *testing.T) {
	root := must.Get(filepath.Abs("../.."))(t)
	over := newcomer(t, root, "testdata/newcomer.txtar")
	if len(over) > 5 {
		t.Errorf("it takes %d files: %v", len(over), slices.Sorted(maps.Keys(over)))
	}
	guide := string(must.Get(os.ReadFile(filepath.Join(root, "CONTRIBUTING.md")))(t))
	for name := range over {
		rel := must.Get(filepath.Rel(root, name))(t)
		if said := strings.Replace(rel, "parrot", "claude", 1); !strings.Contains(guide, "`"+said+"`") {
			t.Errorf("CONTRIBUTING.md doesn't name %s", said)
		}
	}
	file := filepath.Join(t.TempDir(), "overlay.json")
	must.Do(t, os.WriteFile(file, must.Get(json.Marshal(map[string]any{"Replace": over}))(t), 0o644))
	bin := t.TempDir()
	must.Do(t, os.Chmod(bin, 0o755))
	must.Do(t, programs.Overlaid(t.Context(), file, bin, "cco", "cco-box", "cco-guard"))
	testscript.Run(t, params("newcomer", bin))
}

// newcomer writes the files of an archive, and says what of the module each stands for.
func newcomer(t *testing.T, root, archive string) map[string]string {
	t.Helper()
	over := map[string]string{}
	for _, f := range must.Get(txtar.ParseFile(archive))(t).Files {
		name, anchor, adds := strings.Cut(f.Name, " before ")
		name = filepath.Join(root, name)
		if adds {
			was := string(must.Get(os.ReadFile(name))(t))
			line := strings.Index(was, anchor)
			if line < 0 {
				t.Fatalf("%s has no line that begins with %s", name, anchor)
			}
			at := strings.LastIndexByte(was[:line], '\n') + 1
			f.Data = []byte(was[:at] + string(f.Data) + was[at:])
		} else if _, err := os.Stat(name); err == nil {
			t.Fatalf("%s is there already", name)
		}
		over[name] = filepath.Join(t.TempDir(), filepath.Base(name))
		must.Do(t, os.WriteFile(over[name], f.Data, 0o644))
	}
	return over
}
