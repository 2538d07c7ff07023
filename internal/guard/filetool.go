package guard

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/guard/jsontext"
	"github.com/cco-dev/cco/internal/guard/land"
	"github.com/cco-dev/cco/internal/guard/program"
	"github.com/cco-dev/cco/internal/guard/script"
	"github.com/cco-dev/cco/internal/guard/verdict"
	"github.com/cco-dev/cco/internal/guard/word"
)

// arg is a word of a command.
type arg = word.Arg

// tools judges the tools that agents have.
type tools struct{ *program.Judge }

// toolKind is what a tool does, whatever its agent calls it.
type toolKind uint8

const (
	toolUnknown toolKind = iota
	toolShell
	toolWrite
	toolPatch
	toolRead
	toolFree // touches no file
	toolAgent
	toolMessage
	toolInput
	toolDenied
)

// kindOf knows the tools of claude, codex, gemini, opencode, qwen and pi.
func kindOf(name string) toolKind {
	switch name {
	case "Bash", "bash", "shell", "local_shell", "exec_command", "exec", "container.exec", "unified_exec",
		"run_shell_command", "ShellTool", "execute_command", "PowerShell", "Monitor", "shell_command":
		return toolShell
	case "Write", "Edit", "MultiEdit", "NotebookEdit", "write", "edit", "multiedit", "write_file", "replace", "edit_file",
		"create_file", "str_replace", "str_replace_editor", "str_replace_based_edit_tool", "WriteFile", "EditFile", "insert",
		"delete_file", "move_file", "notebook_edit", "smart_edit", "insert_edit_into_file":
		return toolWrite
	case "apply_patch", "patch", "ApplyPatch":
		return toolPatch
	case "Read", "NotebookRead", "Grep", "Glob", "LS", "LSP", "read", "read_file", "read_many_files", "list_directory",
		"ls", "list", "list_dir", "glob", "grep", "grep_files", "search_file_content", "grep_search", "ripgrep", "find",
		"lsp", "view_image", "codesearch", "read_folder", "ReadFile", "ReadManyFiles", "FindFiles", "SearchText", "lsp_hover",
		"lsp_diagnostics":
		return toolRead
	case "TodoWrite", "TodoRead", "WebFetch", "WebSearch", "ExitPlanMode", "EnterPlanMode", "exit_plan_mode",
		"enter_plan_mode", "AskUserQuestion", "Skill", "SlashCommand", "BashOutput", "KillShell", "KillBash", "TaskOutput",
		"TaskStop", "TaskCreate", "TaskUpdate", "TaskList", "TaskGet",
		"ListMcpResources", "ListMcpResourcesTool", "ReadMcpResource", "ReadMcpResourceTool", "ToolSearch",
		"DeferredToolPlaceholder", "StructuredOutput", "ReportFindings", "ListAgents", "CronList", "ScheduleWakeup", "Brief",
		"Sleep",
		"todowrite", "todoread", "webfetch", "websearch", "web_fetch", "web_search", "google_web_search", "task", "skill",
		"question", "invalid", "batch_todo", "plan", "plan_enter", "plan_exit",
		"update_plan", "write_todos", "todo_write", "activate_skill", "ask_user", "get_internal_docs",
		"codebase_investigator", "cli_help", "complete_task", "delegate_to_agent", "invoke_agent", "update_topic",
		"list_background_processes", "read_background_output",
		"request_user_input", "request_user_input_async", "get_goal", "create_goal", "update_goal", "spawn_agent", "wait",
		"wait_agent", "close_agent", "send_input", "send_message", "resume_agent", "followup_task", "interrupt_agent",
		"list_agents", "sleep", "curr_time",
		"list_mcp_resources", "list_mcp_resource_templates", "read_mcp_resource", "write_stdin_poll", "tool_search":
		return toolFree
	case "Task", "Agent":
		return toolAgent
	case "SendMessage":
		return toolMessage
	case "write_stdin":
		return toolInput
	case "save_memory", "EnterWorktree", "ExitWorktree", "CronCreate", "CronDelete", "Config", "Workflow":
		return toolDenied
	}
	// Codex writes a namespace and the name of a tool in it as one word.
	for _, space := range [...]string{"clock", "collaboration", "multi_agent_v1"} {
		if rest, ok := strings.CutPrefix(name, space); ok && kindOf(rest) == toolFree {
			return toolFree
		}
	}
	return toolUnknown
}

// fileInput is an object in whose fields tools name files and commands. Names
// are matched exactly: a decoder that ignores case would let a second spelling
// of a name stand in for the one that the agent reads.
type fileInput string

// field returns a field as it stands. The last one of a name counts, as it
// does for the agents.
func (in fileInput) field(name string) (raw string, present bool) {
	_ = jsontext.Object(string(in), func(n, value string) error { // what is no object has no fields
		if n == name {
			raw, present = value, true
		}
		return nil
	})
	return raw, present
}

func (in fileInput) isObject() bool {
	return jsontext.Object(string(in), func(string, string) error { return nil }) == nil
}

