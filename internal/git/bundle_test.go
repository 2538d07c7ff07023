package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func openRepo(t *testing.T, dir string) *git.Repo {
	t.Helper()
	r := must.Get(git.Open(t.Context(), dir))(t)
	return r
}

func TestBundleOfOddBranches(t *testing.T) {
	for _, format := range []string{"sha1", "sha256"} {
		user := gittest.New(t, "--object-format="+format)
		c := user.Commit("first", "a", "x\n")
		r := openRepo(t, user.Dir)
		for _, branch := range []string{"main", "-x", "--all", "it's", "a\"b", "$(touch${IFS}x)", "größe/日本"} {
			user.Git("update-ref", "refs/heads/"+branch, c)
			dir := t.TempDir()
			path := filepath.Join(dir, "-o $(x).bundle")
			res, err := r.Bundle(t.Context(), path, git.BundleRequest{Branch: branch, Commit: c})
			if err != nil || res.Nothing {
				t.Fatalf("%q: %+v, %v", branch, res, err)
			}
			b := must.Get(os.ReadFile(path))(t)
			if res.Size != int64(len(b)) {
				t.Errorf("%q: %+v does not describe %d bytes", branch, res, len(b))
			}
			if left, _ := os.ReadDir(dir); len(left) != 1 {
				t.Errorf("%q: left %v", branch, left)
			}
			box := gittest.At(t, t.TempDir())
			box.Git("clone", "-q", path, ".")
			if got := box.Git("symbolic-ref", "HEAD"); got != "refs/heads/"+branch || box.Read("a") != "x\n" {
				t.Errorf("%q: cloned as %q", branch, got)
			}
		}
	}
}

func TestBundleSendsOnlyWhatIsNew(t *testing.T) {
	user := gittest.New(t)
	noise := strings.Repeat("0123456789abcdef\n", 10)
	for i := range 20 {
		noise += strings.Repeat(string(rune('a'+i)), 50) + "\n"
		user.Commit("more", "f", noise)
	}
	first := user.Git("rev-parse", "HEAD")
	r := openRepo(t, user.Dir)
	dir := t.TempDir()
	one := filepath.Join(dir, "one")
	full := must.Get(r.Bundle(t.Context(), one, git.BundleRequest{Branch: "main", Commit: first}))(t)
	box := gittest.At(t, t.TempDir())
	box.Git("clone", "-q", one, ".")
	second := user.Commit("second", "g", "x\n")
	have := []string{strings.Repeat("1", 40), "--all", "", first, user.Git("rev-parse", "HEAD^{tree}")}
	two := filepath.Join(dir, "two")
	res, err := r.Bundle(t.Context(), two, git.BundleRequest{Branch: "main", Commit: second, Have: have})
	if err != nil || res.Nothing || res.Size >= full.Size || strings.Join(res.Prerequisites, ",") != first {
		t.Fatalf("%+v after %+v, %v", res, full, err)
	}
	box.Git("bundle", "verify", "-q", two)
	box.Git("fetch", "-q", two, "refs/heads/main:refs/heads/two")
	if box.Git("rev-parse", "two") != second {
		t.Error("the second bundle brought something else")
	}
	for _, c := range []string{first, second} {
		three := filepath.Join(dir, "three")
		res, err = r.Bundle(t.Context(), three, git.BundleRequest{Branch: "main", Commit: c, Have: []string{second}})
		if err != nil || !res.Nothing {
			t.Errorf("%+v, %v", res, err)
		}
		if _, err := os.Stat(three); err == nil {
			t.Error("wrote a bundle of nothing")
		}
	}
}

// Guards against sending the branch's commit at the time when git runs.
func TestBundleHoldsTheCommitThatWasAskedFor(t *testing.T) {
	user := gittest.New(t)
	c := user.Commit("first", "a", "x\n")
	user.Commit("later", "a", "y\n")
	path := filepath.Join(t.TempDir(), "b")
	must.Get(openRepo(t, user.Dir).Bundle(t.Context(), path,
		git.BundleRequest{Branch: "main", Commit: c}))(t)
	if got := user.Git("bundle", "list-heads", path); got != c+" HEAD\n"+c+" refs/heads/main" {
		t.Errorf("heads:\n%s", got)
	}
}

