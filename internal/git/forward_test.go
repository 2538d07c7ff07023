package git_test

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/git"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

// ahead is a user's repository with a commit that its branch has still to get.
func ahead(t *testing.T) (user *gittest.Repo, repo *git.Repo, from, to string) {
	t.Helper()
	user = gittest.New(t)
	user.Write(".gitignore", "*.log\nignored/\n")
	from = user.Commit("first", "README", "hello\n", "changed", "1\n", "removed", "x\n", "todir", "x\n", "tofile/x", "x\n",
		"same", "x\n")
	user.Git("rm", "-q", "removed", "todir", "tofile/x")
	user.Write("out.log", "new\n")
	user.Git("add", "-f", "out.log")
	to = user.Commit("second", "changed", "2\n", "added", "new\n", "deep/new", "new\n", "todir/x", "y\n", "tofile", "y\n")
	user.Git("reset", "-q", "--hard", from)
	user.Git("clean", "-qfdx")
	repo = must.Get(git.Open(t.Context(), user.Dir))(t)
	return user, repo, from, to
}

func TestFastForwardOfACheckedOutBranch(t *testing.T) {
	user, repo, from, to := ahead(t)
	// Neither of these is in the way.
	user.Write("same", "changed by the user\n")
	user.Write("staged", "staged by the user\n")
	user.Git("add", "staged")
	user.Write("untracked", "the user's\n")
	f := must.Get(repo.FastForward(t.Context(), "main", from, to))(t)
	if want := (git.Forwarded{Branch: "main", From: from, To: to, Moved: true, Worktree: true}); !cmp.Equal(want, f) {
		t.Error(cmp.Diff(want, f))
	}
	if got := user.Git("status", "--porcelain"); got != " M same\nA  staged\n?? untracked" {
		t.Errorf("status:\n%s", got)
	}
	if user.Git("rev-parse", "HEAD") != to || user.Read("todir/x") != "y\n" || user.Read("tofile") != "y\n" {
		t.Error("the worktree did not follow")
	}
	if got := user.Git("log", "-g", "-1", "--format=%gs", "main"); got != "cco: fast-forward" {
		t.Errorf("reflog says %q", got)
	}
	again, err := repo.FastForward(t.Context(), "main", from, to)
	if err != nil || again.Moved {
		t.Errorf("again: %+v, %v", again, err)
	}
}

func TestFastForwardOfABranchThatIsNotCheckedOut(t *testing.T) {
	user, repo, from, to := ahead(t)
	user.Git("checkout", "-q", "-b", "elsewhere")
	user.Write("changed", "dirty\n")
	f, err := repo.FastForward(t.Context(), "main", from, to)
	if err != nil || !f.Moved || f.Worktree {
		t.Fatalf("%+v, %v", f, err)
	}
	if user.Git("rev-parse", "main") != to || user.Git("rev-parse", "HEAD") != from || user.Read("changed") != "dirty\n" {
		t.Error("wrong thing moved")
	}
}

func TestFastForwardFromInBetween(t *testing.T) {
	user, repo, from, to := ahead(t)
	user.Git("reset", "-q", "--hard", to)
	last := user.Commit("third", "more", "x\n")
	user.Git("reset", "-q", "--hard", to)
	if f, err := repo.FastForward(t.Context(), "main", from, last); err != nil || f.From != to {
		t.Fatalf("%+v, %v", f, err)
	}
	// The branch has it all, and more.
	if f, err := repo.FastForward(t.Context(), "main", from, to); err != nil || f.Moved {
		t.Fatalf("%+v, %v", f, err)
	}
}

