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

// tools judges the tools that agents have. Its value is an object in whose fields they name files and commands. Names
// are matched exactly: a decoder that ignores case would let a second spelling of a name stand in for the one that the
// agent reads.
type tools struct {
	*program.Judge
	jsontext.Value
}

// text returns a field that holds text, and whether there is one.
func (s tools) text(name string) (text string, present bool) {
	f, present := s.Field(name)
	if !present || f.Null() {
		return "", false
	}
	text, ok := f.Text()
	if !ok {
		s.bad("the " + name + " of the call is not text")
	}
	return text, true
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
	v, err := jsontext.Parse(string(call.Input))
	if _, text := v.Text(); text && kind == roster.PatchTool {
		v, err = jsontext.Parse(`{"input":` + v.Raw + `}`)
	}
	if err != nil || !v.Object() {
		s.bad("the input of " + call.Tool + " is not what that tool takes")
	}
	s.Value = v
	judges[kind](s)
}

// judges are those of tools whose input says what they do.
var judges = [...]func(tools){
	roster.ShellTool: tools.shellTool, roster.WriteTool: tools.writeTool, roster.PatchTool: tools.patchTool,
	roster.AgentTool: tools.agentTool, roster.MessageTool: tools.messageTool, roster.InputTool: tools.inputTool,
}

// shellTool judges a command, given as text or as words.
func (s tools) shellTool() {
	for _, name := range [...]string{"workdir", "directory", "dir_path", "cwd"} {
		if dir, _ := s.text(name); dir != "" {
			s.MoveTo(arg{Text: s.Homed(dir)}, false)
		}
	}
	found := false
	for _, name := range [...]string{"command", "cmd"} {
		if command, ok := s.Field(name); ok {
			found = true
			s.Isolated(func() { s.shellCommand(command) })
		}
	}
	if !found {
		s.bad("the call holds no command")
	}
}

func (s tools) shellCommand(v jsontext.Value) {
	if command, ok := v.Text(); ok {
		s.TopLevel(command)
		return
	}
	words, ok := v.Texts()
	if !ok || len(words) == 0 {
		s.bad("the command is neither text nor words")
	}
	s.Exec(word.Literals(arg{}, words...))
}

func (s tools) writeTool() {
	found := s.writes()
	edits, _ := s.Field("edits")
	for _, e := range edits.Items { // edits of another shape name no files
		found = tools{s.Judge, e.Value}.writes() || found
	}
	if !found {
		s.bad("the call names no file")
	}
}

// writes judges the files that an object names, and says whether there are any.
func (s tools) writes() (found bool) {
	for _, name := range [...]string{"file_path", "filePath", "notebook_path", "path", "absolute_path", "target_file",
		"source", "destination"} {
		file, present := s.text(name)
		if !present {
			continue
		}
		found = true
		if file == "" || strings.Contains(file, "\x00") {
			s.bad("the call names an empty or unreadable path")
		}
		s.Check(land.Redirect, arg{Text: s.Homed(file)})
		for _, field := range [...]string{"content", "new_string", "newString"} {
			content, _ := s.Field(field)
			text, _ := content.Text()
			s.Wrote(s.Joined(file), word.Lit(text))
		}
		// Some agents take away what surrounds a path.
		if bare := strings.TrimPrefix(strings.TrimFunc(file, trimmable), "file://"); bare != file && bare != "" {
			s.Check(land.Redirect, arg{Text: s.Homed(bare)})
		}
	}
	return found
}

// trimmable says what JavaScript trims.
func trimmable(r rune) bool { return unicode.IsSpace(r) || r == '\ufeff' }

// patchTool judges the files that a patch names, given as text or as words.
func (s tools) patchTool() {
	patch := ""
	for _, name := range [...]string{"input", "patch", "patchText", "patch_text", "command"} {
		f, present := s.Field(name)
		words, ok := f.Texts()
		if !ok {
			var text string
			text, ok = f.Text()
			words = []string{text}
		}
		switch {
		case present && !ok:
			s.bad("the patch is neither text nor words")
		case present:
			patch += strings.Join(words, "\n") + "\n"
		}
	}
	if !strings.Contains(patch, "*** Begin Patch") && !strings.Contains(patch, "+++") {
		s.bad("the call holds no patch")
	}
	script.Patch(s.Judge, word.Lit(patch), arg{})
}

// agentTool judges the start of another agent in the same session. Its calls
// are asked about like all others, as long as it stays in the workspace.
func (s tools) agentTool() {
	if isolation, present := s.text("isolation"); present {
		s.Deny(verdict.RuleTool, arg{}, "", "an agent with isolation "+verdict.Clip(isolation, 80)+
			" works outside the workspace", "leave isolation out")
	}
}

// messageTool judges a message to another agent. One of the same session goes by an id; a name may be that of a session
// outside, whose user never agreed to what it is told to do.
func (s tools) messageTool() {
	to, present := s.text("to")
	if !present {
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
func (s tools) inputTool() {
	chars, _ := s.text("chars")
	switch strings.Trim(chars, " \r\n\x03\x04") {
	case "", "y", "n", "Y", "N", "yes", "no":
		return
	}
	s.Deny(verdict.RuleTool, arg{}, "", "what is typed into a running program can't be followed",
		"run the command anew, with its input in a file or a here-document")
}
