package git_test

import (
	"errors"
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

func TestCommitsAreMadeAnewOnTop(t *testing.T) {
	g := gittest.Init(t, t.TempDir(), "-b", "main")
	g.Commit("start", "a.txt", "1\n2\n3\n4\n5\n")
	base := g.Git("rev-parse", "HEAD")
	g.Git("checkout", "-q", "-b", "work")
	g.Git("-c", "user.name=Robin", "-c", "user.email=r@example.org", "commit", "--allow-empty", "-qm", "One\n\nwhy")
	g.Commit("Two", "a.txt", "1\n2\n3\n4\nfive\n")
	tip := g.Git("rev-parse", "HEAD")
	g.Git("checkout", "-q", "main")
	g.Commit("mine", "a.txt", "one\n2\n3\n4\n5\n")
	onto := g.Git("rev-parse", "HEAD")
	repo := must.Get(git.Open(t.Context(), g.Dir))(t)
	by := git.Identity{Name: "Ada", Email: "ada@example.org"}
	made := must.Get(repo.Replay(t.Context(), base, tip, onto, by))(t)
	if again := must.Get(repo.Replay(t.Context(), base, tip, onto, by))(t); again != made {
		t.Errorf("%s, and then %s", made, again)
	}
	if got := g.Git("show", made+":a.txt"); got != "one\n2\n3\n4\nfive" {
		t.Errorf("the file is %q", got)
	}
	const what = "--format=%an %ad %B"
	if got, want := g.Git("log", "-1", what, made+"~1"), g.Git("log", "-1", what, tip+"~1"); got != want ||
		g.Git("log", "-1", "--format=%P %cn", made+"~1") != onto+" Ada" {
		t.Errorf("%q, want %q", got, want)
	}
	g.Commit("clash", "a.txt", "1\n2\n3\n4\ncinq\n")
	_, err := repo.Replay(t.Context(), base, tip, g.Git("rev-parse", "HEAD"), by)
	if clash, ok := errors.AsType[*git.ConflictError](err); !ok || !slices.Equal(clash.Files, []string{"a.txt"}) {
		t.Errorf("both sides changed a line: %v", err)
	}
	g.Git("merge", "-q", "-s", "ours", "work")
	_, err = repo.Replay(t.Context(), base, g.Git("rev-parse", "HEAD"), onto, by)
	if !errors.As(err, new(*git.MergesError)) {
		t.Errorf("a merge was made anew: %v", err)
	}
}
