package settings

// Launch is how to start an agent in the workspace so that nothing which an agent or a repository can write to turns
// the guard off, as far as the agent can be started so without being root.
func (i Installation) Launch(agent string) string {
	switch agent {
	case "codex":
		return "codex -c features.hooks=true"
	case "gemini":
		return "GEMINI_CLI_TRUST_WORKSPACE=true gemini"
	default:
		return `claude --setting-sources "" --settings ` + quote(i.ClaudeSettings())
	}
}

// Gaps are the ways of losing an agent's hook that the settings of one worktree can't hold.
func Gaps(agent string) []string {
	switch agent {
	case "codex":
		return []string{
			"a repository's .codex/config.toml with features.hooks = false, unless codex is started as said",
			"a change of the hook in config.toml, which codex then no longer trusts and skips without a word",
			"a guard that is deleted, killed or too slow: codex lets the call through",
		}
	case "gemini":
		return []string{
			"a repository's .gemini/settings.json with hooksConfig.enabled = false",
			"a folder that gemini doesn't trust: it then runs no hooks",
			"a guard that is deleted, killed or too slow: gemini lets the call through",
		}
	default:
		return []string{
			"a hook of the repository's own .claude/settings.json, which may rewrite a call after the guard has seen it, " +
				"unless claude is started as said",
			"a program that the agent runs and that rewrites .claude/settings.local.json, unless claude is started as said",
			"claude --bare, or CLAUDE_CODE_SIMPLE in its environment, which drop all hooks but managed ones",
		}
	}
}
