package aside_test

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/git/aside"
	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/programs"
)

// box is the program that runs in a cage.
var box string

func TestMain(m *testing.M) {
	if os.Getenv(childDir) != "" {
		runChild()
	}
	dir, err := os.MkdirTemp("", "aside")
	if err == nil {
		box = filepath.Join(dir, "cco-box")
		err = programs.Build(context.Background(), dir, "cco-box")
	}
	code := 1
	if err == nil {
		code = m.Run()
	} else {
		fmt.Fprintln(os.Stderr, err)
	}
	_ = os.RemoveAll(dir)
	os.Exit(code)
}

// rig is a worktree of a user's, and an agent that works in it with a repository of its own. There is no cage: the
// agent's git is led by Env.
type rig struct {
	t    *testing.T
	main *gittest.Repo // the main worktree
	user *gittest.Repo // the one that the agent works in
	dir  string        // cco's data
	repo *aside.Repo
}

// kinds are the worktrees that everything has to work in.
var kinds = []string{"linked", "main"}

// newRig makes a repository with a few commits, and refreshes the private one.
func newRig(t *testing.T, kind string, args ...string) *rig {
	t.Helper()
	r := &rig{t: t, main: gittest.New(t, args...), dir: filepath.Join(t.TempDir(), "data")}
	for i := range 4 {
		r.main.Commit("commit", "a", strings.Repeat("line\n", i+1), "dir/b", "b\n")
	}
	r.main.Git("branch", "other")
	r.user = r.main
	if kind == "linked" {
		r.user = gittest.At(t, filepath.Join(t.TempDir(), "tree"))
		r.main.Git("worktree", "add", "-q", "-b", "work", r.user.Dir)
	}
	r.open()
	must.Do(t, r.repo.Refresh(t.Context()))
	return r
}

func (r *rig) open() {
	r.t.Helper()
	r.repo = must.Get(aside.Open(r.t.Context(), r.dir, r.user.Dir, aside.Options{}))(r.t)
}

// branch is the one that the agent finds checked out.
func (r *rig) branch() string {
	if r.user != r.main {
		return "work"
	}
	return "main"
}

// try runs git as the agent does.
func (r *rig) try(args ...string) (string, error) {
	out, err := proc.Output(r.t.Context(), proc.Cmd{Argv: append([]string{"git"}, args...), Dir: r.user.Dir,
		Env: append(os.Environ(), r.env()...)})
	return strings.TrimSuffix(string(out), "\n"), err
}

func (r *rig) git(args ...string) string {
	r.t.Helper()
	out, err := r.try(args...)
	if err != nil {
		r.t.Fatalf("inside: git %q: %v", args, err)
	}
	return out
}

// commit writes a file and commits it, as the agent.
func (r *rig) commit(name, content string) string {
	r.t.Helper()
	r.user.Write(name, content)
	r.git("add", "--", name)
	r.git("commit", "-q", "-m", "agent: "+name)
	return r.git("rev-parse", "HEAD")
}

// env leads git to the private repository, as a cage without mounts does.
func (r *rig) env() []string {
	return []string{"GIT_DIR=" + r.repo.GitDir(), "GIT_WORK_TREE=" + r.user.Dir}
}

// private is a path in the private repository of the worktree.
func (r *rig) private(name string) string {
	return filepath.Join(r.repo.GitDir(), name)
}

// inside is a cage without walls.
func (r *rig) inside(ctx context.Context, argv []string, stdin io.Reader, stdout io.Writer) error {
	return proc.Run(ctx, proc.Cmd{Argv: append([]string{box}, argv...), Dir: r.user.Dir, Stdin: stdin, Stdout: stdout})
}

func (r *rig) take() aside.Report {
	r.t.Helper()
	rep := must.Get(r.repo.Take(r.t.Context(), r.inside))(r.t)
	r.whole()
	return rep
}

func (r *rig) end() aside.Report {
	r.t.Helper()
	rep := must.Get(r.repo.End(r.t.Context(), r.inside))(r.t)
	r.whole()
	return rep
}

// whole checks that the user's repository is, and that nothing of cco's is left on its way.
func (r *rig) whole() {
	r.t.Helper()
	if out, err := r.user.Try("", "fsck", "--strict", "--no-dangling"); err != nil {
		r.t.Fatalf("fsck: %v: %s", err, out)
	}
	if left := r.user.Git("for-each-ref", "refs/cco/guarding"); left != "" {
		r.t.Errorf("refs are left: %s", left)
	}
}

// at checks where a ref of the user's is.
func (r *rig) at(ref, want string) {
	r.t.Helper()
	got, err := r.user.Try("", "rev-parse", "--verify", "-q", ref)
	if got = strings.TrimSpace(got); err != nil && want != "" || got != want {
		r.t.Errorf("%s is at %q, want %q", ref, got, want)
	}
}

// status checks what git status says to the user.
func (r *rig) status(want string) {
	r.t.Helper()
	if got := r.user.Git("status", "--porcelain"); got != want {
		r.t.Errorf("status:\n%s\nwant:\n%s", got, want)
	}
}
