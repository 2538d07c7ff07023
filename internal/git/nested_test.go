package git

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

func TestNestedRepositoriesAreFoundByName(t *testing.T) {
	top := t.TempDir()
	for _, dir := range []string{".git/x/.git", "a/b/own/.git/objects", "a/b/own/deeper/.git", "sub", "other/tree",
		"dir", "dir/objects", "dir/refs"} {
		must.Do(t, os.MkdirAll(filepath.Join(top, dir), 0o755))
	}
	for _, name := range []string{"sub/.git", "other/tree/.git", "dir/file"} {
		must.Do(t, os.WriteFile(filepath.Join(top, name), []byte("gitdir: /elsewhere\n"), 0o644))
	}
	must.Do(t, os.Symlink(filepath.Join(top, "a"), filepath.Join(top, "link")))
	known := []string{filepath.Join(top, "sub", ".git"), filepath.Join(top, "other")}
	find := func(known ...string) []string { return Nested(top, known) }
	if got, want := find(known...), []string{filepath.Join(top, "a/b/own")}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := find(); len(got) != 3 || got[0] != filepath.Join(top, "sub") {
		t.Errorf("without what is known: %q", got)
	}
	// One without a worktree is a repository to git as well.
	must.Do(t, os.WriteFile(filepath.Join(top, "dir", "HEAD"), nil, 0o644))
	if got := find(known...); !slices.Contains(got, filepath.Join(top, "dir")) {
		t.Errorf("it overlooks a bare one: %q", got)
	}
	must.Do(t, os.Remove(filepath.Join(top, "dir", "HEAD")))
	// A large tree doesn't hold up a start: what lies behind too many names is not found.
	for i := range maxNested {
		must.Do(t, os.WriteFile(filepath.Join(top, "a", strconv.Itoa(i)), nil, 0o644))
	}
	if got := find(known...); len(got) != 0 {
		t.Errorf("it looked at more than its bound: %q", got)
	}
}