// Guards, for each case, against any trace in the user's repository.
func TestFastForwardRefusesAndTouchesNothing(t *testing.T) {
	dirty := func(files ...string) func(error) bool {
		return func(err error) bool {
			d, ok := errors.AsType[*git.DirtyError](err)
			var got []string
			if ok {
				for _, f := range d.Files {
					got = append(got, f.Path+" "+f.Why)
				}
			}
			slices.Sort(got)
			return cmp.Equal(files, got)
		}
	}
	for name, c := range map[string]struct {
		prepare func(*testing.T, *gittest.Repo)
		want    func(error) bool
	}{
		"modified": {func(_ *testing.T, u *gittest.Repo) { u.Write("changed", "mine\n") },
			dirty("changed modified")},
		"modified, to be removed": {func(_ *testing.T, u *gittest.Repo) { u.Write("removed", "mine\n") },
			dirty("removed modified")},
		"staged": {func(_ *testing.T, u *gittest.Repo) {
			u.Write("changed", "mine\n")
			u.Git("add", "changed")
			u.Write("changed", "1\n")
		}, dirty("changed staged")},
		"several": {func(_ *testing.T, u *gittest.Repo) {
			u.Write("changed", "mine\n")
			u.Write("added", "mine\n")
		}, dirty("added untracked", "changed modified")},
		"untracked": {func(_ *testing.T, u *gittest.Repo) { u.Write("added", "mine\n") },
			dirty("added untracked")},
		"ignored": {func(_ *testing.T, u *gittest.Repo) { u.Write("out.log", "mine\n") },
			dirty("out.log untracked")},
		"untracked for a dir": {func(_ *testing.T, u *gittest.Repo) { u.Write("deep", "mine\n") },
			dirty("deep untracked")},
		"a repository of its own": {func(_ *testing.T, u *gittest.Repo) { u.Git("init", "-q", "deep") },
			dirty("deep a repository of its own")},
		"a bare one": {func(_ *testing.T, u *gittest.Repo) { u.Git("init", "-q", "--bare", "deep") },
			dirty("deep a repository of its own")},
		"untracked dir for a file": {func(_ *testing.T, u *gittest.Repo) { u.Write("added/x", "mine\n") },
			dirty("added/x untracked")},
		"ignored in a dir that becomes a file": {func(_ *testing.T, u *gittest.Repo) { u.Write("tofile/x.log", "mine\n") },
			dirty("tofile/x.log untracked")},
		"link for a dir": {func(t *testing.T, u *gittest.Repo) {
			must.Do(t, os.Symlink(t.TempDir(), u.Path("deep")))
		}, dirty("deep untracked")},
		"assumed unchanged": {func(_ *testing.T, u *gittest.Repo) {
			u.Git("update-index", "--assume-unchanged", "changed")
			u.Write("changed", "mine\n")
		}, dirty("changed modified")},
		"deleted": {func(t *testing.T, u *gittest.Repo) {
			must.Do(t, os.Remove(u.Path("changed")))
		}, dirty("changed modified")},
		"index locked": {func(_ *testing.T, u *gittest.Repo) { u.Write(".git/index.lock", "") }, isA[*git.LockedError]},
		"branch locked": {func(_ *testing.T, u *gittest.Repo) { u.Write(".git/refs/heads/main.lock", "") },
			isA[*git.LockedError]},
		"merge in progress": {func(_ *testing.T, u *gittest.Repo) {
			u.Write(".git/MERGE_HEAD", u.Git("rev-parse", "HEAD")+"\n")
		}, isA[*git.BusyError]},
		"moved on": {func(_ *testing.T, u *gittest.Repo) { u.Commit("the user's", "mine", "x\n") }, isA[*git.DivergedError]},
		"set back": {func(_ *testing.T, u *gittest.Repo) {
			u.Git("update-ref", "refs/heads/main", u.CommitTree(u.Git("rev-parse", "HEAD^{tree}")))
		}, isA[*git.DivergedError]},
		"gone": {func(_ *testing.T, u *gittest.Repo) {
			u.Git("checkout", "-q", "-b", "other")
			u.Git("branch", "-q", "-D", "main")
		}, isA[*git.BranchGoneError]},
		"in another worktree": {func(t *testing.T, u *gittest.Repo) {
			u.Git("checkout", "-q", "-b", "other")
			u.Git("worktree", "add", "-q", filepath.Join(t.TempDir(), "w"), "main")
		}, isA[*git.CheckedOutError]},
		"being rebased": {func(_ *testing.T, u *gittest.Repo) {
			u.Git("checkout", "-q", "--detach")
			u.Write(".git/rebase-merge/head-name", "refs/heads/main\n")
		}, isA[*git.CheckedOutError]},
		"being bisected in another": {func(t *testing.T, u *gittest.Repo) {
			u.Git("checkout", "-q", "-b", "other")
			w := filepath.Join(t.TempDir(), "w")
			u.Git("worktree", "add", "-q", "--detach", w)
			u.Write(".git/worktrees/w/BISECT_START", "main\n")
		}, isA[*git.CheckedOutError]},
	} {
		t.Run(name, func(t *testing.T) {
			user, repo, from, to := ahead(t)
			c.prepare(t, user)
			before := gittest.Fingerprint(t, user.Dir)
			can := repo.CanFastForward(t.Context(), "main", from, to)
			_, err := repo.FastForward(t.Context(), "main", from, to)
			var state git.StateError
			if !errors.As(err, &state) || !c.want(err) {
				t.Errorf("err = %v", err)
			}
			if can == nil && name != "assumed unchanged" && name != "branch locked" {
				t.Error("CanFastForward did not see it")
			}
			if name == "assumed unchanged" {
				return // git has refreshed its index, and says so itself
			}
			if d := cmp.Diff(before, gittest.Fingerprint(t, user.Dir)); d != "" {
				t.Errorf("touched:\n%s", d)
			}
		})
	}
}

