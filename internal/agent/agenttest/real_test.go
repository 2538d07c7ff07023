//go:build heavy

package agenttest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// Agents that were tried with this server. Codex has other tools for newer models.
var agents = []string{"claude", "codex", "codex -m gpt-6.1-sol", "gemini", "opencode"}

// Guards against a server that only its own tests understand: every CLI thinks, calls two tools in one turn, writes a
// file with its own tool, goes through a dropped stream and a 529, and ends well.
func TestRealCLIsUnderstandTheServer(t *testing.T) {
	for _, name := range agents {
		t.Run(name, func(t *testing.T) {
			agent, args := strings.Fields(name)[0], strings.Fields(name)[1:]
			home, dir := t.TempDir(), t.TempDir()
			must.Do(t, proc.Run(t.Context(), proc.Cmd{Argv: []string{"git", "init", "-q", dir}}))
			settings := filepath.Join(home, ".gemini", "settings.json")
			must.Do(t, os.Mkdir(filepath.Dir(settings), 0o755))
			must.Do(t, os.WriteFile(settings, []byte(`{"security":{"auth":{"selectedType":"gemini-api-key"}}}`),
				0o600))
			s := Serve(t,
				Step{Thinking: "Two at once.", Text: "I begin.",
					Calls: []Call{ShellCall("echo 1 >> one"), ShellCall("echo 2 >> two")}},
				Write(filepath.Join(dir, "three"), "3\n"), Say("All is done."))
			s.Fail(1, Fault{Status: 529})
			if agent != "gemini" { // gemini ends when a stream is dropped; its caller continues
				s.Fail(3, Fault{Drop: InMiddle})
			}
			out := Run{Agent: agent, Model: s, Dir: dir, Home: home, Args: args}.Do(t)
			for name, want := range map[string]string{"one": "1\n", "two": "2\n", "three": "3\n"} {
				if got, err := os.ReadFile(filepath.Join(dir, name)); err != nil || string(got) != want {
					t.Errorf("%s: %q, %v", name, got, err)
				}
			}
			if t.Failed() {
				t.Logf("%s\n%s", s.Summary(), out)
			}
		})
	}
}
