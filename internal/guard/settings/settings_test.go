package settings

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/must"
)

func place(t *testing.T) Installation {
	t.Helper()
	root := must.Get(filepath.EvalSymlinks(t.TempDir()))(t)
	i := Installation{
		Dir: filepath.Join(root, "work tree's"), State: filepath.Join(root, "data", "state"),
		Guard:    filepath.Join(root, "bin", "cco-guard"),
		Places:   Places{Env: func(string) string { return "" }, Home: filepath.Join(root, "home"), Root: root},
		Adapters: []*Adapter{Claude(), Codex(), Gemini(), Opencode()},
	}
	for _, dir := range []string{i.Dir, filepath.Dir(i.Guard)} {
		must.Do(t, os.MkdirAll(dir, 0o755))
	}
	// It denies what the real one denies when Check asks, and allows the rest.
	write(t, i.Guard, "#!/bin/sh\ngrep -q 'cd /' && { echo denied >&2; exit 2; }\nexit 0\n")
	must.Do(t, os.Chmod(i.Guard, 0o755))
	return i
}

func write(t *testing.T, name, text string) {
	t.Helper()
	must.Do(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must.Do(t, os.WriteFile(name, []byte(text), 0o640))
}

func content(t *testing.T, name string) string {
	t.Helper()
	data := must.Get(os.ReadFile(name))(t)
	return string(data)
}

func (i Installation) mustInstall(t *testing.T, system bool, agents ...string) {
	t.Helper()
	p := guard.Policy{Workspace: i.Dir}
	must.Do(t, i.Install(p, Options{Agents: agents, System: system, Nonce: "nonce"}))
}

// file is where the hook of an agent is registered.
func (i Installation) file(agent string) string {
	r, _ := roster.Find(agent)
	return i.Places.file(r, i.Dir, false)
}

// system is the file of the machine for an agent.
func (i Installation) system(agent string) string {
	r, _ := roster.Find(agent)
	return i.Places.file(r, i.Dir, true)
}

// off names what Check holds against the guard.
func (i Installation) off(t *testing.T, agents ...string) string {
	t.Helper()
	var list []string
	for _, f := range i.Check(t.Context(), agents, func(string) string { return "" }) {
		if f.State == Off {
			list = append(list, strings.TrimSpace(f.Agent+" "+f.What))
		}
	}
	return strings.Join(list, ", ")
}

func TestInstallAndUninstallLeaveNoTrace(t *testing.T) {
	files := map[string][]string{
		"claude": {"", "{}", "{\n}\n", "{\"a\": 1}", "{\n  \"hooks\": {\"PreToolUse\": []}\n}\n",
			"{\"hooks\":{\"Stop\":[]},\"disableAllHooks\":true}",
			"{\n\t\"disableAllHooks\": false,\n\t\"hooks\": {\n\t\t\"PreToolUse\": [\n\t\t\t{\"hooks\": []}\n\t\t]\n\t}\n}"},
		"gemini": {"// c\n{}\n", "{\n  /* x */ \"hooks\": {\"BeforeTool\": [1,],},\n}\n",
			"{\"hooksConfig\":{\"enabled\":false,\"disabled\":[\"x\"]}}"},
		"codex": {"", "# only a comment", "[features]\nhooks=false\nother = true\n[x]\n",
			"[[hooks.PreToolUse]]\nmatcher=\"a\"\n", "[hooks]\n[hooks.state]\n"},
	}
	for agent, texts := range files {
		for _, text := range texts {
			i := place(t)
			file := i.file(agent)
			if text != "" {
				write(t, file, text)
			}
			i.mustInstall(t, false, agent)
			first := content(t, file)
			i.mustInstall(t, false, agent)
			if again := content(t, file); again != first {
				t.Errorf("%s %q: installed twice:\n%s\n%s", agent, text, first, again)
			}
			if off := i.off(t, agent); off != "" {
				t.Errorf("%s %q: off: %s\n%s", agent, text, off, first)
			}
			if _, err := i.Uninstall(); err != nil {
				t.Fatal(err)
			}
			if text == "" {
				if _, err := os.Stat(file); !os.IsNotExist(err) {
					t.Errorf("%s: the file stayed", agent)
				}
			} else if got := content(t, file); got != text {
				t.Errorf("%s: got %q, want %q", agent, got, text)
			}
		}
	}
}

// Guards against an uninstall that throws away what the user has changed since.
func TestUninstallKeepsLaterChanges(t *testing.T) {
	i := place(t)
	i.mustInstall(t, false, i.Known()...)
	for agent, change := range map[string]func(string) string{
		"claude": func(s string) string { return strings.Replace(s, "{", `{"model": "x",`, 1) },
		"gemini": func(s string) string { return strings.Replace(s, "{", `{"ui": {},`, 1) },
		"codex":  func(s string) string { return "model = \"x\"\n" + s + "[tail]\n" },
	} {
		file := i.file(agent)
		write(t, file, change(content(t, file)))
	}
	if _, err := i.Uninstall(); err != nil {
		t.Fatal(err)
	}
	for agent, want := range map[string][]string{"claude": {`"model"`}, "gemini": {`"ui"`},
		"codex": {"model = \"x\"", "[tail]"}} {
		got := content(t, i.file(agent))
		for _, w := range want {
			if !strings.Contains(got, w) || strings.Contains(got, "cco-guard") || strings.Contains(got, "disableAllHooks") {
				t.Errorf("%s: %s", agent, got)
			}
		}
	}
}

// Guards against one worktree's uninstall taking codex's trust from another's hook, which it names by its place.
func TestTwoWorktreesShareTheUsersFiles(t *testing.T) {
	one := place(t)
	two := one
	two.Dir, two.State = one.Dir+"2", one.State+"2"
	must.Do(t, os.Mkdir(two.Dir, 0o755))
	codex := one.file("codex")
	write(t, codex, "model = \"x\"\n")
	one.mustInstall(t, false, "codex", "gemini")
	two.mustInstall(t, false, "codex", "gemini")
	if off := one.off(t, "codex", "gemini") + two.off(t, "codex", "gemini"); off != "" {
		t.Fatal(off)
	}
	if _, err := one.Uninstall(); err != nil {
		t.Fatal(err)
	}
	if off := two.off(t, "codex", "gemini"); off != "" {
		t.Fatalf("%s\n%s", off, content(t, codex))
	}
	if _, err := two.Uninstall(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, codex); got != "model = \"x\"\n" {
		t.Error(got)
	}
}

func TestInstallRefusesWhatItCantRead(t *testing.T) {
	for agent, text := range map[string]string{"claude": `{"a":`, "gemini": `[]`, "codex": "hooks = {PreToolUse = []}\n"} {
		i := place(t)
		file := i.file(agent)
		write(t, file, text)
		err := i.Install(guard.Policy{Workspace: i.Dir}, Options{Agents: []string{agent}, Nonce: "n"})
		if err == nil || !strings.Contains(err.Error(), filepath.Base(file)) {
			t.Errorf("%s: %v", agent, err)
		}
		if got := content(t, file); got != text {
			t.Errorf("%s was changed: %q", agent, got)
		}
	}
}

func TestModeAndLinksOfTheUsersFilesStay(t *testing.T) {
	i := place(t)
	real := filepath.Join(i.Places.Home, "dotfiles", "codex.toml")
	write(t, real, "a = 1\n")
	link := i.file("codex")
	must.Do(t, os.MkdirAll(filepath.Dir(link), 0o700))
	must.Do(t, os.Symlink(real, link))
	i.mustInstall(t, false, "codex")
	if to, err := os.Readlink(link); err != nil || to != real {
		t.Errorf("the link is %q, %v", to, err)
	}
	if info, err := os.Stat(real); err != nil || info.Mode().Perm() != 0o640 {
		t.Errorf("mode %v, %v", info.Mode(), err)
	}
	if off := i.off(t, "codex"); off != "" {
		t.Error(off)
	}
}

func TestSystemSettings(t *testing.T) {
	i := place(t)
	write(t, i.system("claude"), `{"permissions": {"deny": ["WebFetch"]}}`)
	i.mustInstall(t, true, i.Known()...)
	got := content(t, i.system("claude"))
	for _, want := range []string{`"WebFetch"`, `"allowManagedHooksOnly": true`, `"onFailure":"block"`} {
		if !strings.Contains(got, want) {
			t.Errorf("no %s in %s", want, got)
		}
	}
	if strings.Contains(got, "pwd -P") {
		t.Error("system settings hold for every session, so that none may be let out by its directory")
	}
	write(t, filepath.Join(i.Dir, ".claude/settings.local.json"), `{"disableAllHooks":true}`)
	write(t, filepath.Join(i.Dir, ".codex/config.toml"), "[features]\nhooks = false\n")
	if off := i.off(t, i.Known()...); off != "" {
		t.Error(off)
	}
	if _, err := i.Uninstall(); err != nil {
		t.Fatal(err)
	}
	if got := content(t, i.system("claude")); got != `{"permissions": {"deny": ["WebFetch"]}}` {
		t.Error(got)
	}
}

func TestManagedFiles(t *testing.T) {
	h := Hook{Guard: "/opt/cco/cco-guard", Policy: hook.DefaultPolicy, Name: "cco-guard-abc", Turns: true}
	files := Managed(place(t).Adapters, h)
	seen := map[string]string{}
	for _, f := range files {
		if !filepath.IsAbs(f.Path) || f.Mode != 0o644 {
			t.Errorf("%s %v", f.Path, f.Mode)
		}
		seen[f.Path] = string(f.Data)
		for _, turn := range []string{"--turn begun", "--turn ended"} {
			if n := strings.Count(string(f.Data), turn); n != 1 && f.Path != "/etc/opencode/opencode.json" {
				t.Errorf("%s has %q %d times", f.Path, turn, n)
			}
		}
		if f.Path == "/etc/opencode/opencode.json" {
			continue // it only names the plugin
		}
		if !strings.Contains(string(f.Data), "/opt/cco/cco-guard --agent ") ||
			!strings.Contains(string(f.Data), "--policy /etc/cco/policy.json") {
			t.Errorf("%s: %s", f.Path, f.Data)
		}
	}
	for _, name := range []string{"/etc/claude-code/managed-settings.json", "/etc/gemini-cli/settings.json",
		"/etc/opencode/opencode.json"} {
		if !json.Valid([]byte(seen[name])) {
			t.Errorf("%s: %s", name, seen[name])
		}
	}
	tree, err := readTOML([]byte(seen["/etc/codex/requirements.toml"]))
	if err != nil || at(tree, "allow_managed_hooks_only") != true || at(tree, "features.hooks") != true ||
		len(handlers(tree, "PreToolUse")) != 1 {
		t.Errorf("%+v %v", tree, err)
	}
	if !strings.Contains(seen["/etc/gemini-cli/settings.json"], "cco-guard-abc") {
		t.Error("gemini's hook has a name that can be guessed")
	}
	if f, err := PolicyFile(guard.Policy{Workspace: "/workspace/x"}); err != nil || f.Path != hook.DefaultPolicy {
		t.Errorf("%v %v", f, err)
	}
	if _, err := PolicyFile(guard.Policy{}); err == nil {
		t.Error("a policy without a workspace went in")
	}
}