// Guards against git's own way with a submodule that becomes a file: it removes the directory, and the commits in it.
func TestSubmoduleIsNotReplacedWithItsRepository(t *testing.T) {
	user := gittest.New(t)
	user.Commit("first", "README", "hello\n")
	sub := gittest.Init(t, user.Path("sub"))
	inner := sub.Commit("inner", "x", "x\n")
	user.Git("update-index", "--add", "--cacheinfo", "160000,"+inner+",sub")
	user.Git("commit", "-q", "-m", "with a submodule")
	from := user.Git("rev-parse", "HEAD")
	user.Git("update-index", "--force-remove", "sub")
	user.Git("update-index", "--add", "--cacheinfo", "100644,"+user.Object("blob", "x\n")+",sub")
	to := user.CommitTree(user.Git("write-tree"), from)
	user.Git("read-tree", from)
	before := gittest.Fingerprint(t, user.Dir)
	_, err := openRepo(t, user.Dir).FastForward(t.Context(), "main", from, to)
	if !isA[*git.DirtyError](err) {
		t.Errorf("err = %v", err)
	}
	if d := cmp.Diff(before, gittest.Fingerprint(t, user.Dir)); d != "" {
		t.Error(d)
	}
}

func isA[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

// Guards against a real rebase, whose state git writes in its own way.
func TestBranchOfARealRebaseIsInUse(t *testing.T) {
	user, repo, from, to := ahead(t)
	user.Git("checkout", "-q", "-b", "side")
	user.Commit("side", "changed", "conflict\n")
	user.Git("branch", "work", to)
	user.Git("checkout", "-q", "main")
	if _, err := user.Try("", "rebase", "-q", "side", "work"); err == nil {
		t.Fatal("the rebase should have stopped")
	}
	further := user.CommitTree(user.Git("rev-parse", to+"^{tree}"), to)
	_, err := repo.FastForward(t.Context(), "work", from, further)
	if e, ok := errors.AsType[*git.CheckedOutError](err); !ok || e.How != "being rebased" {
		t.Errorf("err = %v", err)
	}
}

// A kill can come at any point of the checkout. The next try must finish in every case.
func TestFastForwardGoesOnAfterAKill(t *testing.T) {
	for name, left := range map[string]func(*gittest.Repo, string, string){
		"some files written": func(u *gittest.Repo, _, _ string) {
			u.Write("changed", "2\n")
			u.Write("added", "new\n")
			u.Write("deep/new", "new\n")
			_ = os.Remove(u.Path("removed"))
		},
		"index and worktree written": func(u *gittest.Repo, from, to string) { u.Git("read-tree", "-m", "-u", from, to) },
		"all written":                func(u *gittest.Repo, _, to string) { u.Git("reset", "-q", "--hard", to) },
	} {
		t.Run(name, func(t *testing.T) {
			user, repo, from, to := ahead(t)
			left(user, from, to)
			must.Get(repo.FastForward(t.Context(), "main", from, to))(t)
			if got := user.Git("status", "--porcelain"); got != "" || user.Git("rev-parse", "HEAD") != to {
				t.Errorf("status:\n%s", got)
			}
		})
	}
}

func TestCreateBranch(t *testing.T) {
	user, repo, from, to := ahead(t)
	if f, err := repo.CreateBranch(t.Context(), "new/branch", to); err != nil || f.From != "" || !f.Moved {
		t.Fatalf("%+v, %v", f, err)
	}
	user.Git("branch", "behind", from)
	if f, err := repo.CreateBranch(t.Context(), "behind", to); err != nil || f.From != from {
		t.Fatalf("%+v, %v", f, err)
	}
	other := user.CommitTree(user.Git("rev-parse", from+"^{tree}"), from)
	user.Git("branch", "other", other)
	if _, err := repo.CreateBranch(t.Context(), "other", to); !isA[*git.BranchExistsError](err) {
		t.Errorf("err = %v", err)
	}
	for _, name := range []string{"", "-x", "a..b", "a b", "HEAD", "@{-1}", "x.lock", "a\nb", "/x"} {
		if _, err := repo.CreateBranch(t.Context(), name, to); !isA[*git.BranchNameError](err) {
			t.Errorf("%q: err = %v", name, err)
		}
	}
	if _, err := repo.CreateBranch(t.Context(), "new", to); err == nil {
		t.Error("made a branch where a directory of branches is")
	}
}

func TestFastForwardInALinkedWorktree(t *testing.T) {
	user, _, from, to := ahead(t)
	user.Git("checkout", "-q", "-b", "other")
	w := gittest.At(t, filepath.Join(t.TempDir(), "a b$(x)'\"é"))
	user.Git("worktree", "add", "-q", w.Dir, "main")
	repo := must.Get(git.Open(t.Context(), w.Dir))(t)
	f, err := repo.FastForward(t.Context(), "main", from, to)
	if err != nil || !f.Worktree {
		t.Fatalf("%+v, %v", f, err)
	}
	if w.Read("added") != "new\n" || w.Git("status", "--porcelain") != "" || user.Git("status", "--porcelain") != "" {
		t.Error("the wrong worktree moved")
	}
}

// Guards against taking a file for changed because its time is: git remembers times, and we know better.
func TestTouchedFilesAreNotInTheWay(t *testing.T) {
	user, repo, from, to := ahead(t)
	old := time.Unix(1_000_000_000, 0)
	for _, name := range []string{"changed", "removed"} {
		must.Do(t, os.Chtimes(user.Path(name), old, old))
	}
	must.Get(repo.FastForward(t.Context(), "main", from, to))(t)
	if got := user.Git("status", "--porcelain"); got != "" {
		t.Error(got)
	}
}

// A push leaves line endings to git; a file that git converts is not a changed one.
func TestFastForwardWithConvertedLineEndings(t *testing.T) {
	user := gittest.New(t)
	user.Git("config", "core.autocrlf", "true")
	from := user.Commit("first", "a", "1\r\n2\r\n")
	to := user.Commit("second", "a", "1\r\n3\r\n")
	user.Git("reset", "-q", "--hard", from)
	repo := must.Get(git.Open(t.Context(), user.Dir))(t)
	must.Get(repo.FastForward(t.Context(), "main", from, to))(t)
	if user.Read("a") != "1\r\n3\r\n" || user.Git("status", "--porcelain") != "" {
		t.Errorf("a = %q", user.Read("a"))
	}
}

func TestStateErrorsSayWhatToDo(t *testing.T) {
	for want, err := range map[string]error{
		"would overwrite a (modified)": &git.DirtyError{Files: []git.DirtyFile{{Path: "a", Why: "modified"}}},
		"\"a\\x1b\"":                   &git.DirtyError{Files: []git.DirtyFile{{Path: "a\x1b", Why: "modified"}}},
		"and 2 more":                   &git.DirtyError{Files: make([]git.DirtyFile, 12)},
		"it is at 1111111111":          &git.DivergedError{Branch: "b", Now: strings.Repeat("1", 40)},
		"safe.directory '/a b'":        &git.OwnershipError{Dir: "/a b"},
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%q does not say %q", err, want)
		}
	}
}
