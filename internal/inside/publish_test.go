package inside

import (
	"os"
	"path/filepath"
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
