package rooms

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// Guards against a shortcut that finds another place than the kernel does.
func TestResolverFollowsLinksAsTheKernelDoes(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, os.MkdirAll(filepath.Join(dir, "a/b"), 0o755))
	must.Do(t, os.WriteFile(filepath.Join(dir, "a/b/file"), nil, 0o600))
	for link, target := range map[string]string{
		"whole": dir, "up": "a/..", "c": "a/b", "a/b/to": "file", "a/away": "../c/to", "a/nowhere": "x", "round": "round",
	} {
		must.Do(t, os.Symlink(target, filepath.Join(dir, link)))
	}
	paths := Resolver{}
	for range 2 { // what is remembered gives the same
		for _, name := range []string{
			"", "a", "a/b/file", "c", "c/file", "c/to", "a/away", "a/nowhere", "a/nowhere/x", "round", "round/x",
			"whole/c/to", "up/a/b", "c/../b/file", "c/..", "missing", "missing/x", "a/b/file/x",
		} {
			name = dir + "/" + name
			want, wantErr := filepath.EvalSymlinks(name)
			got, st, err := paths.Real(name)
			if got != want || (err == nil) != (wantErr == nil) {
				t.Errorf("%s: %q, %v, want %q, %v", name, got, err, want, wantErr)
			}
			if err != nil {
				continue
			}
			if is, err := os.Lstat(want); err != nil || !os.SameFile(is, st) {
				t.Errorf("%s: something else is there", name)
			}
		}
	}
}
