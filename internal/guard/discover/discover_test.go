package discover_test

import (
	"os"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/must"
)

func write(t *testing.T, name, content string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(content), 0o644))
}

func TestLinkedWorktree(t *testing.T) {
	base := t.TempDir()
	host, tree := base+"/host", base+"/tree"
	own := host + "/.git/worktrees/tree"
	write(t, tree+"/.git", "gitdir: "+own+"\n")
	write(t, own+"/commondir", "../..\n")
	write(t, own+"/HEAD", "ref: refs/heads/agent/x\n")
	p := must.Get(discover.Policy(tree, "", base+"/home"))(t)
	if !p.Linked() || p.Host != host || p.GitDir != own || p.Branch != "agent/x" {
		t.Errorf("got %+v", p)
	}
}

func TestCloneOfItsOwn(t *testing.T) {
	tree := t.TempDir()
	write(t, tree+"/.git/HEAD", "0123456789\n")
	p := must.Get(discover.Policy(tree, "", "/h"))(t)
	if p.Linked() || p.Host != "" || p.GitDir != tree+"/.git" || p.Branch != "" {
		t.Errorf("got %+v", p)
	}
}

func TestPlainDirectoryAndBrokenGitFile(t *testing.T) {
	tree := t.TempDir()
	if p, err := discover.Policy(tree, "/host", "/h"); err != nil || p.Linked() || p.GitDir != "" || p.Host != "/host" {
		t.Errorf("got %+v, %v", p, err)
	}
	write(t, tree+"/.git", "nonsense")
	if _, err := discover.Policy(tree, "", "/h"); err == nil {
		t.Error("a broken .git file was read")
	}
}

// Guards against a command that never ends: an agent can put a FIFO in place of what is read here.
func TestNothingIsWaitedFor(t *testing.T) {
	tree := t.TempDir()
	write(t, tree+"/.git/x", "")
	must.Do(t, syscall.Mkfifo(tree+"/.git/HEAD", 0o600))
	if p := must.Get(discover.Policy(tree, "", "/h"))(t); p.Branch != "" {
		t.Errorf("got %+v", p)
	}
}
