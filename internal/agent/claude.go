package agent

// claude is Claude Code.
type claude struct{}

func (claude) Name() string    { return "claude" }
func (claude) Binary() string  { return "claude" }
func (claude) Install() string { return "npm install -g @anthropic-ai/claude-code" }

// Command invokes the provisioned skill. The prompt is one argument that begins with a slash, whatever the plan is called.
func (claude) Command(t Task) Command {
	argv := []string{"claude"}
	if !t.Interactive {
		argv = append(argv, "-p", "--output-format", "stream-json", "--verbose")
	}
	argv = append(argv, "--dangerously-skip-permissions")
	if t.Model != "" {
		argv = append(argv, "--model", t.Model)
	}
	if t.Rules != "" {
		argv = append(argv, "--append-system-prompt", t.Rules)
	}
	argv = append(argv, "/executing-plans-in-sandbox "+planArg(t))
	return Command{Argv: argv, Env: append(place(t),
		// As root claude refuses to skip permissions unless it is told, in exactly this way, that it is in a sandbox.
		"IS_SANDBOX=1",
		"CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC=1",
		"DISABLE_AUTOUPDATER=1",
	)}
}
