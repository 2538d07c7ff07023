package git_test

import (
	"slices"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func TestCommitsTellWhatTheySayAndTouch(t *testing.T) {
	gittest.Home(t)
	r := gittest.New(t)
	base := r.Commit("start", "README", "x")
	r.Commit("fix: quote it\n\nBecause.\n\nCco-Finding: abc123\nCco-Finding: def456\nnot a trailer line\n", "a.go", "x",
		"dir/b.go", "y")
	r.Git("commit", "-q", "--allow-empty", "-m", "decline", "-m", "Cco-Declined: abc123 it is\x1b[31m fine")
	tip := r.Git("rev-parse", "HEAD")
	repo := must.Get(git.Open(t.Context(), r.Dir))(t)
	list, err := repo.Commits(t.Context(), base, tip)
	if err != nil || len(list) != 2 {
		t.Fatalf("%+v, %v", list, err)
	}
	want := []git.Trailer{{Key: "Cco-Finding", Value: "abc123"}, {Key: "Cco-Finding", Value: "def456"}}
	if first := list[0]; first.Subject != "fix: quote it" || !slices.Equal(first.Files, []string{"a.go", "dir/b.go"}) ||
		!slices.Equal(first.Trailers, want) {
		t.Errorf("%+v", first)
	}
	if second := list[1]; len(second.Files) != 0 || len(second.Trailers) != 1 || second.Trailers[0].Value == "" ||
		slices.Contains([]byte(second.Trailers[0].Value), 0x1b) {
		t.Errorf("%+v", second)
	}
	if none, err := repo.Commits(t.Context(), tip, tip); err != nil || len(none) != 0 {
		t.Errorf("%+v, %v", none, err)
	}
	if _, err := repo.Commits(t.Context(), "--all", tip); err == nil {
		t.Error("an option was taken for a commit")
	}
}
