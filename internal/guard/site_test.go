package guard_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/discover"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/must"
)

// site is a directory tree with a host repository and a linked worktree.
type site struct {
	home, host, worktree, out string
	policy                    guard.Policy
}

// newSite lays a site out in a temporary directory. What git would write of
// a linked worktree is written by hand, so that the tests need no git.
func newSite(t *testing.T, nested bool) site {
	t.Helper()
	base := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	s := site{home: base + "/home/dev", host: base + "/src/widget", worktree: base + "/src/widget-task",
		out: base + "/other"}
	if nested {
		s.worktree = s.host + "/.cco/task"
	}
	gitDir := s.host + "/.git/worktrees/" + filepath.Base(s.worktree)
	for _, dir := range []string{
		s.home, s.out + "/bin", s.out + "/empty", s.host + "/src", gitDir, s.worktree + "/src/pkg", s.worktree + "/docs",
		s.worktree + "/web", s.worktree + "/.claude", s.worktree + "/scripts", s.worktree + "/test", s.worktree + "/deep",
		s.worktree + "-old",
	} {
		mustMkdir(t, dir)
	}
	mustWrite(t, s.worktree+"/.git", "gitdir: "+gitDir+"\n")
	mustWrite(t, gitDir+"/commondir", "../..\n")
	mustWrite(t, gitDir+"/HEAD", "ref: refs/heads/agent/task-1\n")
	mustWrite(t, s.worktree+"/README.md", "x\n")
	for name, target := range map[string]string{"link-out": s.out, "link-host": s.host, "link-in": "src",
		"link-file": s.out + "/notes.txt", "deep/up": "../.."} {
		must.Do(t, os.Symlink(target, filepath.Join(s.worktree, name)))
	}
	s.policy = must.Get(discover.Policy(s.worktree, "", s.home))(t)
	// The tests' own directories are below the temporary directory, which
	// only here must not count as scratch.
	s.policy.Scratch = []string{"/tmp", "/var/tmp"}
	if strings.HasPrefix(base, "/tmp/") || strings.HasPrefix(base, "/var/tmp/") {
		s.policy.Scratch = []string{base + "/scratch"}
	}
	return s
}

func mustMkdir(t *testing.T, dir string) {
	t.Helper()
	must.Do(t, os.MkdirAll(dir, 0o755))
}

func mustWrite(t *testing.T, name, content string) {
	t.Helper()
	mustMkdir(t, filepath.Dir(name))
	must.Do(t, os.WriteFile(name, []byte(content), 0o644))
}

// fill replaces the placeholders of a case.
func (s site) fill(text string) string {
	return strings.NewReplacer("⏎", "\n", "{WT}", s.worktree, "{HOST}", s.host, "{OUT}", s.out, "{HOMEDIR}", s.home,
		"{WTNAME}", filepath.Base(s.worktree), "{TMP}", s.policy.Scratch[0]).Replace(text)
}

// decide judges a shell command in the worktree.
func (s site) decide(command string) guard.Verdict {
	return guard.Decide(s.policy, hook.Links{}, guard.Command(s.worktree, s.fill(command)))
}

func layouts() map[string]bool { return map[string]bool{"beside": false, "nested": true} }
