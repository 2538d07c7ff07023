//go:build heavy

package real

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	adapters "github.com/cco-dev/cco/internal/agent"
	"github.com/cco-dev/cco/internal/agent/agenttest"
	"github.com/cco-dev/cco/internal/must"
	"github.com/cco-dev/cco/internal/proc"
)

// The whole way: a plan goes into a box, the skill is invoked, the CLI commits, the commit comes back. The agent is
// asked to look for its key, which is used and is nowhere.
func TestAPushEndsInACommitThatIsPulled(t *testing.T) {
	eachBox(t, append([]string{slow}, agents...), func(t *testing.T, agent, box string) {
		w := newWork(t, agent,
			agenttest.Step{Thinking: "First the plan.", Text: "I read the plan.",
				Calls: []agenttest.Call{agenttest.ShellCall("cat plan.md; uname -n")}},
			searchKey, searchDecoy, commit("hello.txt", "hello"), agenttest.Say("The lamp is lit."))
		w.box = box
		w.putSearch()
		out, id := w.push(0)
		if !strings.Contains(out, "The lamp is lit.") {
			t.Errorf("the agent's words are not shown:\n%s", out)
		}
		if !strings.Contains(w.model.Heard(), box) {
			t.Errorf("it did not run in the box %s: %s", box, w.model.Heard())
		}
		w.keyIsNowhere(id, out)
		w.run(0, "box", "pull", id)
		w.pulled("hello.txt", "hello")
		if got := w.git(w.repo, "log", "-1", "--format=%s %an"); got != "Add hello.txt Ada" {
			t.Errorf("last commit: %s", got)
		}
		// The skill's own words, which stand nowhere but in its file, and the plan's, which only reading it gives.
		for _, text := range []string{"Never ask", "Commits go to the current branch",
			"lighthouse keeper greets"} {
			if !w.model.Saw(text) {
				t.Errorf("the model never saw %q", text)
			}
		}
		if s := w.session(id); s.State != "pulled" {
			t.Errorf("session %+v", s)
		}
		for _, r := range w.model.Requests() {
			if r.Turn && r.Key() != w.key {
				t.Errorf("the model got the key %q, not the real one", r.Key())
			}
		}
	})
}

// Where the agent works in a worktree of the user's own repository, it gets to its model in the same way.
func TestAPushIntoAWorktreeBox(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		w := newWork(t, agent, commit("hello.txt", "hello"), agenttest.Say("done"))
		box := "tree-" + agent
		w.run(0, "box", "create", box, "--backend", "worktree")
		t.Cleanup(func() { _, _ = w.cco(context.Background(), w.repo, w.env, "box", "destroy", box, "--force") })
		_, id := w.push(0, "--box", box)
		w.run(0, "box", "pull", id)
		w.pulled("hello.txt", "hello")
		for _, r := range w.model.Requests() {
			if r.Turn && r.Key() != w.key {
				t.Errorf("the model got the key %q, not the real one", r.Key())
			}
		}
		if text := w.kept(id, "transcript.jsonl"); strings.Contains(text, w.key) {
			t.Error("the key is in the transcript")
		}
	})
}

// What was installed without a script of its packages having been run is listed in the version that cco pins, and runs.
func TestAgentsAreListed(t *testing.T) {
	w := newWork(t, "claude")
	var list []struct{ Name, Version, Path string }
	must.Do(t, json.Unmarshal([]byte(w.run(0, "--quiet", "agent", "list", "--json")), &list))
	listed := map[string]string{}
	for _, a := range list {
		listed[a.Name] = a.Version
		if a.Name == slow || slices.Contains(agents, a.Name) {
			says := must.Get(proc.Output(t.Context(), proc.Cmd{Argv: []string{a.Path, "--version"}, Env: w.stage.env}))(t)
			if !strings.Contains(string(says), a.Version) {
				t.Errorf("%s %s says %s", a.Name, a.Version, says)
			}
		}
	}
	for _, name := range slices.Concat(agents, spoken, []string{slow}) {
		if want := must.Get(adapters.Find(name))(t).Package().Version; listed[name] != want {
			t.Errorf("%s %q is listed, and %s pinned", name, listed[name], want)
		}
	}
}

// noted makes sure that the log has a note about something, and no denial.
func (w *work) noted(mark string) {
	w.t.Helper()
	log := w.run(0, "guard", "log")
	if !strings.Contains(log, mark) || !strings.Contains(log, " noted ") || strings.Contains(log, "denial") {
		w.t.Errorf("it is not noted in the log, or denied:\n%s", log)
	}
}

// off is what an agent can run to switch its hook off: every file that a CLI reads in a workspace or a home.
const off = `set -u
mkdir -p .claude .codex .gemini ~/.claude ~/.codex ~/.gemini
for d in . ~ "${CLAUDE_CONFIG_DIR:-/nowhere}/.." "${CODEX_HOME:-/nowhere}/.." "${GEMINI_CLI_HOME:-/nowhere}"; do
	for f in .claude/settings.json .claude/settings.local.json; do
		echo '{"disableAllHooks": true, "hooks": {}}' > "$d/$f"; done
	printf '[features]\nhooks = false\n' > "$d/.codex/config.toml"
	echo '{"hooksConfig": {"enabled": false}, "hooks": {}}' > "$d/.gemini/settings.json"
done 2>/dev/null
[ -n "${CLAUDE_CONFIG_DIR:-}" ] && echo '{"disableAllHooks": true}' > "$CLAUDE_CONFIG_DIR/settings.json"
[ -n "${CODEX_HOME:-}" ] && printf '[features]\nhooks = false\n' > "$CODEX_HOME/config.toml"
for f in /etc/claude-code/managed-settings.json /etc/codex/requirements.toml \
	/etc/gemini-cli/settings.json /etc/cco/policy.json; do
	(echo '{}' > "$f") 2>/dev/null && echo "WROTE $f"
done
echo switched off
`

// A command that leaves the workspace fails by the kernel in a box, and the hook only notes it: also once the agent has
// switched its hook off in mid-run, by a script in the repository that the guard can't look into.
func TestWhatLeavesTheWorkspaceIsHeldAndNoted(t *testing.T) {
	each(t, agents, func(t *testing.T, agent string) {
		before, after := filepath.Join("/usr/local", "cco-real-"+agent), filepath.Join("/usr/local", "cco-real-off-"+agent)
		w := newWork(t, agent, agenttest.Shell("touch "+before), agenttest.Shell("sh off.sh"),
			agenttest.Shell("timeout 6 tail -f /dev/null || true"), // claude reads its settings anew, and refuses to sleep
			agenttest.Shell("touch "+after), agenttest.Say("done"))
		w.put("off.sh", off)
		w.push(0)
		heard := w.model.Heard()
		if !strings.Contains(heard, "switched off") || strings.Contains(heard, "WROTE") {
			t.Errorf("the script did not do what it should: %s", heard)
		}
		for _, mark := range []string{before, after} {
			if !strings.Contains(heard, mark+"': Read-only file system") {
				t.Errorf("the agent was not told about %s by the kernel: %s", mark, heard)
			}
			if _, err := os.Lstat(mark); err == nil {
				t.Errorf("the box did not hold %s", mark)
			}
			w.noted(mark)
		}
	})
}