func TestBundleReportsProgress(t *testing.T) {
	user := gittest.New(t)
	for i := range 5 {
		user.Commit("more", "f", strings.Repeat("x", i))
	}
	steps := map[string]git.Progress{}
	q := git.BundleRequest{Branch: "main", Commit: user.Git("rev-parse", "HEAD"),
		Progress: func(p git.Progress) { steps[p.Step] = p }}
	must.Get(openRepo(t, user.Dir).Bundle(t.Context(), filepath.Join(t.TempDir(), "b"), q))(t)
	if p := steps["Counting objects"]; p.Done != p.Total || p.Total != 15 {
		t.Errorf("steps %+v", steps)
	}
}

func TestBundleOfAMissingCommitLeavesNothing(t *testing.T) {
	user := gittest.New(t)
	user.Commit("first", "a", "x\n")
	dir := t.TempDir()
	for _, c := range []string{strings.Repeat("1", 40), "main", "--all", ""} {
		if _, err := openRepo(t, user.Dir).Bundle(t.Context(), filepath.Join(dir, "b"),
			git.BundleRequest{Branch: "main", Commit: c}); err == nil {
			t.Errorf("bundled %q", c)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

func TestShallow(t *testing.T) {
	user := gittest.New(t)
	for i := range 6 {
		user.Commit("more", "f", strings.Repeat("x\n", i), "old"+string(rune('0'+i)), "y\n")
	}
	user.Git("update-ref", "refs/heads/-side", "HEAD~2")
	user.Git("symbolic-ref", "HEAD", "refs/heads/-side")
	user.Git("reset", "-q", "--hard")
	user.Commit("side", "side", "x\n")
	user.Git("merge", "-q", "--no-edit", "main")
	tip := user.Git("rev-parse", "HEAD")
	for depth, commits := range map[int]string{1: "1", 2: "3", 100: "8", 0: "8"} {
		dir := filepath.Join(t.TempDir(), "shallow")
		must.Do(t, openRepo(t, user.Dir).Shallow(t.Context(), dir, git.ShallowRequest{Branch: "-side", Commit: tip,
			Depth: depth}))
		s := gittest.At(t, dir)
		s.Git("fsck", "--strict")
		if got := s.Git("rev-list", "--count", "HEAD"); got != commits {
			t.Errorf("depth %d: %s commits, want %s", depth, got, commits)
		}
		box := gittest.At(t, t.TempDir())
		box.Git("clone", "-q", "file://"+dir, ".")
		if box.Git("rev-parse", "HEAD") != tip || box.Git("symbolic-ref", "HEAD") != "refs/heads/-side" ||
			box.Read("side") != "x\n" {
			t.Errorf("depth %d: wrong clone", depth)
		}
	}
}

func TestPartialClone(t *testing.T) {
	origin := gittest.New(t)
	origin.Git("config", "uploadpack.allowFilter", "true")
	for i := range 4 {
		origin.Commit("more", "f", strings.Repeat("x\n", i+1))
	}
	user := gittest.At(t, t.TempDir())
	user.Git("clone", "-q", "--filter=blob:none", "file://"+origin.Dir, ".")
	r := openRepo(t, user.Dir)
	if !r.IsPartial() || openRepo(t, origin.Dir).IsPartial() {
		t.Error("IsPartial is wrong")
	}
	head := user.Git("rev-parse", "HEAD")
	missing, ok := errors.AsType[*git.MissingObjectsError](r.CheckComplete(t.Context(), head, 0))
	if !ok || missing.Missing != 3 {
		t.Fatalf("missing %+v", missing)
	}
	if err := r.CheckComplete(t.Context(), head, 1); err != nil {
		t.Errorf("the last commit is complete: %v", err)
	}
	// Nothing may be fetched behind the user's back.
	if _, err := r.Bundle(t.Context(), filepath.Join(t.TempDir(), "b"),
		git.BundleRequest{Branch: "main", Commit: head}); err == nil {
		t.Error("bundled what isn't there")
	}
	if _, ok := errors.AsType[*git.MissingObjectsError](r.CheckComplete(t.Context(), head, 0)); !ok {
		t.Error("objects were fetched")
	}
	// The command in the message really mends it.
	_, command, _ := strings.Cut(missing.Error(), "`git ")
	command, _, _ = strings.Cut(command, "`")
	user.Git(strings.Fields(command)...)
	if err := r.CheckComplete(t.Context(), head, 0); err != nil {
		t.Error(err)
	}
	if _, err := r.Bundle(t.Context(), filepath.Join(t.TempDir(), "b"),
		git.BundleRequest{Branch: "main", Commit: head}); err != nil {
		t.Error(err)
	}
}
