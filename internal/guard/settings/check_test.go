package settings

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/must"
)

// Every way of losing a hook that settings can show has to be found by Check.
func TestCheckFindsWhatSwitchesTheGuardOff(t *testing.T) {
	for name, tt := range map[string]struct {
		agent string
		lose  func(t *testing.T, i Installation)
		want  string
	}{
		"program gone": {"claude", func(t *testing.T, i Installation) { remove1(t, i.Guard) }, "program, claude denies"},
		"policy gone":  {"claude", func(t *testing.T, i Installation) { remove1(t, i.Policy()) }, "policy"},
		"policy empty": {"claude", func(t *testing.T, i Installation) { write(t, i.Policy(), "{}") }, "policy"},
		"always allows": {"claude", func(t *testing.T, i Installation) { write(t, i.Guard, "#!/bin/sh\nexit 0\n") },
			"claude denies"},
		"fails open": {"claude", func(t *testing.T, i Installation) { write(t, i.Guard, "#!/bin/sh\nexit 1\n") },
			"claude denies"},
		"settings gone": {"claude", func(t *testing.T, i Installation) { remove1(t, i.file("claude")) },
			"claude registered"},
		"settings wrong": {"claude", func(t *testing.T, i Installation) { write(t, i.file("claude"), "{") },
			"claude registered"},
		"local disables": {"claude", func(t *testing.T, i Installation) {
			file := i.file("claude")
			write(t, file, strings.Replace(content(t, file), "false", "true", 1))
		}, "claude disableAllHooks"},
		"user disables": {"claude", func(t *testing.T, i Installation) {
			file := i.file("claude")
			write(t, file, strings.Replace(content(t, file), `"disableAllHooks": false, `, "", 1))
			write(t, filepath.Join(i.Places.Home, ".claude/settings.json"), `{"disableAllHooks": true}`)
		}, "claude disableAllHooks"},
		"managed only": {"claude", func(t *testing.T, i Installation) {
			write(t, i.system("claude"), `{"allowManagedHooksOnly": true}`)
		}, "claude managed hooks only"},
		"codex feature": {"codex", func(t *testing.T, i Installation) {
			write(t, filepath.Join(i.Dir, ".codex/config.toml"), "[features]\ncodex_hooks = false\n")
		}, "codex features.codex_hooks"},
		"codex trust": {"codex", func(t *testing.T, i Installation) {
			file := i.file("codex")
			write(t, file, strings.Replace(content(t, file), "timeout = 10", "timeout = 11", 1)+"\n[[hooks.PreToolUse]]\n")
			write(t, file, "[[hooks.PreToolUse]]\n"+content(t, file))
		}, "codex trust"},
		"codex managed only": {"codex", func(t *testing.T, i Installation) {
			write(t, i.system("codex"), "allow_managed_hooks_only = true\n")
		}, "codex managed hooks only"},
		"gemini by name": {"gemini", func(t *testing.T, i Installation) {
			write(t, filepath.Join(i.Dir, ".gemini/settings.json"), `{"hooksConfig": {"disabled": ["cco-guard-nonce"]}}`)
		}, "gemini hooksConfig.disabled"},
		"gemini enabled": {"gemini", func(t *testing.T, i Installation) {
			write(t, filepath.Join(i.Dir, ".gemini/settings.json"), `{"hooksConfig": {"enabled": false}}`)
		}, "gemini hooksConfig.enabled"},
	} {
		t.Run(name, func(t *testing.T) {
			i := place(t)
			i.mustInstall(t, false, tt.agent)
			if off := i.off(t, tt.agent); off != "" {
				t.Fatalf("off before: %s", off)
			}
			tt.lose(t, i)
			if off := i.off(t, tt.agent); off != tt.want {
				t.Errorf("got %q, want %q", off, tt.want)
			}
		})
	}
}

func remove1(t *testing.T, name string) {
	t.Helper()
	if err := os.Remove(name); err != nil {
		t.Fatal(err)
	}
}

