package roster

// rows is the table. Those that cco can start come first, the default at the top.
var rows = [...]Row{
	{
		Name: "claude", Programs: []string{"claude", "claude-code"}, Provider: "anthropic",
		Package: Package{Name: "@anthropic-ai/claude-code", Version: "2.1.325", Oldest: "2.1.300",
			Models:   []string{"claude-opus-5-5"},
			Programs: []string{"@anthropic-ai/claude-code-{machine}/claude", "@anthropic-ai/claude-code-{machine}-musl/claude"}},
		Homes:        []Home{{"CLAUDE_CONFIG_DIR", ".claude"}},
		Instructions: ".claude/CLAUDE.md", Skills: ".claude/skills", Commands: ".claude/commands",
		// The first is a file where there is no keychain.
		Logins: []string{".claude/.credentials.json", ".claude.json", ".claude/.claude.json"},
		Caches: []string{".cache/claude", ".cache/claude-cli-nodejs", ".local/share/claude"},
		Config: []string{".claude/settings.json", ".claude/CLAUDE.md", ".claude/skills", ".claude/commands", ".claude/agents",
			".claude/plugins", ".claude/output-styles", ".claude/hooks", ".claude/rules"},
		State:     []string{".claude/projects/" + ThisProject},
		Tokens:    []string{".claude/.credentials.json"},
		Copies:    []Copy{{To: ".claude/.credentials.json"}, {To: ".claude/.claude.json", From: ".claude.json"}},
		Variables: []string{"ANTHROPIC_*", "CLAUDE_*", "API_TIMEOUT_MS", "MAX_THINKING_TOKENS", "DISABLE_*", "MCP_*"},
		Settings: []string{".claude/settings.json", ".claude/settings.local.json", ".claude/hooks",
			".claude/managed-settings.json"},
		HomeSettings: []string{".claude.json"},
		Steering:     []string{".claude/", "claude.md", "claude.local.md"},
		Local:        ".claude/settings.local.json",
		Managed:      "/etc/claude-code/managed-settings.json",
		ManagedMac:   "/Library/Application Support/ClaudeCode/managed-settings.json",
		Event:        "PreToolUse",
		TurnBegins:   "UserPromptSubmit",
		TurnEnds:     "Stop",
		Steered:      true,
		Tools: Tools{
			Shell: "Bash PowerShell Monitor",
			Write: "Write Edit MultiEdit NotebookEdit",
			Read:  "Read NotebookRead Grep Glob LS LSP",
			Free: "TodoWrite TodoRead WebFetch WebSearch ExitPlanMode EnterPlanMode AskUserQuestion Skill SlashCommand " +
				"BashOutput KillShell KillBash TaskOutput TaskStop TaskCreate TaskUpdate TaskList TaskGet ListMcpResources " +
				"ListMcpResourcesTool ReadMcpResource ReadMcpResourceTool ToolSearch DeferredToolPlaceholder StructuredOutput " +
				"ReportFindings ListAgents CronList ScheduleWakeup Brief Sleep",
			Agent: "Task Agent", Message: "SendMessage",
			Denied: "EnterWorktree ExitWorktree CronCreate CronDelete Config Workflow",
		},
	},
	{
		Name: "codex", Programs: []string{"codex"}, Provider: "openai", Chatter: []string{"ab.chatgpt.com"},
		Early: []string{"raw.githubusercontent.com"}, // for a tip
		Package: Package{Name: "@openai/codex", Version: "0.166.0", Oldest: "0.160.0", Models: []string{"gpt-6.1-sol"},
			Programs: []string{"@openai/codex-{machine}/vendor/*/bin/codex"}},
		Homes:        []Home{{"CODEX_HOME", ".codex"}},
		Instructions: ".codex/AGENTS.md", Skills: ".codex/skills",
		Logins: []string{".codex/auth.json", ".codex/.credentials.json"},
		Caches: []string{".codex/packages", ".codex/plugins", ".codex/models_cache.json"},
		Config: []string{".codex/AGENTS.md", ".codex/skills", ".codex/prompts", ".codex/rules", ".codex/hooks",
			".codex/hooks.json"},
		State:     []string{".codex/sessions"},
		Tokens:    []string{".codex/auth.json"},
		Copies:    []Copy{{To: ".codex/auth.json"}, {To: ".codex/config.toml"}},
		Variables: []string{"OPENAI_*", "CODEX_*"},
		Settings:  []string{".codex/config.toml", ".codex/hooks.json", ".codex/hooks", ".codex/requirements.toml"},
		Steering:  []string{".codex/", "agents.md"},
		Managed:   "/etc/codex/requirements.toml",
		Event:     "PreToolUse", TurnBegins: "UserPromptSubmit", TurnEnds: "Stop", Steered: true,
		Tools: Tools{
			Shell: "Bash shell local_shell exec_command exec container.exec unified_exec shell_command",
			Patch: "apply_patch",
			Read:  "view_image list_dir grep_files read_file",
			Free: "update_plan request_user_input request_user_input_async get_goal create_goal update_goal spawn_agent wait " +
				"wait_agent close_agent send_input send_message resume_agent followup_task interrupt_agent list_agents sleep " +
				"curr_time list_mcp_resources list_mcp_resource_templates read_mcp_resource write_stdin_poll tool_search",
			Input: "write_stdin", // about which it asks no hook
		},
		// It writes a namespace and the name of a tool in it as one word.
		Spaces: []string{"clock", "collaboration", "multi_agent_v1"},
	},
	{
		Name: "gemini", Programs: []string{"gemini", "gemini-cli"}, Provider: "gemini",
		Package: Package{Name: "@google/gemini-cli", Version: "0.61.0", Oldest: "0.60.0",
			Models:   []string{"gemini-3.1-pro-preview-customtools", "gemini-3.5-flash-lite"},
			Programs: []string{"@google/gemini-cli/bundle/gemini.js"}, Node: 20},
		Homes:        []Home{{"GEMINI_CLI_HOME", ""}},
		Instructions: ".gemini/GEMINI.md", Skills: ".gemini/skills",
		Logins: []string{".gemini/oauth_creds.json", ".gemini/gemini-credentials.json", ".gemini/mcp-oauth-tokens.json",
			".gemini/mcp-oauth-tokens-v2.json", ".gemini/google_accounts.json", ".gemini/.env"},
		Caches: []string{".gemini/tmp", ".gemini/extensions"},
		Config: []string{".gemini/GEMINI.md", ".gemini/skills", ".gemini/commands", ".gemini/extensions", ".gemini/hooks",
			".gemini/policies"},
		Tokens: []string{".gemini/oauth_creds.json"},
		Copies: []Copy{{To: ".gemini/oauth_creds.json"}, {To: ".gemini/settings.json"},
			{To: ".gemini/google_accounts.json"}, {To: ".gemini/.env"}, {To: ".gemini/trustedFolders.json"}},
		Variables:  []string{"GEMINI_*", "GOOGLE_*"},
		Settings:   []string{".gemini/settings.json", ".gemini/hooks", ".gemini/system-defaults.json"},
		Managed:    "/etc/gemini-cli/settings.json",
		ManagedMac: "/Library/Application Support/GeminiCli/settings.json",
		Steering:   []string{".gemini/", "gemini.md"},
		Event:      "BeforeTool", TurnBegins: "BeforeAgent", TurnEnds: "AfterAgent",
		Tools: Tools{
			Shell: "run_shell_command ShellTool",
			Write: "write_file replace smart_edit WriteFile EditFile",
			Read: "read_file read_many_files list_directory glob search_file_content grep_search ripgrep read_folder ReadFile " +
				"ReadManyFiles FindFiles SearchText",
			Free: "web_fetch google_web_search write_todos activate_skill ask_user enter_plan_mode exit_plan_mode " +
				"get_internal_docs codebase_investigator cli_help complete_task delegate_to_agent invoke_agent update_topic " +
				"list_background_processes read_background_output",
			Denied: "save_memory",
		},
	},
	{
		Name: "opencode", Programs: []string{"opencode", "opencode-ai"}, Provider: "openai",
		Package: Package{Name: "opencode-ai", Version: "1.18.33", Oldest: "1.18.3", Models: []string{"gpt-5"},
			// The first needs a processor that not every machine has.
			Programs: []string{"opencode-{machine}/bin/opencode", "opencode-{machine}-baseline/bin/opencode"}},
		Homes: []Home{{"XDG_CONFIG_HOME", ".config"}, {"XDG_DATA_HOME", ".local/share"},
			{"XDG_STATE_HOME", ".local/state"}, {"XDG_CACHE_HOME", ".cache"}},
		Instructions: ".config/opencode/AGENTS.md",
		Logins:       []string{".local/share/opencode/auth.json", ".local/share/opencode/mcp-auth.json"},
		Caches:       []string{".cache/opencode", ".local/share/opencode/bin"},
		Config:       []string{".config/opencode"},
		Tokens:       []string{".local/share/opencode/auth.json"},
		Copies:       []Copy{{To: ".local/share/opencode/auth.json"}},
		Variables:    []string{"OPENCODE_*", "OPENAI_*", "ANTHROPIC_*", "GEMINI_*", "GOOGLE_*"},
		Settings: []string{"opencode.json", "opencode.jsonc", ".opencode/opencode.json", ".opencode/opencode.jsonc",
			".opencode/plugin", ".opencode/plugins"},
		HomeSettings: []string{".config/opencode/opencode.json", ".config/opencode/opencode.jsonc",
			".config/opencode/plugin", ".config/opencode/plugins"},
		Steering: []string{".opencode/", "opencode.json", "opencode.jsonc"},
		// It reads the settings of a machine last, and so above all others.
		Managed: "/etc/opencode/opencode.json",
		Event:   "PreToolUse", // so our plugin says
		// A session's status; every other is a turn.
		TurnEnds: "idle",
		Tools: Tools{
			Shell: "bash",
			Write: "write edit multiedit",
			Patch: "patch apply_patch",
			Read:  "read ls list glob grep lsp codesearch lsp_hover lsp_diagnostics",
			Free:  "todowrite todoread webfetch websearch task skill question invalid batch_todo plan plan_enter plan_exit",
		},
	},
	{
		Name: "copilot", Programs: []string{"copilot"}, Provider: "openai",
		Package: Package{Name: "@github/copilot", Version: "1.0.102", Oldest: "1.0.102", Models: []string{"gpt-5"},
			Programs: []string{Linked + "copilot"}, Node: 22},
		Homes:        []Home{{"COPILOT_HOME", ".copilot"}},
		Instructions: ".copilot/copilot-instructions.md",
		Logins:       []string{".copilot/config.json"},
		Settings:     []string{".copilot/settings.json", ".copilot/mcp-config.json", ".copilot/hooks", ".github/hooks"},
		Steering:     []string{".github/copilot-instructions.md", ".github/instructions/", ".github/hooks/"},
	},
	{
		Name: "qwen", Programs: []string{"qwen", "qwen-code"}, Provider: "openai",
		Package: Package{Name: "@qwen-code/qwen-code", Version: "0.24.4", Oldest: "0.24.4", Models: []string{"gpt-5"},
			Programs: []string{Linked + "qwen"}, Node: 22},
		Instructions: ".qwen/QWEN.md",
		Logins:       []string{".qwen/oauth_creds.json", ".qwen/.env"}, Settings: []string{".qwen/settings.json"},
		Steering: []string{".qwen/", "qwen.md"},
		Tools:    Tools{Write: "notebook_edit", Free: "todo_write"},
	},
	{
		Name: "pi", Programs: []string{"pi-acp", "pi", "pi-coding-agent"}, Provider: "openai",
		Package: Package{Name: "pi-acp", Version: "0.0.34", Oldest: "0.0.34", Models: []string{"gpt-5"},
			With:     []Pin{{"@earendil-works/pi-coding-agent", "0.87.1"}},
			Programs: []string{Linked + "pi-acp"}, Node: 22},
		Homes:        []Home{{"PI_CODING_AGENT_DIR", ".pi/agent"}},
		Instructions: ".pi/agent/AGENTS.md",
		Logins:       []string{".pi/agent/auth.json"},
		Settings:     []string{".pi/settings.json", ".pi/extensions", ".pi/agent/settings.json", ".pi/agent/extensions"},
		Steering:     []string{".pi/"},
		Tools:        Tools{Read: "find"},
	},
	{Name: "script"}, // part of cco
}

// otherPlaces are where agents that have no row keep logins and what was said.
const otherPlaces = ".config/goose .continue .cursor .config/cursor .copilot .config/github-copilot .config/amp " +
	".local/share/amp .factory .augment .config/crush .local/share/crush .config/io.datasette.llm"

// others are tools of agents that have no row, and of models that ask for what they were taught elsewhere.
var others = Tools{
	Shell: "execute_command",
	Write: "edit_file create_file str_replace str_replace_editor str_replace_based_edit_tool insert delete_file " +
		"move_file insert_edit_into_file",
	Patch: "ApplyPatch",
	Free:  "web_search",
}
