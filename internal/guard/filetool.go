package guard

import (
	"slices"
	"strings"
	"unicode"

	"github.com/cco-dev/cco/internal/agent/roster"
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

// bad denies a call that can't be read.
func (s tools) bad(reason string) { s.Deny(verdict.RuleInput, arg{}, "", reason, "") }

// tool judges a call of any tool.
func (s tools) tool(call Call) {
	if call.Cwd == "" || !strings.HasPrefix(call.Cwd, "/") {
		s.bad("the call names no absolute working directory")
	}
	kind := roster.KindOf(call.Tool)
	if slices.Contains(s.Policy.Tools, call.Tool) && kind == roster.UnknownTool {
		kind = roster.FreeTool
	}
	switch kind {
	case roster.UnknownTool:
		s.Deny(verdict.RuleTool, arg{}, "", "the guard does not know the tool "+verdict.Clip(call.Tool, 80),
			"use the shell and file tools, or ask the user to name it in the policy")
	case roster.DeniedTool:
		s.Deny(verdict.RuleTool, arg{}, "", "the tool "+call.Tool+
			" works outside the workspace, or starts what the guard can't follow", "work with the shell and in files below "+
			s.Workspace())
	}
	if kind == roster.FreeTool || kind == roster.ReadTool {
		return // nothing that it is given is written
	}
	in := fileInput(call.Input)
	if _, err := jsontext.String(string(in)); err == nil && kind == roster.PatchTool {
		in = `{"input":` + in + `}`
	}
	if !in.isObject() {
		s.bad("the input of " + call.Tool + " is not what that tool takes")
	}
	switch kind {
	case roster.ShellTool:
		s.shellTool(in)
	case roster.WriteTool:
		s.writeTool(in)
	case roster.PatchTool:
		s.patchTool(in)
	case roster.AgentTool:
		s.agentTool(in)
	case roster.MessageTool:
		s.messageTool(in)
	case roster.InputTool:
		s.inputTool(in)
	}
}

// shellTool judges a command, given as text or as words.
func (s tools) shellTool(in fileInput) {
	for _, name := range []string{"workdir", "directory", "dir_path", "cwd"} {
		dir, present, ok := in.text(name)
		if !ok {
			s.bad("the directory of the call is not text")
		}
		if present && dir != "" {
			s.MoveTo(arg{Text: s.Homed(dir)}, false)
		}
	}
	found := false
	for _, name := range [...]string{"command", "cmd"} {
		if raw, ok := in.field(name); ok {
			found = true
			s.Isolated(func() { s.shellCommand(raw) })
		}
	}
	if !found {
		s.bad("the call holds no command")
	}
}

func (s tools) shellCommand(raw string) {
	if command, err := jsontext.String(raw); err == nil {
		s.TopLevel(command)
		return
	}
	words, err := jsontext.Strings(raw)
	if err != nil || len(words) == 0 {
		s.bad("the command is neither text nor words")
	}
	s.Exec(word.Literals(arg{}, words...))
}

func (s tools) writeTool(in fileInput) {
	found := false
	check := func(in fileInput) {
		for _, name := range []string{"file_path", "filePath", "notebook_path", "path", "absolute_path", "target_file",
			"source", "destination"} {
			value, present, ok := in.text(name)
			if !ok || present && (value == "" || strings.Contains(value, "\x00")) {
				s.bad("the call names an empty or unreadable path")
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
		s.bad("the call names no file")
	}
}

// trimmable says what JavaScript trims.
func trimmable(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// patchTool judges the files that a patch names.
func (s tools) patchTool(in fileInput) {
	patch := ""
	for _, name := range []string{"input", "patch", "patchText", "patch_text", "command"} {
		value, present, ok := in.text(name)
		var words []string
		if !ok {
			raw, _ := in.field(name)
			var err error
			if words, err = jsontext.Strings(raw); err != nil {
				s.bad("the patch is neither text nor words")
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
		s.bad("the call holds no patch")
	}
}

// agentTool judges the start of another agent in the same session. Its calls
// are asked about like all others, as long as it stays in the workspace.
func (s tools) agentTool(in fileInput) {
	isolation, present, ok := in.text("isolation")
	if !ok {
		s.bad("where the agent is to work is not text")
	}
	if present {
		s.Deny(verdict.RuleTool, arg{}, "", "an agent with isolation "+verdict.Clip(isolation, 80)+
			" works outside the workspace", "leave isolation out")
	}
}

// messageTool judges a message to another agent. One of the same session goes
// by an id; a name may be that of a session outside, whose user never agreed
// to what it is told to do.
func (s tools) messageTool(in fileInput) {
	to, present, ok := in.text("to")
	if !ok || !present {
		s.bad("the call names nobody to write to")
	}
	id, isID := strings.CutPrefix(to, "a")
	if to != "main" && (!isID || len(id) < 8 || strings.Trim(id, "0123456789abcdef-") != "") {
		s.Deny(verdict.RuleTool, arg{}, "", "a message to "+verdict.Clip(to, 80)+" may reach a session outside the workspace",
			"write to main, or to the id that the start of an agent has given")
	}
}

// inputTool judges what is typed into a program that runs. Which one it is
// can't be seen, so that only answers which are a command to none may pass.
func (s tools) inputTool(in fileInput) {
	chars, _, ok := in.text("chars")
	if !ok {
		s.bad("what is to be typed is not text")
	}
	switch strings.Trim(chars, " \r\n\x03\x04") {
	case "", "y", "n", "Y", "N", "yes", "no":
		return
	}
	s.Deny(verdict.RuleTool, arg{}, "", "what is typed into a running program can't be followed",
		"run the command anew, with its input in a file or a here-document")
}
