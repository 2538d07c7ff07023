package guard_test

import (
	"bytes"
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
)

func TestBatchKeepsOrderAndGoesOn(t *testing.T) {
	s := newSite(t, false)
	in := s.fill(`{"id":"1","cwd":"{WT}","tool_name":"Bash","tool_input":{"command":"ls"}}

not json
{"id":"3","cwd":"{WT}","tool_name":"Write","tool_input":{"file_path":"{HOST}/x"}}
`)
	var out bytes.Buffer
	if err := guard.Batch(s.policy, nil, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSpace(out.String()), "\n")
	if len(lines) != 3 {
		t.Fatalf("got %d lines: %s", len(lines), out.String())
	}
	for i, want := range []string{`{"id":"1","verdict":"allow"}`, `{"id":"","verdict":"deny","rule":"bad-input"`,
		`{"id":"3","verdict":"deny","rule":"writes-outside"`} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %s", i, lines[i])
		}
	}
}

func TestExplainMarksThePart(t *testing.T) {
	p := guard.Policy{Workspace: "/w/task", Host: "/w/host"}
	command := "ls\ncd /w/host && make"
	got := guard.Explain(command, guard.Decide(p, nil, guard.Command("/w/task", command)))
	want := `denied by leaves-workspace

  ls
  cd /w/host && make
     ^^^^^^^

  reason:  cd to /w/host leaves the workspace
  path:    /w/host
  instead: use a path below /w/task
`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	if got := guard.Explain("ls", guard.Verdict{Allow: true}); got != "allowed\n" {
		t.Errorf("got %q", got)
	}
}

func TestPromptNamesTheRealPaths(t *testing.T) {
	s := newSite(t, false)
	text := guard.Prompt(s.policy)
	if !strings.HasPrefix(text, "## SANDBOX RULES (CRITICAL)\n") {
		t.Errorf("heading: %s", text)
	}
	for _, want := range []string{s.worktree, s.host, "agent/task-1", "relative paths", "blocked and logged",
		"Never `cd`"} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}

func TestGitEnvOfALinkedWorktree(t *testing.T) {
	s := newSite(t, true)
	want := []string{
		"GIT_DIR=" + s.host + "/.git/worktrees/task",
		"GIT_WORK_TREE=" + s.worktree,
		"GIT_CEILING_DIRECTORIES=" + s.host + "/.cco",
	}
	if got := guard.GitEnv(s.policy); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	s.policy.Linked = false
	if got := guard.GitEnv(s.policy); !slices.Equal(got, want[2:]) {
		t.Errorf("a clone: got %q, want %q", got, want[2:])
	}
}
