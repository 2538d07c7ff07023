package guard_test

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/guard"
)

func TestPromptNamesTheRealPaths(t *testing.T) {
	s := newSite(t, false)
	text := guard.Prompt(s.policy)
	if !strings.HasPrefix(text, "## SANDBOX RULES (CRITICAL)\n") {
		t.Errorf("heading: %s", text)
	}
	for _, want := range []string{s.worktree, s.host, "agent/task-1", "relative paths", "is logged",
		"Never `cd`", guard.CommitRule} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is missing in\n%s", want, text)
		}
	}
}