// Guards against settings of an older guard, under which commands in a skill are run without asking the hook.
func TestCheckReportsSkillsThatRunCommands(t *testing.T) {
	i := place(t)
	i.mustInstall(t, false, "claude")
	reported := func() bool {
		for _, f := range i.Check(t.Context(), []string{"claude"}, func(string) string { return "" }) {
			if f.What == "skills" && f.State == Loose {
				return true
			}
		}
		return false
	}
	if reported() {
		t.Error("reported though they are off")
	}
	file := i.file("claude")
	write(t, file, strings.Replace(content(t, file), `"disableSkillShellExecution": true`,
		`"disableSkillShellExecution": false`, 1))
	if !reported() {
		t.Errorf("not reported: %s", content(t, file))
	}
}

// Guards against a repository's own hook, which can rewrite a call after the guard has seen it, going unnoticed.
func TestCheckReportsOtherHooksOfTheRepository(t *testing.T) {
	i := place(t)
	i.mustInstall(t, false, "claude")
	write(t, filepath.Join(i.Dir, ".claude/settings.json"),
		`{"hooks":{"PreToolUse":[{"hooks":[{"type":"command","command":"rewrite"}]}]}}`)
	for _, f := range i.Check(t.Context(), []string{"claude"}, func(string) string { return "" }) {
		if f.What == "other hooks" && f.State == Loose {
			return
		}
	}
	t.Error("nothing was said")
}

// Guards against a system file that looks right and that gemini passes over, because not only root can change it.
func TestCheckKnowsWhichSystemFilesGeminiReads(t *testing.T) {
	i := place(t)
	i.mustInstall(t, true, "gemini")
	i.Places.Secure = OfRoot // no directory for tests belongs to root alone
	if off := i.off(t, "gemini"); off != "gemini registered" {
		t.Errorf("off: %q", off)
	}
	if err := OfRoot("/"); err != nil {
		t.Error(err)
	}
}

