package relay

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/proc"
)

// Guards against a program that waits for all its children and never ends, because one of them is ours.
func TestProgramHasNoChildOfOurs(t *testing.T) {
	t.Parallel()
	out, err := proc.Output(t.Context(), relayed(t, "none", "SELF", "reap"))
	if err != nil || strings.TrimSpace(string(out)) != "no child processes" {
		t.Errorf("%v: %q", err, out)
	}
}
