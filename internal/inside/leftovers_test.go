package inside

import (
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against leftovers that are something else than what git itself would add.
func TestLeftoversAreWhatGitWouldAdd(t *testing.T) {
	for name, agent := range map[string]func(t *testing.T, g *gittest.Repo){
		"a directory in the place of a file": func(t *testing.T, g *gittest.Repo) {
			must.Do(t, os.Remove(filepath.Join(g.Dir, "a.txt")))
			g.Write("a.txt/deep/b", "b\n")
		},
		"a file in the place of a directory": func(t *testing.T, g *gittest.Repo) {
			must.Do(t, os.RemoveAll(filepath.Join(g.Dir, "d")))
			g.Write("d", "d\n")
		},
		"a link in the place of a directory": func(t *testing.T, g *gittest.Repo) {
			must.Do(t, os.Rename(filepath.Join(g.Dir, "d"), filepath.Join(g.Dir, "e")))
			must.Do(t, os.Symlink("e", filepath.Join(g.Dir, "d")))
		},
		"an ignored link in the place of a directory": func(t *testing.T, g *gittest.Repo) {
			must.Do(t, os.Rename(filepath.Join(g.Dir, "d"), filepath.Join(g.Dir, "e")))
			must.Do(t, os.Symlink("e", filepath.Join(g.Dir, "d")))
			g.Write(".gitignore", "/d\n")
		},
		"a conflict": func(t *testing.T, g *gittest.Repo) {
			base := g.Git("rev-parse", "HEAD")
			g.Commit("ours", "a.txt", "ours\n")
			ours := g.Git("rev-parse", "HEAD")
			g.Git("checkout", "-q", "-b", "other", base)
			g.Commit("theirs", "a.txt", "theirs\n")
			g.Git("checkout", "-q", ours)
			_, _ = g.Try("", "merge", "other")
		},
		"submodules that are gone": func(t *testing.T, g *gittest.Repo) {
			oid := g.Git("rev-parse", "HEAD")
			g.Git("update-index", "--add", "--cacheinfo", "160000,"+oid+",one", "--cacheinfo", "160000,"+oid+",two")
			g.Git("commit", "-q", "-m", "two of them")
			g.Write("two", "a file\n")
		},
		"staged, and gone again": func(t *testing.T, g *gittest.Repo) {
			g.Write("new", "new\n")
			g.Write("d/other", "other\n")
			g.Git("add", "new", "d/other")
			must.Do(t, os.Remove(filepath.Join(g.Dir, "new")))
			must.Do(t, os.Rename(filepath.Join(g.Dir, "d/other"), filepath.Join(g.Dir, "d/another")))
		},
		"gone, staged and renamed": func(t *testing.T, g *gittest.Repo) {
			g.Git("mv", "d/c", "d/x y\tz")
			g.Write("new", "new\n")
			g.Git("add", "-N", "new")
			must.Do(t, os.Remove(filepath.Join(g.Dir, "a.txt")))
		},
	} {
		for _, index := range []bool{true, false} {
			t.Run(name, func(t *testing.T) {
				g := gittest.New(t, "-b", "main")
				g.Write("d/f/g", "g\n")
				g.Write("d/c", "c\n")
				base := g.Commit("start", "a.txt", "a\n")
				agent(t, g)
				if !index {
					must.Do(t, os.Remove(filepath.Join(g.Dir, ".git", "index")))
				}
				r := publishIn(t, g, Job{Base: base})
				g.Git("add", "-A")
				if want := g.Git("write-tree"); len(r.Lost) > 0 || g.Git("rev-parse", r.Wip+"^{tree}") != want {
					t.Errorf("%+v: %s", r, g.Git("diff", "--raw", r.Wip, want))
				}
			})
		}
	}
}

// Guards against leftovers that track a file again which the agent has taken out of git and ignores now.
func TestLeftoversTrackNothingThatWasTakenOut(t *testing.T) {
	g := gittest.New(t, "-b", "main")
	g.Write("build/out", "out\n")
	base := g.Commit("start", "secret.env", "key\n")
	g.Write(".gitignore", "*.env\n/build\n")
	g.Git("rm", "-r", "-q", "--cached", "secret.env", "build")
	r := publishIn(t, g, Job{Base: base})
	if got := g.Git("ls-tree", "-r", "--name-only", r.Wip); got != ".gitignore" || len(r.Lost) > 0 {
		t.Errorf("it tracks %q, %q", got, r.Lost)
	}
}

// Guards against a change in the second of the commit before it, of the same length: only the time of the index tells
// git to look closer.
func TestAChangeInTheSecondOfACommitIsLeft(t *testing.T) {
	g := gittest.New(t, "-b", "main")
	at := time.Now().Add(-time.Hour)
	file, index := filepath.Join(g.Dir, "a.txt"), filepath.Join(g.Dir, ".git", "index")
	write := func(text string) {
		must.Do(t, os.WriteFile(file, []byte(text), 0o600))
		must.Do(t, os.Chtimes(file, at, at))
	}
	write("1.0.1\n")
	g.Git("add", "a.txt")
	g.Git("commit", "-q", "-m", "start")
	base := g.Git("rev-parse", "HEAD")
	write("1.0.2\n")
	must.Do(t, os.Chtimes(index, at, at))
	r := publishIn(t, g, Job{Base: base})
	if r.Wip == "" {
		t.Fatal("nothing is left")
	}
	if got := g.Git("show", r.Wip+":a.txt"); got != "1.0.2" {
		t.Errorf("%q is left", got)
	}
}
