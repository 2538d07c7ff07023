package git

import (
	"errors"
	"os"
	"syscall"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
)

func planned(t *testing.T) (*gittest.Repo, *Repo, forwardPlan) {
	t.Helper()
	user := gittest.New(t)
	from := user.Commit("first", "a", "1\n", "b", "1\n")
	to := user.Commit("second", "a", "2\n", "c", "2\n")
	user.Git("reset", "-q", "--hard", from)
	r := open(t, user.Dir)
	f := must.Get(r.plan(t.Context(), "main", from, to))(t)
	return user, r, f
}

// Everything that can happen between the look and the leap.
func TestFastForwardThatLosesARaceTouchesNothing(t *testing.T) {
	for name, c := range map[string]struct {
		meanwhile func(*gittest.Repo)
		want      func(error) bool
	}{
		"the user commits": {func(u *gittest.Repo) { u.Commit("meanwhile", "d", "x\n") }, is[*DivergedError]},
		"the branch goes": {func(u *gittest.Repo) {
			u.Git("checkout", "-q", "--detach")
			u.Git("branch", "-q", "-D", "main")
		}, is[*BranchGoneError]},
		"another branch is checked out": {func(u *gittest.Repo) { u.Git("checkout", "-q", "-b", "other") },
			is[*RefChangedError]},
		"a file is changed":   {func(u *gittest.Repo) { u.Write("a", "mine\n") }, is[*DirtyError]},
		"the index is locked": {func(u *gittest.Repo) { u.Write(".git/index.lock", "") }, is[*LockedError]},
		"another pull is first": {func(u *gittest.Repo) {
			u.Write(".git/refs/heads/main.lock", "")
		}, is[*LockedError]},
	} {
		t.Run(name, func(t *testing.T) {
			user, r, f := planned(t)
			c.meanwhile(user)
			// Git may refresh its index at the next status; that is not ours.
			user.Git("status")
			before := gittest.Fingerprint(t, user.Dir)
			err := r.moveWorktree(t.Context(), f)
			if !c.want(err) {
				t.Errorf("err = %v", err)
			}
			if d := cmp.Diff(before, gittest.Fingerprint(t, user.Dir)); d != "" {
				t.Error(d)
			}
		})
	}
}

// Guards against a worktree that is ahead of its branch: if the ref can't be written at the end, all goes back.
func TestFastForwardIsUndoneIfTheRefCannotBeWritten(t *testing.T) {
	user, r, f := planned(t)
	tx := must.Get(r.lockBranch(t.Context(), f.Branch, f.From, f.To))(t)
	must.Do(t, tx.p.Signal(syscall.SIGKILL))
	<-tx.p.Done()
	if err := r.finish(t.Context(), tx, f); err == nil {
		t.Fatal("nobody noticed")
	}
	for _, lock := range []string{"refs/heads/main.lock", "HEAD.lock"} {
		if err := os.Remove(user.Path(".git/" + lock)); err != nil && !errors.Is(err, os.ErrNotExist) {
			t.Fatal(err)
		}
	}
	if got := user.Git("status", "--porcelain"); got != "" || user.Git("rev-parse", "HEAD") != f.From ||
		user.Read("a") != "1\n" {
		t.Errorf("not undone: %q", got)
	}
}

// While the branch is locked, nobody else can move it; when we let go without a commit, it is as it was.
func TestTransactionHoldsTheBranch(t *testing.T) {
	user, r, f := planned(t)
	tx := must.Get(r.lockBranch(t.Context(), f.Branch, f.From, f.To))(t)
	if _, err := user.Try("", "commit", "-q", "--allow-empty", "-m", "meanwhile"); err == nil {
		t.Error("a commit slipped in")
	}
	tx.abort()
	if user.Git("rev-parse", "main") != f.From {
		t.Error("the branch moved")
	}
	user.Commit("after", "x", "x\n")
}

// Guards against a git that doesn't know how we pass our settings: it would run hooks.
func TestAGitThatIgnoresOurSettingsIsRefused(t *testing.T) {
	if _, err := withoutOurs([]Setting{{"core.hookspath", "hooks"}}); err == nil {
		t.Error("took it")
	}
	mine := Setting{"user.name", "me"}
	got, err := withoutOurs(append([]Setting{mine}, hardening()...))
	if err != nil || len(got) != 1 || got[0] != mine {
		t.Errorf("%v, %v", got, err)
	}
}
