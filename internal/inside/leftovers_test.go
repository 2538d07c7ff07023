package inside

import (
	"os"
	"path/filepath"
	"testing"

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
