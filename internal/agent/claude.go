package agent

import (
	_ "embed" // settings
	"encoding/json"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/skill"
)

// claude is Claude Code.
func claude() Adapter {
	return Adapter{Row: row("claude"), Command: claudeCommand, Events: event.NewClaude, Hook: settings.Claude(),
		Record: recorded(".claude/projects/*/*.jsonl", event.RecordClaude),
		// A shell in a box has no directory of its own for claude, and then the answers stand in the home.
		Settings: []File{{Path: ".claude/settings.json", Data: claudeHome},
			{Path: ".claude.json", Data: encode(claudeAnswers())}}}
}

//go:embed claude.json
var claudeHome []byte

// claudeCommand invokes the provisioned skill. The prompt is one argument that always begins with a slash.
func claudeCommand(t Task) Command {
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
	if len(t.Servers) > 0 {
		argv = append(argv, "--mcp-config="+string(servers(t)))
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
		"CLAUDE_CODE_DISABLE_FEEDBACK_SURVEY=1",
	)
	env = placed(env, t, "claude")
	if t.Door != "" {
		env = append(env, "ANTHROPIC_BASE_URL=http://"+t.Door+"/anthropic", "ANTHROPIC_API_KEY="+t.Token)
	}
	return Command{Argv: append(argv, prompt), Env: env, Home: claudeWelcome(t)}
}

// claudeAnswers are claude's answers to questions that it asks everybody once: a theme at its first start, and when it
// is idle whether another permission mode should be the default, or that so much was spent. A person who leaves with
// /exit would answer yes to whatever is asked.
func claudeAnswers() map[string]any {
	return map[string]any{
		"hasCompletedOnboarding": true, "lastOnboardingVersion": row("claude").Package.Version, "theme": "dark",
		"bypassPermissionsModeAccepted": true, "hasSeenAutoDefaultNudge": true, "hasSeenAutoDefaultNotice": true,
		"hasSeenAutoModeEntryWarning": true, "hasSeenEffortMediumNudge": true, "hasAcknowledgedCostThreshold": true,
	}
}

// claudeWelcome also says that the key and the directory are right. Without it claude waits until a person has typed,
// and for ever if its maker's own host can't be reached.
func claudeWelcome(t Task) []File {
	if !t.Interactive || t.State == "" {
		return nil
	}
	state := claudeAnswers()
	known := t.Token[max(0, len(t.Token)-20):]
	state["customApiKeyResponses"] = map[string]any{"approved": []string{known}, "rejected": []string{}}
	state["projects"] = map[string]any{t.Workspace: map[string]any{"hasTrustDialogAccepted": true,
		"hasCompletedProjectOnboarding": true}}
	return []File{{Path: ".claude/.claude.json", Data: encode(state), Mode: 0o600}}
}

// encode writes what holds nothing but texts, switches, and maps and lists of them, and so can always be written.
func encode(v any) []byte {
	data, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return data
}
