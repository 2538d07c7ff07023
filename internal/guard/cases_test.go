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
	mustWrite(t, s.host+"/.git/config", "[core]\n\tbare = false\n[remote \"origin\"]\n\turl = "+
		"https://example.com/o/r\n[remote \"up\"]\n\turl = "+s.host+"\n")
	for _, branch := range []string{"main", "release", "agent/task-1"} {
		mustWrite(t, s.host+"/.git/refs/heads/"+branch, strings.Repeat("1", 40)+"\n")
	}
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

// labelled is one line of a file of cases. A call that must be denied has the
// rule in front that must do so.
type labelled struct{ class, rule, command string }

func readCases(t *testing.T, name string) []labelled {
	t.Helper()
	data := must.Get(os.ReadFile(filepath.Join("testdata", name)))(t)
	var out []labelled
	class := ""
	for line := range strings.Lines(string(data)) {
		line = strings.TrimSuffix(line, "\n")
		if rest, ok := strings.CutPrefix(line, "== "); ok {
			class = rest
			continue
		}
		if line == "" || class == "" {
			continue // the heading of the file
		}
		c := labelled{class: class, command: line}
		if name == "block.txt" {
			c.rule, c.command, _ = strings.Cut(line, "\t")
		}
		out = append(out, c)
	}
	if len(out) < 300 {
		t.Fatalf("%s holds %d cases; 300 are the least", name, len(out))
	}
	return out
}

func layouts() map[string]bool { return map[string]bool{"beside": false, "nested": true} }

func TestBlockCases(t *testing.T) {
	cases := readCases(t, "block.txt")
	for name, nested := range layouts() {
		s := newSite(t, nested)
		for _, c := range cases {
			if v := s.decide(c.command); v.Allow {
				t.Errorf("%s, %s: allowed: %s", name, c.class, c.command)
			} else if string(v.Rule) != c.rule {
				t.Errorf("%s, %s: denied by %s, want %q: %s", name, c.class, v.Rule, c.rule, c.command)
			}
		}
	}
}

func TestAllowCases(t *testing.T) {
	cases := readCases(t, "allow.txt")
	for name, nested := range layouts() {
		s := newSite(t, nested)
		for _, c := range cases {
			if v := s.decide(c.command); !v.Allow {
				t.Errorf("%s, %s: %s\n\t%s", name, c.class, c.command, v.Message())
			}
		}
	}
}
