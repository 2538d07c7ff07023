package program

// guardPrograms are the names under which the guard itself runs.
func guardPrograms() []string { return []string{"cco", "cco-guard"} }

// agentPrograms are the agents. One agent that starts another without the
// guard's settings would have left the guard.
// They also go by the names of their packages.
func agentPrograms() []string {
	return []string{"claude", "codex", "gemini", "opencode", "qwen", "pi", "claude-code", "gemini-cli", "opencode-ai",
		"qwen-code", "pi-coding-agent"}
}
