package tree

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/cco-dev/cco/internal/must"
)

// nest makes nested directories by their handles: no path is that long.
func nest(t *testing.T, dir string, depth int) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
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

func always() bool { return true }

// Guards against a session that can't be removed because its tree is deeper than the descriptors that can be open.
func TestRemoveStandsAnyDepth(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "tree")
	nest(t, dir, 21_000)
	must.Do(t, Remove(dir))
	if _, err := os.Lstat(dir); !os.IsNotExist(err) {
		t.Errorf("it is still there: %v", err)
	}
}

// Guards against the same if few files can be open at once, as for an ordinary user: no step may hold a level open.
func TestFlattenHoldsNoLevelOpen(t *testing.T) {
	dir := t.TempDir()
	nest(t, dir, 1_000)
	parent := must.Get(os.OpenRoot(filepath.Dir(dir)))(t)
	defer func() { _ = parent.Close() }()
	must.Get(empty(parent, filepath.Base(dir), always))(t)
	if left, err := os.ReadDir(dir); err != nil || len(left) > 0 {
		t.Errorf("left: %v, %v", left, err)
	}
}

// Guards against a tree whose owner has closed it, and links that lead out of it.
func TestRemoveFollowsNothingAndOpensWhatIsClosed(t *testing.T) {
	outside := t.TempDir()
	kept := filepath.Join(outside, "kept")
	must.Do(t, os.WriteFile(kept, nil, 0o600))
	parent := t.TempDir()
	dir := filepath.Join(parent, "tree")
	deep := filepath.Join(dir, strings.Repeat("d/", 300))
	must.Do(t, os.MkdirAll(deep, 0o755))
	for i, d := 0, deep; i < 300; i, d = i+1, filepath.Dir(d) {
		must.Do(t, os.Symlink(outside, filepath.Join(d, "link")))
		must.Do(t, os.WriteFile(filepath.Join(d, "file"+strconv.Itoa(i)), nil, 0))
		must.Do(t, os.Chmod(d, os.FileMode(i%8)))
	}
	above := must.Get(os.OpenRoot(parent))(t)
	defer func() { _ = above.Close() }()
	must.Get(empty(above, "tree", always))(t)
	must.Do(t, Remove(dir))
	if _, err := os.Stat(kept); err != nil {
		t.Error(err)
	}
}

// Guards against taking a link, or nothing, for a directory.
func TestRemoveTakesWhatIsThere(t *testing.T) {
	dir := t.TempDir()
	target := filepath.Join(dir, "target")
	must.Do(t, os.MkdirAll(filepath.Join(target, "below"), 0o755))
	link := filepath.Join(dir, "link")
	must.Do(t, os.Symlink(target, link))
	for _, name := range []string{link, link, filepath.Join(dir, "none", "at", "all")} {
		if err := Remove(name); err != nil {
			t.Error(err)
		}
	}
	if _, err := os.Stat(filepath.Join(target, "below")); err != nil {
		t.Error(err)
	}
}

// Guards against an agent's link in a directory that the user writes to later.
func TestLinksThatWereMadeAreDropped(t *testing.T) {
	dir := t.TempDir()
	sub := filepath.Join(dir, "sub")
	must.Do(t, os.Mkdir(sub, 0o755))
	must.Do(t, os.WriteFile(filepath.Join(sub, "file"), nil, 0o600))
	must.Do(t, os.Symlink("file", filepath.Join(sub, "link")))
	must.Do(t, unix.Mkfifo(filepath.Join(sub, "fifo"), 0o600))
	must.Do(t, unix.Lutimes(filepath.Join(sub, "link"), make([]unix.Timeval, 2))) // it looks old
	left := func(since time.Duration) int {
		must.Do(t, DropLinks(dir, time.Now().Add(since)))
		return len(must.Get(os.ReadDir(sub))(t))
	}
	if old, made := left(time.Hour), left(-time.Hour); old != 3 || made != 1 {
		t.Errorf("%d are left of what was there before, and %d of what was made", old, made)
	}
	must.Do(t, DropLinks(filepath.Join(dir, "none"), time.Now()))
}
