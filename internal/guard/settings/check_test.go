package settings

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		"settings gone": {"claude", func(t *testing.T, i Installation) { remove1(t, i.Places.file("claude", i.Dir)) },
			"claude registered"},
		"settings wrong": {"claude", func(t *testing.T, i Installation) { write(t, i.Places.file("claude", i.Dir), "{") },
			"claude registered"},
		"local disables": {"claude", func(t *testing.T, i Installation) {
			file := i.Places.file("claude", i.Dir)
			write(t, file, strings.Replace(content(t, file), "false", "true", 1))
		}, "claude disableAllHooks"},
		"user disables": {"claude", func(t *testing.T, i Installation) {
			file := i.Places.file("claude", i.Dir)
			write(t, file, strings.Replace(content(t, file), `"disableAllHooks": false, `, "", 1))
			write(t, filepath.Join(i.Places.Claude, "settings.json"), `{"disableAllHooks": true}`)
		}, "claude disableAllHooks"},
		"managed only": {"claude", func(t *testing.T, i Installation) {
			write(t, i.Places.ManagedClaude, `{"allowManagedHooksOnly": true}`)
		}, "claude managed hooks only"},
		"codex feature": {"codex", func(t *testing.T, i Installation) {
			write(t, filepath.Join(i.Dir, ".codex/config.toml"), "[features]\ncodex_hooks = false\n")
		}, "codex features.hooks"},
		"codex trust": {"codex", func(t *testing.T, i Installation) {
			file := i.Places.file("codex", i.Dir)
			write(t, file, strings.Replace(content(t, file), "timeout = 10", "timeout = 11", 1)+"\n[[hooks.PreToolUse]]\n")
			write(t, file, "[[hooks.PreToolUse]]\n"+content(t, file))
		}, "codex trust"},
		"codex managed only": {"codex", func(t *testing.T, i Installation) {
			write(t, i.Places.ManagedCodex, "allow_managed_hooks_only = true\n")
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
	file := i.Places.file("claude", i.Dir)
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
	i.Places.Secure = ofRoot // no directory for tests belongs to root alone
	if off := i.off(t, "gemini"); off != "gemini registered" {
		t.Errorf("off: %q", off)
	}
	if err := ofRoot("/"); err != nil {
		t.Error(err)
	}
}

func TestJSONIsReadAsAgentsReadIt(t *testing.T) {
	for _, good := range []string{`{}`, "\ufeff{ }", `{"a":[1,2,],"b":{"c":"\"}"},}`, "// x\n{/* y */}",
		`{"a":true,"a":false}`} {
		if _, err := parseJSON([]byte(good)); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{``, `{`, `[]`, `{"a"}`, `{"a":}`, `{"a":1 "b":2}`, `{} x`, `{,}`, `{"a":tru}`, `/*`,
		`{"a":"\x"}`, strings.Repeat("[", 1000)} {
		if _, err := parseJSON([]byte(bad)); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}

func FuzzMergeKeepsTheRest(f *testing.F) {
	for _, s := range []string{`{}`, `{"a":1}`, "{\n \"hooks\": {\"PreToolUse\": [ {} ]} }", `{"hooks":[]}`,
		`{/**/"x":{},}`} {
		f.Add(s)
	}
	h := Hook{Guard: "/g", Policy: "/p"}
	f.Fuzz(func(t *testing.T, text string) {
		was, err := parseJSON([]byte(text))
		if err != nil {
			return
		}
		out, err := mergeClaude([]byte(text), h)
		if err != nil {
			t.Fatalf("%q: %v", text, err)
		}
		now, err := parseJSON(out)
		if err != nil {
			t.Fatalf("%q became %q: %v", text, out, err)
		}
		if got := commands(now, "PreToolUse"); len(got) == 0 || got[0] != h.command("claude") {
			t.Fatalf("%q: %q has no hook", text, out)
		}
		for _, m := range was.members {
			if _, ok := now.get(m.key); !ok {
				t.Fatalf("%q: %q lost %q", text, out, m.key)
			}
		}
	})
}
