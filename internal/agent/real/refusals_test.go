//go:build heavy

package real

import (
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
)

// Guards against red lines about what a CLI tries by itself, beside which nobody sees the others.
func TestWhatACLITriesByItselfIsNotRed(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Say("done"))
		x := w.onTmux("run", "plan.md", "--agent", agent, "--headless")
		x.asked()
		if strings.Contains(x.screen(), "a connection was refused") {
			t.Errorf("a refusal is red:\n%s", x.screen())
		}
	})
}