// text returns a field that holds text; ok is false if it is no text.
func (in fileInput) text(name string) (value string, present, ok bool) {
	raw, present := in.field(name)
	if !present || jsontext.Null(raw) {
		return "", false, true
	}
	value, err := jsontext.String(raw)
	return value, true, err == nil
}

// tool judges a call of any tool.
func (s tools) tool(call Call) {
	bad := func(reason string) {
		s.Deny(verdict.RuleInput, arg{}, "", reason, "")
	}
	if call.Cwd == "" || !strings.HasPrefix(call.Cwd, "/") {
		bad("the call names no absolute working directory")
	}
	kind := kindOf(call.Tool)
	if slices.Contains(s.Policy.Tools, call.Tool) && kind == toolUnknown {
		kind = toolFree
	}
	switch kind {
	case toolUnknown:
		s.Deny(verdict.RuleTool, arg{}, "", "the guard does not know the tool "+verdict.Clip(call.Tool, 80),
			"use the shell and file tools, or ask the user to name it in the policy")
	case toolDenied:
		s.Deny(verdict.RuleTool, arg{}, "", "the tool "+call.Tool+
			" works outside the workspace, or starts what the guard can't follow", "work with the shell and in files below "+
			s.Workspace())
	}
	if kind == toolFree || kind == toolRead {
		return // nothing that it is given is written
	}
	in := fileInput(call.Input)
	if _, err := jsontext.String(string(in)); err == nil && kind == toolPatch {
		in = `{"input":` + in + `}`
	}
	if !in.isObject() {
		bad("the input of " + call.Tool + " is not what that tool takes")
	}
	switch kind {
	case toolShell:
		s.shellTool(in, bad)
	case toolWrite:
		s.writeTool(in, bad)
	case toolPatch:
		s.patchTool(in, bad)
	case toolAgent:
		s.agentTool(in, bad)
	case toolMessage:
		s.messageTool(in, bad)
	case toolInput:
		s.inputTool(in, bad)
	}
}

// shellTool judges a command, given as text or as words.
func (s tools) shellTool(in fileInput, bad func(string)) {
	for _, name := range []string{"workdir", "directory", "dir_path", "cwd"} {
		dir, present, ok := in.text(name)
		if !ok {
			bad("the directory of the call is no text")
		}
		if present && dir != "" {
			s.MoveTo(arg{Text: s.Homed(dir)}, false)
		}
	}
	found := false
	for _, name := range [...]string{"command", "cmd"} {
		if raw, ok := in.field(name); ok {
			found = true
			s.Isolated(func() { s.shellCommand(raw, bad) })
		}
	}
	if !found {
		bad("the call holds no command")
	}
}

func (s tools) shellCommand(raw string, bad func(string)) {
	if command, err := jsontext.String(raw); err == nil {
		s.TopLevel(command)
		return
	}
	words, err := jsontext.Strings(raw)
	if err != nil || len(words) == 0 {
		bad("the command is neither text nor words")
	}
	s.Exec(word.Literals(arg{}, words...))
}

func (s tools) writeTool(in fileInput, bad func(string)) {
	found := false
	check := func(in fileInput) {
		for _, name := range []string{"file_path", "filePath", "notebook_path", "path", "absolute_path", "target_file",
			"source", "destination"} {
			value, present, ok := in.text(name)
			if !ok || present && (value == "" || strings.Contains(value, "\x00")) {
				bad("the call names an empty or unreadable path")
			}
			if present {
				found = true
				s.Check(land.Redirect, arg{Text: s.Homed(value)})
				for _, field := range [...]string{"content", "new_string", "newString"} {
					content, _, _ := in.text(field)
					s.Wrote(s.Joined(value), word.Lit(content))
				}
				// Some agents take away what surrounds a path.
				if bare := strings.TrimPrefix(strings.TrimFunc(value, trimmable), "file://"); bare != value && bare != "" {
					s.Check(land.Redirect, arg{Text: s.Homed(bare)})
				}
			}
		}
	}
	check(in)
	if raw, ok := in.field("edits"); ok {
		_ = jsontext.Array(raw, func(value string) error { // edits of another shape name no files
			check(fileInput(value))
			return nil
		})
	}
	if !found {
		bad("the call names no file")
	}
}

// trimmable says what JavaScript trims.
func trimmable(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// patchTool judges the files that a patch names.
func (s tools) patchTool(in fileInput, bad func(string)) {
	patch := ""
	for _, name := range []string{"input", "patch", "patchText", "patch_text", "command"} {
		value, present, ok := in.text(name)
		var words []string
		if !ok {
			raw, _ := in.field(name)
			var err error
			if words, err = jsontext.Strings(raw); err != nil {
				bad("the patch is neither text nor words")
			}
		}
		if present {
			patch += value + strings.Join(words, "\n") + "\n"
		}
	}
	switch {
	case strings.Contains(patch, "*** Begin Patch"):
		script.AgentPatch(s, word.Lit(patch), arg{})
	case strings.Contains(patch, "+++"):
		script.Patch(s, word.Lit(patch), arg{})
	default:
		bad("the call holds no patch")
	}
}
