package inside

import (
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a workspace that can never be published again, because a git was killed in it.
func TestLocksOfAKilledGitDoNotStandInTheWay(t *testing.T) {
	g := gittest.New(t, "-b", "main")
	base := g.Commit("start", "a.txt", "a\n")
	g.Commit("work", "b.txt", "b\n")
	g.Write("left.txt", "left\n")
	out := t.TempDir()
	locks := []string{filepath.Join(out, OutputBundle+".tmp.lock")}
	for _, name := range []string{"index", "HEAD", OutRef, "refs/heads/main"} {
		locks = append(locks, filepath.Join(g.Dir, ".git", name+".lock"))
	}
	for _, f := range locks {
		must.Do(t, os.MkdirAll(filepath.Dir(f), 0o755))
		must.Do(t, os.WriteFile(f, nil, 0o600))
	}
	must.Do(t, Publish(t.Context(), Job{Session: "aaaaaaaa", Workspace: g.Dir, Exchange: out, Base: base, Branch: "main",
		Message: "Left"}))
	if _, err := os.Stat(filepath.Join(out, OutputBundle)); err != nil || g.Git("log", "-1", "--format=%s") != "Left" {
		t.Errorf("%v, %s", err, g.Git("log", "--oneline"))
	}
}

// Guards against a bundle from which git fetches nothing by hand: it has HEAD and the session's branch as well.
func TestAnOutputBundleCanBeFetchedByHand(t *testing.T) {
	for name, aside := range map[string]bool{"on its branch": false, "with HEAD elsewhere": true} {
		t.Run(name, func(t *testing.T) {
			g := gittest.New(t, "-b", "main")
			base := g.Commit("start", "a.txt", "a\n")
			user := gittest.At(t, t.TempDir())
			user.Git("clone", "-q", g.Dir, ".")
			work := g.Commit("work", "b.txt", "b\n")
			if aside {
				g.Git("checkout", "-q", "-b", "other", base)
			}
			out := t.TempDir()
			must.Do(t, Publish(t.Context(), Job{Session: "aaaaaaaa", Workspace: g.Dir, Exchange: out, Base: base,
				Branch: "main", Message: "Left"}))
			file := filepath.Join(out, OutputBundle)
			for _, args := range [][]string{{"fetch", "-q", file}, {"fetch", "-q", file, "main"},
				{"fetch", "-q", file, OutRef}} {
				user.Git(args...)
				if got := user.Git("rev-parse", "FETCH_HEAD"); got != work {
					t.Errorf("%v brings %s, not %s", args, got, work)
				}
			}
			sum := fmt.Sprintf("%x", sha256.Sum256(must.Get(os.ReadFile(file))(t)))
			r := must.Get(os.ReadFile(filepath.Join(out, ResultFile)))(t)
			if !strings.Contains(string(r), sum) {
				t.Errorf("the result has another sum than %s: %s", sum, r)
			}
		})
	}
}
