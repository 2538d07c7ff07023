//go:build heavy

package real

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
)

// Guards against a real program that does not call the hook at the end of its turn: it would look at work for ever.
func TestAgentsAtTheirPromptsAreIdle(t *testing.T) {
	for _, name := range append([]string{slow}, agents...) {
		t.Run(name, func(t *testing.T) { idleAtItsPrompt(t, name) })
	}
}

func idleAtItsPrompt(t *testing.T, name string) {
	w := newWork(t, name, commit("hello.txt", "hello"), agenttest.Say("done"),
		agenttest.Shell(`until test -e "$CCO_EXCHANGE/goon"; do sleep 0.1; done`), agenttest.Say("done again"))
	k := w.onKitty("box", "push", "plan.md", "--agent", name)
	is := func(state string) {
		t.Helper()
		for deadline := time.Now().Add(5 * time.Minute); ; time.Sleep(100 * time.Millisecond) {
			if list := w.run(0, "box", "sessions"); strings.Contains(list, " "+name+" ") {
				s := w.session(w.newestID())
				if string(s.State) == state {
					return
				}
			}
			if time.Now().After(deadline) {
				t.Fatalf("never %s\n%q", state, k.shown())
			}
		}
	}
	is("idle")
	_, _ = k.WriteString("lighten")
	w.waitFor("what was typed", func() bool { return strings.Contains(k.shown(), "lighten") })
	_, _ = k.WriteString("\r")
	is("running")
	must.Do(t, os.WriteFile(filepath.Join(w.dir, "data", "cco", "exchange", w.newestID(), "goon"), nil, 0o644))
	is("idle")
	for range 2 { // Ctrl-C, as kitty sends it
		_, _ = k.WriteString("\x1b[99;5u")
	}
	_ = k.cmd.Wait()
	is("done")
}

// Guards against a real program that does not end at its prompt when its work is pulled, or takes what is said to it
// for a line that nobody has entered; and against one whose screen begins with pages of cco's rules, or that has none.
func TestAgentsAtTheirPromptsAreToldAndPulled(t *testing.T) {
	for _, name := range append([]string{slow}, agents...) {
		t.Run(name, func(t *testing.T) {
			w := newWork(t, name, commit("hello.txt", "hello"), agenttest.Say("done"), commit("more.txt", "more"),
				agenttest.Say("all done"))
			k := w.onKitty("box", "push", "plan.md", "--agent", name)
			idle := func() bool {
				return strings.Contains(w.run(0, "box", "sessions"), " "+name+" ") && w.session(w.newestID()).State == "idle"
			}
			w.waitFor("its prompt", idle)
			if strings.Contains(k.shown(), "SANDBOX RULES") || strings.Contains(k.shown(), "You are alone") {
				t.Errorf("cco's rules are on its screen:\n%q", k.shown())
			}
			if !w.model.Saw("SANDBOX RULES") || !w.model.Saw("You are alone") {
				t.Error("its model never saw cco's rules")
			}
			_, _ = k.WriteString("\x1b[93;5u") // Ctrl-], as kitty sends it
			_ = k.cmd.Wait()
			id := w.newestID()
			w.run(0, "box", "say", id, "Do more,\nand then rest.")
			w.waitFor("its answer", func() bool { return strings.Contains(w.run(0, "box", "logs", id), "all done") })
			w.waitFor("its prompt", idle)
			w.run(0, "box", "pull", id)
			w.pulled("more.txt", "more")
		})
	}
}
