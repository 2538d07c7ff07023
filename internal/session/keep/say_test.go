package keep

import (
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/broker"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/session"
	"github.com/cco-dev/cco/internal/term"
)

// Guards against words that are typed into an agent which can't be steered in mid-turn, or is still starting, where
// they are lost; and against words that wait for the next turn of one that can.
func TestWhatIsSaidIsTypedWhereTheAgentListens(t *testing.T) {
	t.Parallel()
	for name, steered := range map[string]bool{"claude": true, "codex": true, "gemini": false, "opencode": false} {
		k := &keeper{agent: must.Get(agent.Find(name))(t)}
		says := func(when string, want bool) {
			t.Helper()
			if got := k.listens(); got != want {
				t.Errorf("%s %s: it listens: %v", name, when, got)
			}
		}
		says("without a terminal", false)
		k.pty = &term.Pty{}
		says("before its first turn", false)
		k.turns.take("a", false)
		says("at work", steered)
		k.turns.take("a", true)
		says("at its prompt", true)
		k.asks = true
		says("at its prompt with a question", true)
		k.asks, k.closing = false, true
		says("that was asked to leave", false)
	}
	k := &keeper{agent: must.Get(agent.Find("codex"))(t), pty: &term.Pty{}}
	if k.rest.last = (broker.Entry{Time: time.Unix(1, 0)}); !k.listens() {
		t.Error("an agent without a hook that has asked its model is taken for one that is starting")
	}
	k.pty = nil
	if answer := k.say([]byte("x")); answer != session.SaidLater || len(k.said) != 1 {
		t.Errorf("%q, and %d words wait", answer, len(k.said))
	}
}
