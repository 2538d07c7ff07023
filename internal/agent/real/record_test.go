//go:build heavy

package real

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	sessions "github.com/cco-dev/cco/internal/session"
)

// Guards against a session on a terminal of which nobody can read what was done: what the real programs write down of
// it is in its transcript, once, also when it goes on.
func TestTerminalsHaveTranscripts(t *testing.T) {
	for _, name := range append([]string{slow}, agents...) {
		t.Run(name, func(t *testing.T) {
			w := newWork(t, name, commit("hello.txt", "hello"), agenttest.Say("I have said hello."),
				commit("more.txt", "more"), agenttest.Say("I have said more."))
			k := w.onKitty("box", "push", "plan.md", "--agent", name)
			idle := func() bool {
				return strings.Contains(w.run(0, "box", "sessions"), " "+name+" ") && w.session(w.newestID()).State == "idle"
			}
			w.waitFor("its prompt", idle)
			_, _ = k.WriteString("\x1b[93;5u") // Ctrl-], as kitty sends it
			_ = k.cmd.Wait()
			id := w.newestID()
			w.recorded(id, "said hello", "tool_call hello.txt", "tool_result", "text I have said hello.")
			w.run(0, "box", "say", id, "Do more, and then rest.")
			w.recorded(id, "said more", "prompt Do more, and then rest.", "tool_call more.txt", "tool_result",
				"text I have said more.")
			w.waitFor("its prompt again", idle)
			w.run(0, "box", "kill", id)
		})
	}
}

// recorded waits until something is written down, in this order, and each of it once.
func (w *work) recorded(id, what string, want ...string) {
	w.t.Helper()
	var got []string
	w.waitFor(what, func() bool {
		got = nil
		f := must.Get(os.Open(filepath.Join(w.dir, "data", "cco", "sessions", id, "transcript.jsonl")))(w.t)
		defer func() { _ = f.Close() }()
		must.Do(w.t, sessions.ReadEvents(f, func(e sessions.Event) error {
			if e.Kind == sessions.KindRecord && e.Agent.Kind != "thinking" {
				got = append(got, fmt.Sprintf("%s %s%s", e.Agent.Kind, e.Agent.Text, e.Agent.Input))
			}
			return nil
		}))
		rest := want
		for _, line := range got {
			kind, text, _ := strings.Cut(rest[0], " ")
			if strings.HasPrefix(line, kind+" ") && strings.Contains(line, text) {
				if rest = rest[1:]; len(rest) == 0 {
					return true
				}
			}
		}
		return false
	})
	for i, line := range got {
		for _, other := range got[:i] {
			if line == other && strings.HasPrefix(line, "text ") {
				w.t.Errorf("it is told twice: %s", line)
			}
		}
	}
}
