package agent

import (
	"encoding/json"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/skill"
)

// claude is Claude Code.
type claude struct{}

func (claude) Name() string     { return "claude" }
func (claude) Binary() string   { return "claude" }
func (claude) Provider() string { return "anthropic" }

func (claude) Package() Package {
	return Package{Name: "@anthropic-ai/claude-code", Version: "2.1.325", Oldest: "2.1.300",
		Models:   []string{"claude-opus-5-5"},
		Programs: []string{"@anthropic-ai/claude-code-{machine}/claude", "@anthropic-ai/claude-code-{machine}-musl/claude"}}
}

func (claude) Events(s event.Start) event.Decoder { return event.NewClaude(s) }

// Login is a file if there is no keychain.
func (claude) Login() (variable, file string) {
	return "CLAUDE_CONFIG_DIR", ".claude/.credentials.json"
}

// Command invokes the provisioned skill. The prompt is one argument that always begins with a slash.
func (claude) Command(t Task) Command {
	argv := []string{program(t, "claude")}
	if !t.Interactive {
		argv = append(argv, "-p", "--output-format", "stream-json", "--verbose")
	}
	argv = append(argv, "--dangerously-skip-permissions")
	if t.Model != "" {
		argv = append(argv, "--model", t.Model)
	}
	switch {
	case t.Resume != "":
		argv = append(argv, "--resume", t.Resume)
	case t.NewSession != "":
		argv = append(argv, "--session-id", t.NewSession)
	}
	if t.Rules != "" {
		argv = append(argv, "--append-system-prompt", t.Rules)
	}
	prompt := "/" + skill.Name + " " + planArg(t)
	if t.Prompt != "" {
		prompt = promptArg(t.Prompt)
	}
	env := append(place(t),
		// As root claude refuses to skip permissions unless it is told, in exactly this way, that it is in a sandbox.
		"IS_SANDBOX=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
	)
	if t.State != "" {
		env = append(env, "CLAUDE_CONFIG_DIR="+t.State+"/.claude")
	}
	if t.Door != "" {
		env = append(env, "ANTHROPIC_BASE_URL=http://"+t.Door+"/anthropic", "ANTHROPIC_API_KEY="+t.Token)
	}
	return Command{Argv: append(argv, prompt), Env: env, Home: claudeWelcome(t)}
}

// claudeWelcome answers what claude asks at its first start on a terminal: a theme, whether the key and the directory
// are right. Without it claude waits until a person has typed, and for ever if its maker's own host can't be reached.
func claudeWelcome(t Task) []File {
	if !t.Interactive || t.State == "" {
		return nil
	}
	known := t.Token[max(0, len(t.Token)-20):]
	data, err := json.Marshal(map[string]any{
		"hasCompletedOnboarding": true, "lastOnboardingVersion": claude{}.Package().Version, "theme": "dark",
		"bypassPermissionsModeAccepted": true,
		"customApiKeyResponses":         map[string]any{"approved": []string{known}, "rejected": []string{}},
		"projects": map[string]any{t.Workspace: map[string]any{"hasTrustDialogAccepted": true,
			"hasCompletedProjectOnboarding": true}},
	})
	if err != nil {
		return nil // strings can always be written
	}
	return []File{{Path: ".claude/.claude.json", Data: data, Mode: 0o600}}
}
