package graveyard

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/must"
)

// put writes files, each with its own name in it.
func put(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		must.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		must.Do(t, os.WriteFile(path, []byte(name), 0o600))
	}
}

// all lists what is below a directory, links with their targets.
func all(t *testing.T, dir string) (names []string) {
	t.Helper()
	must.Do(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		name, _ := filepath.Rel(dir, path)
		if target, err := os.Readlink(path); err == nil {
			name += " -> " + target
		}
		names = append(names, name)
		return nil
	}))
	return names
}

func TestTheGraveyardIsClosedAndNoRepository(t *testing.T) {
	y := Yard{filepath.Join(t.TempDir(), "graveyard")}
	must.Do(t, os.Mkdir(y.Dir, 0o755)) // an earlier cco made it
	for range 2 {
		must.Do(t, y.Open())
	}
	if info := must.Get(os.Stat(y.Dir))(t); info.Mode().Perm() != 0o700 {
		t.Errorf("its mode is %v", info.Mode())
	}
	if text := must.Get(os.ReadFile(filepath.Join(y.Dir, ".git")))(t); !strings.HasPrefix(string(text), "gitdir: ") {
		t.Errorf(".git holds %q", text)
	}
}

// Guards against a directory that can't be moved because its agent has closed it, and against following what is none.
func TestMoveTakesWhatIsClosedAndNoLink(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "below", "to")
	must.Do(t, os.Mkdir(filepath.Dir(to), 0o700))
	put(t, from, "a", "b/c")
	must.Do(t, os.Chmod(from, 0))
	for range 2 { // it can be repeated
		must.Do(t, Move(from, to))
		if got := all(t, to); !slices.Equal(got, []string{"a", "b/c"}) {
			t.Fatalf("moved %v", got)
		}
	}
	must.Do(t, os.Symlink(to, from))
	if err := Move(from, filepath.Join(dir, "other")); err == nil {
		t.Error("a link was moved for what it leads to")
	}
	if err := Move(filepath.Join(dir, "none"), filepath.Join(dir, "nor")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("nothing was moved: %v", err)
	}
}

// Guards against a copy to another file system that lacks something, or takes as long as a hole is large.
func TestAMoveToAnotherFileSystemIsWhole(t *testing.T) {
	dir := t.TempDir()
	from, to := filepath.Join(dir, "from"), filepath.Join(dir, "to")
	put(t, from, "a", "closed/b", "deep/er/c")
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(from, "link")))
	must.Do(t, syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600))
	hole := filepath.Join(from, "hole")
	must.Do(t, os.WriteFile(hole, []byte("begin"), 0o640))
	must.Do(t, os.Truncate(hole, 1<<40))
	must.Do(t, os.Chmod(filepath.Join(from, "a"), 0))
	must.Do(t, os.Chmod(filepath.Join(from, "closed"), 0))
	put(t, to+".half", "of", "an/earlier", "attempt")
	must.Do(t, moveAcross(from, to))
	must.Do(t, os.Chmod(filepath.Join(to, "closed"), 0o700))
	want := []string{"a", "closed/b", "deep/er/c", "hole", "link -> /etc/passwd"}
	if got := all(t, to); !slices.Equal(got, want) {
		t.Errorf("copied %v", got)
	}
	if info := must.Get(os.Stat(filepath.Join(to, "hole")))(t); info.Size() != 1<<40 || info.Mode().Perm() != 0o640 {
		t.Errorf("the hole is %d bytes, %v", info.Size(), info.Mode())
	}
	if Has(from) || Has(to+".half") {
		t.Error("something was left")
	}

	// Broken off before the end it goes on, and what is no copy stays.
	put(t, from, "a")
	must.Do(t, os.Truncate(filepath.Join(from, "a"), 0))
	if err := Move(from, to); err == nil || !Has(filepath.Join(from, "a")) {
		t.Errorf("what was no copy was removed: %v", err)
	}
	put(t, from, "a")
	must.Do(t, Move(from, to))
	if Has(from) {
		t.Error("it is still there")
	}
}

// Guards against logins that stay for a month, transcripts that don't, and links that lead a wipe elsewhere.
func TestWipeLeavesWhatStays(t *testing.T) {
	for _, broken := range []string{"", "before", "sorted", "thrown"} {
		t.Run("broken off "+broken, func(t *testing.T) {
			y := Yard{filepath.Join(t.TempDir(), "graveyard")}
			must.Do(t, y.Open())
			outside := t.TempDir()
			put(t, outside, "login", "kept")
			home := filepath.Join(y.Dir, "0a1b2c3d", "home")
			put(t, home, ".agent/login", ".agent/talk/one", ".local/share/two/talk", ".cache/much", ".bashrc", ".closed/login",
				".closed/talk")
			must.Do(t, os.Symlink(outside, filepath.Join(home, ".linked")))
			must.Do(t, os.Chmod(filepath.Join(home, ".closed"), 0))
			must.Do(t, os.Chmod(filepath.Join(home, ".local"), 0o100))
			keep := []string{".agent", ".local/share/two", ".linked", ".closed", ".none"}
			drop := []string{".agent/login", ".linked/login", ".closed/login", ".none/login"}
			switch broken {
			case "sorted":
				must.Do(t, sort(home, keep, drop))
				must.Do(t, os.Rename(filepath.Join(home, sorted), home+".kept"))
			case "thrown":
				must.Do(t, sort(home, keep, drop))
				must.Do(t, os.Rename(filepath.Join(home, sorted), home+".kept"))
				must.Do(t, y.Throw(home))
			case "before":
				must.Do(t, sort(home, keep[:1], drop))
			}
			must.Do(t, y.Wipe(home, keep, drop))
			if got := all(t, home); !slices.Equal(got, []string{".agent/talk/one", ".closed/talk", ".local/share/two/talk"}) {
				t.Errorf("left: %v", got)
			}
			if got := all(t, outside); len(got) != 2 {
				t.Errorf("outside: %v", got)
			}
			if clean, err := y.Sweep(func() bool { return true }); !clean || err != nil {
				t.Errorf("rubbish is left: %v", err)
			}
			if got := all(t, y.Dir); len(got) != 4 { // with .git
				t.Errorf("in the graveyard: %v", got)
			}
		})
	}
}