func TestJSONIsReadAsAgentsReadIt(t *testing.T) {
	for _, good := range []string{`{}`, "\ufeff{ }", "{} // the end", `{"a":[1,2,],"b":{"c":"\"}"},}`, "// x\n{/* y */}",
		`{"a":true,"a":false}`} {
		if _, err := parseJSON([]byte(good)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{`{`, `[]`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `{} x`, `{,}`, `{"a":tru}`, `/*`,
		`{"a":"\x"}`, strings.Repeat("[", 1000), `{"a":` + strings.Repeat("[", 1<<20) + strings.Repeat("]", 1<<20) + `}`} {
		if _, err := parseJSON([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

// Guards against an edit that leaves a comma over, takes one out of a comment, or writes at the wrong place.
func TestEditsLeaveTheRest(t *testing.T) {
	edit := func(was string, change func(*document)) string {
		d := must.Get(parseJSON([]byte(was)))(t)
		change(&d)
		return string(d.bytes())
	}
	for was, want := range map[string]string{
		`{"l":["x"]}`: `{"l":[]}`, `{"l":["x",]}`: `{"l":[]}`, `{"l":["x" /* , */, 1]}`: `{"l":[ 1]}`,
		"\ufeff{\"l\":[\"x\", 2]}": "\ufeff{\"l\":[ 2]}", `{"l":["x","x",3,"x"]}`: `{"l":["x",3,"x"]}`,
		"{\"l\":[\n// two\n2, // x\n\n// one\n1]}": "{\"l\":[\n\n// one\n1]}",
		"{\"l\":[]} // end":                        "{\"l\":[]} // end", "{\"l\":[]}\n\n": "{\"l\":[]}\n\n",
	} {
		if got := edit(was, func(d *document) { d.remove("l.0") }); got != want {
			t.Errorf("%q became %q", was, got)
		}
	}
	for was, want := range map[string]string{
		`{"l":[1 /* a */, "x"]}`: `{"l":[1]}`, "{\"l\":[1, // one\n\"x\",\n]}": "{\"l\":[1 // one\n]}",
	} {
		if got := edit(was, func(d *document) { d.remove("l.1") }); got != want {
			t.Errorf("%q became %q", was, got)
		}
	}
	for was, want := range map[string]string{`{"k":1}`: `{}`, `{"k":1,}`: `{}`, `{"a":2,"k":1}`: `{"a":2}`,
		`{ "k" : 1 /* , */ , "a":2}`: `{ "a":2}`, `{"a":2}`: `{"a":2}`, `{"i":{"k":1}}`: `{"i":{"k":1}}`} {
		if got := edit(was, func(d *document) { d.remove("k") }); got != want {
			t.Errorf("%s became %s", was, got)
		}
	}
	for was, want := range map[string]string{
		`{}`: `{"a": {"b": 1}}`, "{\n}\n": "{\"a\": {\"b\": 1}\n}\n", `{"a":{"b":2},"c":3}`: `{"a":{"b":1},"c":3}`,
		`{"a": 5}`: `{"a": {"b": 1}}`, `{"c":3}`: `{"a": {"b": 1}, "c":3}`,
		"{\n  // c\n  \"c\": 3,\n}": "{\n  \"a\": {\"b\": 1},\n  // c\n  \"c\": 3,\n}",
	} {
		if got := edit(was, func(d *document) { d.place("a.b").Value = hujson.Literal("1") }); got != want {
			t.Errorf("%s became %s", was, got)
		}
	}
}

// Guards against an agent that nobody knows being taken for claude.
func TestNoUnknownAgentIsTakenForAnother(t *testing.T) {
	for _, name := range []string{"", "parrot", "opencode", "Claude", "script", "qwen"} {
		i := place(t)
		unknown := func(err error) bool {
			return errors.Is(err, ErrNoHook) && strings.Contains(err.Error(), "hook for "+strconv.Quote(name))
		}
		if err := i.Install(guard.Policy{Workspace: i.Dir}, Options{Agents: []string{name}, Nonce: "n"}); !unknown(err) {
			t.Errorf("install %q: %v", name, err)
		}
		if _, err := os.Stat(filepath.Join(i.Dir, ".claude")); err == nil {
			t.Errorf("%q got claude's settings", name)
		}
		if line, err := i.Launch(name); !unknown(err) || line != "" {
			t.Errorf("launch %q: %q, %v", name, line, err)
		}
		i.mustInstall(t, false, "claude")
		if off := i.off(t, name); off != strings.TrimSpace(name+" registered") {
			t.Errorf("check %q: %q", name, off)
		}
		write(t, filepath.Join(i.State, "install.json"), `{"edits":{"`+name+`":{"file":"`+i.file("claude")+`"}}}`)
		if _, err := i.Uninstall(); !unknown(err) {
			t.Errorf("uninstall %q: %v", name, err)
		}
	}
}

func FuzzMergeKeepsTheRest(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, "{\n \"hooks\": {\"PreToolUse\": [ {} ]} }", `{"hooks":[]}`,
		`{/**/"x":{},}`} {
		f.Add(s)
	}
	h := Hook{Guard: "/g", Policy: "/p"}
	f.Fuzz(func(t *testing.T, given string) {
		was, err := readJSON([]byte(given))
		if err != nil {
			return
		}
		out, err := mergeJSON(Claude(), "", []byte(given), h)
		if err != nil {
			t.Fatalf("%q: %v", given, err)
		}
		now, err := readJSON(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", given, out, err)
		}
		for name := range was {
			if _, ok := now[name]; !ok {
				t.Fatalf("%q: %q lost %q", given, out, name)
			}
		}
		hooks := handlers(now, "PreToolUse")
		if len(hooks) == 0 || hooks[0].Command != h.command("claude") {
			t.Fatalf("%q: %q has no hook", given, out)
		}
	})
}
