package git

import (
	"errors"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/git/gittest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Guards against a git of cco's own that never ends: a FIFO wherever git looks, also behind links, is named. What git
// does not wait for is no reason to refuse.
func TestWhatGitWouldWaitFor(t *testing.T) {
	for name, c := range map[string]struct {
		plant string
		at    string // "" if git can be started
	}{
		"nothing":             {"true", ""},
		"info/grafts":         {"mkfifo info/grafts", "info/grafts"},
		"a branch":            {"mkdir -p refs/heads/a; mkfifo refs/heads/a/b", "refs/heads/a/b"},
		"an object":           {"mkdir -p objects/ab; mkfifo objects/ab/cd", "objects/ab/cd"},
		"HEAD":                {"rm HEAD; mkfifo HEAD", "HEAD"},
		"the worktree's HEAD": {"rm worktrees/linked/HEAD; mkfifo worktrees/linked/HEAD", "worktrees/linked/HEAD"},
		"a link":              {"mkfifo ../f; ln -s ../f shallow", "shallow"},
		"a directory by link": {"mkdir ../d; mkfifo ../d/x; ln -s ../../../d refs/tags/d", "refs/tags/d/x"},
		"a device":            {"ln -s /dev/zero packed-refs", "packed-refs"},
		"links to nothing":    {"ln -s nowhere x; ln -s loop loop; ln -s . round; ln -s /dev/null gc.log", ""},
		"fsmonitor's socket": {"python3 -c 'import socket; socket.socket(socket.AF_UNIX).bind(\"fsmonitor--daemon.ipc\")'",
			""},
	} {
		t.Run(name, func(t *testing.T) {
			user := gittest.New(t)
			user.Commit("start", "some/where", "x")
			linked := filepath.Join(t.TempDir(), "linked")
			user.Git("worktree", "add", "-q", linked)
			must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"sh", "-euc", c.plant}, Dir: user.Path(".git")}))(t)
			for _, dir := range []string{user.Dir, user.Path("some"), linked} {
				err := Passable(t.Context(), dir)
				waits, ok := errors.AsType[*WaitError](err)
				if (c.at != "") != ok || ok && waits.Path != user.Path(".git/"+c.at) || !ok && err != nil {
					t.Errorf("from %s: %v", dir, err)
				}
			}
		})
	}
	dir := t.TempDir()
	must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"mkfifo", filepath.Join(dir, ".git")}}))(t)
	if err := Passable(t.Context(), dir); !is[*WaitError](err) {
		t.Errorf("a FIFO in place of .git: %v", err)
	}
	if err := Passable(t.Context(), os.TempDir()); err != nil {
		t.Errorf("no repository: %v", err)
	}
}

// Guards against settings that include a FIFO anywhere: opening a repository ends.
func TestOpeningEndsWhereGitWaits(t *testing.T) {
	user := gittest.New(t)
	fifo := filepath.Join(t.TempDir(), "fifo")
	must.Do(t, syscall.Mkfifo(fifo, 0o600))
	user.Git("config", "include.path", fifo)
	_, err := openWithin(t.Context(), user.Dir, time.Second)
	if waits, ok := errors.AsType[*WaitError](err); !ok || !waits.Does || waits.Path != user.Dir {
		t.Errorf("%v", err)
	}
}

// Guards against a FIFO that settings name, or that is in .git: git waited for it in the middle of a push, or for a
// minute before it.
func TestOpeningNamesWhatGitWouldWaitFor(t *testing.T) {
	const script = "mkfifo fifo; printf '[include]\n\tpath = fifo\n' >more; "
	for _, change := range []string{"git config core.excludesFile ~/../../../../../../../../$PWD/fifo",
		"git config core.attributesFile fifo", "git config include.path ../more",
		"git config includeIf.gitdir:/.path ../fifo",
		"rm .git/HEAD; mv fifo .git/HEAD", "mv fifo .git/info/attributes"} {
		user := gittest.New(t)
		must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{"sh", "-c", script + change}, Dir: user.Dir}))(t)
		_, err := openWithin(t.Context(), user.Dir, time.Hour)
		if waits, ok := errors.AsType[*WaitError](err); !ok || waits.Does {
			t.Errorf("%s: %v", change, err)
		}
	}
}
