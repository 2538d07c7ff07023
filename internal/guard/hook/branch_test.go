package hook_test

import (
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against an agent that may make a branch and then not commit to it, and
// against commits to a branch that was there before the worktree.
func TestCommitsGoToBranchesMadeInTheWorktree(t *testing.T) {
	base := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	host, worktree := base+"/host", base+"/task"
	git := func(dir string, at string, args ...string) {
		t.Helper()
		argv := append([]string{"git", "-C", dir, "-c", "user.name=x", "-c", "user.email=x@example.com"}, args...)
		date := "GIT_COMMITTER_DATE=" + at + " +0000"
		if err := proc.Run(t.Context(), proc.Cmd{Argv: argv, Env: append(cleanEnv(base), date)}); err != nil {
			t.Fatalf("%v: %v", args, err)
		}
	}
	git(base, "1700000000", "init", "-q", "-b", "main", host)
	git(host, "1700000000", "commit", "-q", "--allow-empty", "-m", "first")
	git(host, "1700000000", "branch", "release")
	git(host, "1700000100", "worktree", "add", "-q", "-b", "agent/task", worktree)
	policy := must.Get(discover.Policy(worktree, host, base+"/home"))(t)
	policy.Scratch = nil
	commit := func() guard.Verdict {
		call := hook.OnBranch(policy, guard.Command(worktree, "git commit -am x"))
		return guard.Decide(policy, hook.Links{}, call)
	}
	if v := commit(); !v.Allow {
		t.Fatal(v.Message())
	}
	git(worktree, "1700000200", "switch", "-q", "-c", "topic")
	if v := commit(); !v.Allow {
		t.Errorf("on a branch of its own: %s", v.Message())
	}
	git(worktree, "1700000300", "switch", "-q", "release")
	if v := commit(); v.Allow || v.Rule != verdict.RuleGitRefs {
		t.Errorf("on a branch of the host's: %+v", v)
	}
}

// cleanEnv is an environment in which git obeys nobody's settings.
func cleanEnv(home string) []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + home, "GIT_CONFIG_NOSYSTEM=1"}
}

// Guards against a hook that never answers, which some agents take for a yes: an agent can put a FIFO in place of HEAD.
func TestHeadIsNotWaitedFor(t *testing.T) {
	dir := t.TempDir()
	must.Do(t, syscall.Mkfifo(filepath.Join(dir, "HEAD"), 0o600))
	if got := hook.Branch(dir); got != "" {
		t.Errorf("it is on %q", got)
	}
}
