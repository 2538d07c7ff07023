package host

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/box/native/jail"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a part of a directory that somebody takes away meanwhile, and without which nothing would start.
func TestPartsMayVanish(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"at/point", "beside"} {
		must.Do(t, os.MkdirAll(filepath.Join(dir, name), 0o755))
	}
	must.Do(t, os.WriteFile(filepath.Join(dir, "file"), nil, 0o600))
	var mounts []jail.Mount
	v := &View{points: []string{filepath.Join(dir, "at/point")}}
	v.machine(&part{mounts: &mounts, left: maxParts, dir: func(string) {}, link: func(string, string) {}}, dir, os.ModeDir)
	if len(mounts) != 3 {
		t.Errorf("it has %d parts: %v", len(mounts), mounts)
	}
	for _, m := range mounts {
		if !m.Found {
			t.Errorf("%s has to be there", m.Source)
		}
	}
}