// Guards against a home that is a link, as an agent that nothing holds can make it: a wipe would empty another place.
func TestWipeFollowsNoHome(t *testing.T) {
	y := Yard{filepath.Join(t.TempDir(), "graveyard")}
	must.Do(t, y.Open())
	put(t, y.Dir, "0a1b2c3d/workspace/work")
	home := filepath.Join(y.Dir, "0a1b2c3d", "home")
	must.Do(t, os.Symlink("workspace", home))
	must.Do(t, y.Wipe(home, nil, nil))
	if Has(home) || !Has(filepath.Join(y.Dir, "0a1b2c3d/workspace/work")) {
		t.Errorf("left: %v", all(t, y.Dir))
	}
}

// Guards against an expiry that holds up a command, and one that never comes to an end.
func TestASweepGoesOnWhereItWas(t *testing.T) {
	y := Yard{filepath.Join(t.TempDir(), "graveyard")}
	must.Do(t, y.Open())
	grave := y.Grave("0a1b2c3d")
	for i := range 4 {
		for j := range 600 {
			put(t, grave, fmt.Sprintf("d%d/d/%d", i, j))
		}
		must.Do(t, os.Chmod(filepath.Join(grave, fmt.Sprintf("d%d", i)), 0))
	}
	must.Do(t, y.Throw(grave))
	if Has(grave) {
		t.Error("it is still in sight")
	}
	for times := 1; ; times++ {
		asked := 0
		clean := must.Get(y.Sweep(func() bool { asked++; return asked < 6 }))(t)
		if clean && times == 1 || times > 30 {
			t.Fatalf("%v after %d times", clean, times)
		}
		if clean {
			break
		}
	}
	if got := all(t, filepath.Join(y.Dir, rubbish)); len(got) > 0 {
		t.Errorf("left: %d files", len(got))
	}
}

// Guards against files that steer git or lead elsewhere in what a user looks at.
func TestFilesArePlain(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "to")
	put(t, from, "a", "sub/b", ".git/config", "sub/.GIT/config", "run.sh")
	must.Do(t, os.Chmod(filepath.Join(from, "run.sh"), fs.ModeSetuid|0o755))
	must.Do(t, os.Symlink("/etc/passwd", filepath.Join(from, "link")))
	must.Do(t, os.Symlink("/etc", filepath.Join(from, "dir")))
	must.Do(t, syscall.Mkfifo(filepath.Join(from, "pipe"), 0o600))
	skip := func(name string) bool { return strings.EqualFold(name, ".git") }
	must.Do(t, Files(from, to, skip))
	if got := all(t, to); !slices.Equal(got, []string{"a", "run.sh", "sub/b"}) {
		t.Errorf("copied %v", got)
	}
	if mode := must.Get(os.Stat(filepath.Join(to, "run.sh")))(t).Mode(); mode != 0o700 {
		t.Errorf("it is %v", mode)
	}
	if err := Files(from, to, skip); !errors.Is(err, fs.ErrExist) {
		t.Errorf("into a directory that is there: %v", err)
	}
	if got := all(t, to); len(got) != 3 {
		t.Errorf("a refusal has removed what was there: %v", got)
	}
}

func TestLinkGivesWhatIsLacking(t *testing.T) {
	from, to := t.TempDir(), filepath.Join(t.TempDir(), "repos", "key.git")
	put(t, from, "objects/aa/1", "objects/pack/p", "refs/cco/x")
	for range 2 {
		must.Do(t, Link(from, to))
		if got := all(t, to); !slices.Equal(got, []string{"objects/aa/1", "objects/pack/p", "refs/cco/x"}) {
			t.Errorf("linked %v", got)
		}
		put(t, to, "objects/aa/1")
	}
}

func TestSizeCountsNoHoles(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "a")
	must.Do(t, os.WriteFile(filepath.Join(dir, "hole"), nil, 0o600))
	must.Do(t, os.Truncate(filepath.Join(dir, "hole"), 1<<40))
	if n, whole := Size(dir, func() bool { return true }); n > 1<<20 || !whole {
		t.Errorf("%d bytes, all %v", n, whole)
	}
	for i := range 600 {
		put(t, dir, fmt.Sprint(i))
	}
	if _, whole := Size(dir, func() bool { return false }); whole {
		t.Error("it says that it counted all")
	}
}
