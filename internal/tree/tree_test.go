package tree

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

// nest makes directories in one another by their handles: no path is that long.
func nest(t *testing.T, dir string, depth int) {
	t.Helper()
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	at, err := os.OpenRoot(dir)
	for i := 0; i < depth && err == nil; i++ {
		var next *os.Root
		if err = at.Mkdir("d", 0o755); err == nil {
			next, err = at.OpenRoot("d")
		}
		_ = at.Close()
		at = next
	}
	if err != nil {
		t.Fatal(err)
	}
	_ = at.Close()
}

// Guards against a session that can't be removed: deeper than anybody can hold open.
func TestRemoveStandsAnyDepth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	nest(t, dir, 21_000)
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// Guards against the same where few files can be open at once, as for an ordinary user: no step may hold a level open.
func TestFlattenHoldsNoLevelOpen(t *testing.T) {
	dir := t.TempDir()
	nest(t, dir, 1_000)
	parent, err := os.OpenRoot(filepath.Dir(dir))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = parent.Close() }()
	if err := empty(parent, filepath.Base(dir)); err != nil {
		t.Fatal(err)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Guards against a tree whose owner has closed it, and links that lead out of it.
func TestRemoveFollowsNothingAndOpensWhatIsClosed(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	if err := os.WriteFile(kept, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	parent := t.TempDir()
	dir := filepath.Join(parent, "tree")
	deep := filepath.Join(dir, strings.Repeat("d/", 300))
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for i, d := 0, deep; i < 300; i, d = i+1, filepath.Dir(d) {
		if err := os.Symlink(outside, filepath.Join(d, "link")); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(d, "file"+strconv.Itoa(i)), nil, 0); err != nil {
			t.Fatal(err)
		}
		if err := os.Chmod(d, os.FileMode(i%8)); err != nil {
			t.Fatal(err)
		}
	}
	above, err := os.OpenRoot(parent)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = above.Close() }()
	if err := empty(above, "tree"); err != nil {
		t.Fatal(err)
	}
	if err := Remove(dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// Guards against one that takes a link, or nothing, for a directory.
func TestRemoveTakesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	if err := os.MkdirAll(filepath.Join(target, "below"), 0o755); err != nil {
		t.Fatal(err)
	}
	link := filepath.Join(dir, "link")
	if err := os.Symlink(target, link); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{link, link, filepath.Join(dir, "none", "at", "all")} {
		if err := Remove(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(target, "below")); err != nil {
		t.Error(err)
	}
}
