package aside_test

import (
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Commits in submodules come beside the branches there, and nothing else of them moves.
func TestSubmodules(t *testing.T) {
	for _, kind := range kinds {
		t.Run(kind, func(t *testing.T) {
			lib := gittest.New(t)
			lib.Commit("lib", "lib", "x\n")
			r := &rig{t: t, main: gittest.Init(t, filepath.Join(t.TempDir(), "repo")), dir: filepath.Join(t.TempDir(), "data")}
			r.main.Git("submodule", "--quiet", "add", lib.Dir, "deep/lib")
			r.main.Commit("with a submodule")
			r.user = r.main
			if kind == "linked" {
				r.user = gittest.At(t, filepath.Join(t.TempDir(), "tree"))
				r.main.Git("worktree", "add", "-q", "-b", "work", r.user.Dir)
				r.user.Git("submodule", "--quiet", "update", "--init")
			}
			sub := gittest.At(t, r.user.Path("deep/lib"))
			before := sub.Git("rev-parse", "HEAD")
			r.open()
			must.Do(t, r.repo.Refresh(t.Context()))
			// With GIT_DIR set the agent's git doesn't find the submodule's, so it is named.
			inside := func(args ...string) string {
				t.Helper()
				out := must.Get(proc.Output(t.Context(), proc.Cmd{Dir: sub.Dir, Argv: append([]string{"git",
					"--git-dir=" + r.private("modules/deep/lib")}, args...)}))(t)
				return string(out)
			}
			if got := inside("status", "--porcelain"); got != "" {
				t.Errorf("status inside: %s", got)
			}
			inside("switch", "-q", "-c", "topic")
			sub.Write("new", "x\n")
			inside("add", "new")
			inside("commit", "-q", "-m", "new")
			rep := r.end()
			if len(rep.Submodules) != 1 || rep.Submodules[0].Ref == "" {
				t.Fatalf("report %+v", rep)
			}
			kept := rep.Submodules[0]
			if sub.Git("rev-parse", kept.Ref) != kept.Commit || sub.Git("rev-parse", "HEAD") != before {
				t.Errorf("kept %+v", kept)
			}
			if _, err := sub.Try("", "rev-parse", "-q", "--verify", "topic"); err == nil {
				t.Error("a branch was made")
			}
			sub.Git("fsck")
			must.Do(t, r.repo.Refresh(t.Context()))
			if got := inside("rev-parse", kept.Ref); got != kept.Commit+"\n" {
				t.Errorf("inside it is %s", got)
			}
		})
	}
}

// Guards against a worktree whose .git an agent has made lead elsewhere.
func TestAnotherGitIsRefused(t *testing.T) {
	r := newRig(t, "linked")
	r.end()
	evil := gittest.Init(t, filepath.Join(t.TempDir(), "evil"))
	r.user.Write(".git", "gitdir: "+evil.Path(".git")+"\n")
	if _, err := aside.Open(t.Context(), r.dir, r.user.Dir, aside.Options{}); err == nil {
		t.Error("opened")
	}
}
