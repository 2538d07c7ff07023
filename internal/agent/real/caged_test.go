//go:build heavy

package real

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
)

// again is how each agent goes on with its last session.
var again = map[string][]string{"claude": {"--continue"}, "codex": {"resume", "--last"},
	"gemini": {"--resume", "latest"}, "opencode": {"--continue"}}

// The real CLIs work in a cage on the user's own worktree: a commit comes to the branch, nothing outside changes, and a
// second run goes on with the session of the first: its model tells by what was said before what it answers.
func TestAgentsWorkInACage(t *testing.T) {
	each(t, append(agents, slow), func(t *testing.T, agent string) {
		outside := t.TempDir()
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Shell("touch "+outside+"/ran; git tag here"),
			agenttest.Say("First."), commit("more.txt", "more"), agenttest.Say("Second."))
		for _, args := range [][]string{nil, again[agent]} {
			w.run(0, append([]string{"guard", "run", "--"}, w.atHome(args...)...)...)
		}
		w.pulled("hello.txt", "hello")
		w.pulled("more.txt", "more")
		if all := must.Get(os.ReadDir(outside))(t); len(all) > 0 {
			t.Errorf("%v was made outside", all)
		}
		if tags := w.git(w.repo, "tag"); tags != "" {
			t.Errorf("the tag %s came over", tags)
		}
	})
}

// atHome is how the agent is started without a person in the home of somebody who has used it before.
func (w *work) atHome(args ...string) (argv []string) {
	home := filepath.Join(filepath.Dir(w.repo), "home")
	lay(w.t, filepath.Join(home, ".claude.json"), `{"hasCompletedOnboarding":true,"lastOnboardingVersion":"2.1.325",
		"theme":"dark","bypassPermissionsModeAccepted":true,"customApiKeyResponses":{"approved":["none"],"rejected":[]}}`)
	lay(w.t, filepath.Join(home, ".gemini", "settings.json"), `{"security":{"auth":{"selectedType":"gemini-api-key"}}}`)
	lay(w.t, filepath.Join(home, ".gitconfig"), "[user]\n\tname = A\n\temail = a@b\n")
	lay(w.t, filepath.Join(home, ".config", "cco", "config.toml"), "[guard]\nshow = [\"KEY\"]\n")
	run := agenttest.Run{Agent: w.agent, Model: w.model, Dir: w.repo, Home: home, Args: args}
	argv, env := run.Command(agenttest.Program(w.t, w.agent))
	w.env = append(env, "XDG_CONFIG_HOME="+filepath.Join(home, ".config"))
	return argv
}

// lay makes a file.
func lay(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(text), 0o600))
}
