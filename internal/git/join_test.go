package git_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func TestTwoHeadsAreMergedWithoutAWorktree(t *testing.T) {
	g := gittest.Init(t, t.TempDir(), "-b", "main")
	g.Commit("start", "a.txt", "one\n")
	start := g.Git("rev-parse", "HEAD")
	g.Commit("ours", "a.txt", "ours\n")
	ours := g.Git("rev-parse", "HEAD")
	g.Git("checkout", "-q", "-b", "theirs", start)
	g.Commit("theirs", "a.txt", "theirs\n")
	theirs := g.Git("rev-parse", "HEAD")
	g.Git("checkout", "-q", "-b", "beside", start)
	g.Commit("beside", "b.txt", "b\n")
	beside := g.Git("rev-parse", "HEAD")

	r := must.Get(git.Open(t.Context(), g.Dir))(t)
	got := must.Get(r.Automerge(t.Context(), ours, theirs))(t)
	if !slices.Equal(got.Conflicts, []string{"a.txt"}) || !strings.Contains(g.Git("show", got.Tree+":a.txt"), "=======") {
		t.Errorf("a conflict: %+v", got)
	}
	if got = must.Get(r.Automerge(t.Context(), ours, beside))(t); len(got.Conflicts) > 0 ||
		g.Git("show", got.Tree+":a.txt") != "ours" || g.Git("show", got.Tree+":b.txt") != "b" {
		t.Errorf("without a conflict: %+v", got)
	}
	by := git.Identity{Name: "Ada", Email: "ada@example.org"}
	join := git.Join{Ours: ours, Theirs: theirs, Tree: ours, Message: "Keep ours", By: by}
	first := must.Get(r.Join(t.Context(), join))(t)
	if again := must.Get(r.Join(t.Context(), join))(t); again != first {
		t.Errorf("%s, then %s", first, again)
	}
	if parents := g.Git("log", "-1", "--format=%P|%an|%s", first); parents != theirs+" "+ours+"|Ada|Keep ours" ||
		g.Git("rev-parse", first+"^{tree}") != g.Git("rev-parse", ours+"^{tree}") {
		t.Errorf("joined: %s", parents)
	}
}
