package agent

import (
	_ "embed" // settings, and the preload below

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/guard/settings"
)

// gemini is Google's Gemini CLI.
func gemini() Adapter {
	return Adapter{Row: row("gemini"), Command: geminiCommand, Events: event.NewGemini, Hook: settings.Gemini(),
		Record:   recorded(".gemini/tmp/*/chats/*.jsonl", event.RecordGemini),
		Settings: []File{{Path: ".gemini/settings.json", Data: geminiHome}}}
}

// geminiPreload makes gemini trust the settings that override all others.
const geminiPreload = "cco/gemini.cjs"

//go:embed gemini.cjs
var preload []byte

//go:embed gemini.json
var geminiHome []byte

func geminiCommand(t Task) Command {
	argv := []string{program(t, "gemini"), "--yolo"}
	if t.Model != "" {
		argv = append(argv, "-m", t.Model)
	}
	switch {
	case t.Resume != "":
		argv = append(argv, "--resume", t.Resume)
	case t.NewSession != "":
		argv = append(argv, "--session-id", t.NewSession)
	}
	if t.Interactive {
		argv = append(argv, "--prompt-interactive="+prompt(t))
	} else {
		argv = append(argv, "--output-format", "stream-json", "--prompt="+prompt(t))
	}
	env := append(place(t),
		// Without trust it runs no hooks, reads no GEMINI.md and revokes --yolo.
		"GEMINI_CLI_TRUST_WORKSPACE=true",
		// Set here, since a repository's .env may set every variable that isn't.
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH="+row("gemini").Managed,
		"GEMINI_CLI_SYSTEM_DEFAULTS_PATH=/etc/gemini-cli/system-defaults.json",
		"NODE_OPTIONS=--require=/etc/"+geminiPreload,
		"GEMINI_CLI_NO_RELAUNCH=true",
		"GEMINI_SANDBOX=false",
	)
	env = placed(env, t, "gemini")
	if t.Door != "" {
		env = append(env, "GOOGLE_GEMINI_BASE_URL=http://"+t.Door+"/gemini", "GEMINI_API_KEY="+t.Token)
	}
	etc := []File{{Path: geminiPreload, Data: preload, Mode: 0o644}}
	if len(t.Servers) > 0 {
		etc = append(etc, File{Path: "gemini-cli/system-defaults.json", Data: servers(t), Mode: 0o644})
	}
	return Command{Argv: argv, Env: env, Etc: etc, Home: geminiRules(t)}
}

// geminiRules puts what its screen should not show into an extension, which only has words for the model: a
// repository's settings can say that other files than GEMINI.md are read, but not which files of extensions.
func geminiRules(t Task) []File {
	if !t.Interactive {
		return nil
	}
	const dir = ".gemini/extensions/cco/"
	return []File{{Path: dir + "gemini-extension.json", Data: []byte(`{"name": "cco", "version": "1.0.0"}`), Mode: 0o644},
		{Path: dir + "GEMINI.md", Data: []byte(instructions(t)), Mode: 0o644}}
}
