package git_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func TestWorktrees(t *testing.T) {
	user := gittest.New(t)
	user.Commit("first", "a", "x\n")
	repo := openRepo(t, user.Dir)
	dir := filepath.Join(t.TempDir(), "-w $(x) é")
	user.Git("worktree", "add", "-q", "-b", "cco/0123abcd", dir)
	list, err := repo.Worktrees(t.Context())
	want := []git.Worktree{{Path: user.Dir, Branch: "main"}, {Path: dir, Branch: "cco/0123abcd"}}
	if d := cmp.Diff(want, list); d != "" || err != nil {
		t.Fatal(d, err)
	}
}

// Guards against a worktree in another one that is overlooked, and against other directories that are taken for one.
func TestNestedWorktrees(t *testing.T) {
	user := gittest.New(t)
	user.Commit("first", "a", "x\n")
	admin, inner := user.Path(".git/worktrees"), user.Path("deep/inner")
	user.Git("worktree", "add", "-q", inner)
	user.Git("worktree", "add", "-q", "--detach", user.Path("other"))
	user.Git("worktree", "add", "-q", "--detach", filepath.Join(t.TempDir(), "outside"))
	user.Git("worktree", "add", "-q", "--detach", user.Path("gone"))
	must.Do(t, os.RemoveAll(user.Path("gone")))
	must.Do(t, os.Mkdir(filepath.Join(admin, "unfinished"), 0o755))
	relative := []byte("../../../other/.git\n") // as newer gits write it
	must.Do(t, os.WriteFile(filepath.Join(admin, "other", "gitdir"), relative, 0o600))
	got := openRepo(t, user.Dir).NestedWorktrees()
	if d := cmp.Diff([]string{inner, user.Path("other")}, got); d != "" {
		t.Error(d)
	}
	if got := openRepo(t, inner).NestedWorktrees(); got != nil {
		t.Errorf("in the inner one: %q", got)
	}
	around := gittest.Init(t, filepath.Join(t.TempDir(), "around"))
	main := gittest.Init(t, around.Path("main"))
	main.Commit("first", "a", "x\n")
	must.Do(t, os.RemoveAll(around.Path(".git")))
	main.Git("worktree", "add", "-q", "--detach", around.Path("linked"))
	if got := openRepo(t, around.Path("linked")).NestedWorktrees(); got != nil {
		t.Errorf("beside the main one: %q", got)
	}
}

func TestSummaryIsSafeToPrint(t *testing.T) {
	user := gittest.New(t)
	from := user.Commit("first", "a", "1\n")
	user.Git("-c", "user.name=Ev\x1b[31mil", "commit", "-q", "--allow-empty", "-m",
		"clear \x1b[2J the \u202escreen\u0007\n\nbody")
	user.Commit("content", "b\x1bc", "\x1b]0;title\x07\n", "bin", "\x00\x01")
	to := user.Git("rev-parse", "HEAD")
	repo := openRepo(t, user.Dir)
	s := must.Get(repo.Summary(t.Context(), from, to))(t)
	if s.Commits[0].Subject != "clear \ufffd[2J the \ufffdscreen\ufffd" || s.Commits[0].Author != "Ev\ufffd[31mil" ||
		s.Files[0].Path != "b\ufffdc" || !s.Files[1].Binary {
		t.Errorf("%+v", s)
	}
	for style, want := range map[git.DiffStyle]bool{git.DiffPlain: false, git.DiffRaw: true} {
		var b strings.Builder
		must.Do(t, repo.Diff(t.Context(), &b, from, to, style))
		if strings.Contains(b.String(), "\x1b") != want {
			t.Errorf("style %d: %q", style, b.String())
		}
	}
}
