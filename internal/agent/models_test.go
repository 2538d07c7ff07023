//go:build heavy

package agent_test

import (
	"slices"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
)

// Guards against a version that is pinned anew and asks another model than the table of its models says, which then has
// no price.
func TestRealDefaultModels(t *testing.T) {
	for _, name := range clis() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t, name, agenttest.Shell("echo done > worked"), agenttest.Say("over"))
			s.task.Model = ""
			s.play(t, "default-model")
			var asked []string
			for _, r := range s.model.Requests() {
				if r.Protocol != "" && r.Model != "" && !slices.Contains(asked, r.Model) {
					asked = append(asked, r.Model)
				}
			}
			if len(asked) == 0 {
				t.Fatalf("it asked no model\n%s", s.model.Summary())
			}
			for _, m := range asked {
				if !slices.Contains(s.a.Package().Models, m) {
					t.Errorf("it asks for %s, which is not among %s", m, strings.Join(s.a.Package().Models, ", "))
				}
			}
		})
	}
}
