package agent

import (
	_ "embed" // the preload below

	"github.com/cco-dev/cco/internal/agent/event"
)

// gemini is Google's Gemini CLI.
type gemini struct{}

func (gemini) Name() string     { return "gemini" }
func (gemini) Binary() string   { return "gemini" }
func (gemini) Provider() string { return "gemini" }

func (gemini) Package() Package {
	return Package{Name: "@google/gemini-cli", Version: "0.61.0", Oldest: "0.60.0",
		Models:   []string{"gemini-3.1-pro-preview-customtools", "gemini-3.5-flash-lite"},
		Programs: []string{"@google/gemini-cli/bundle/gemini.js"}, Node: 20}
}

func (gemini) Events(s event.Start) event.Decoder { return event.NewGemini(s) }

func (gemini) Login() (variable, file string) { return "", ".gemini/oauth_creds.json" }

// Where gemini looks for the settings that override all others, and what makes it trust them.
const (
	geminiSettings = "/etc/gemini-cli/settings.json"
	geminiPreload  = "cco/gemini.cjs"
)

//go:embed gemini.cjs
var preload []byte

func (gemini) Command(t Task) Command {
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
		"GEMINI_CLI_SYSTEM_SETTINGS_PATH="+geminiSettings,
		"GEMINI_CLI_SYSTEM_DEFAULTS_PATH=/etc/gemini-cli/system-defaults.json",
		"NODE_OPTIONS=--require=/etc/"+geminiPreload,
		"GEMINI_CLI_NO_RELAUNCH=true",
		"GEMINI_SANDBOX=false",
	)
	if t.State != "" {
		env = append(env, "GEMINI_CLI_HOME="+t.State)
	}
	if t.Door != "" {
		env = append(env, "GOOGLE_GEMINI_BASE_URL=http://"+t.Door+"/gemini", "GEMINI_API_KEY="+t.Token)
	}
	return Command{Argv: argv, Env: env, Etc: []File{{Path: geminiPreload, Data: preload, Mode: 0o644}}}
}
