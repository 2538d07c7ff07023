package guard

import (
	"path"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/jsontext"
)

// tools judges the tools that agents have. Its value is an object in whose fields they name files and commands. Names
// are matched exactly: a decoder that ignores case would let a second spelling of a name stand in for the one that the
// agent reads.
type tools struct {
	*walker
	jsontext.Value
}

// text returns a field that holds text, and whether there is one.
func (s tools) text(name string) (text string, present bool) {
	f, present := s.Field(name)
	if !present || f.Null() {
		return "", false
	}
	text, ok := f.Text()
	if !ok || strings.ContainsAny(text, "\x00"+hole+gap) {
		s.bad("the " + name + " of the call is not plain text")
	}
	return text, true
}

// bad denies a call that can't be read.
func (s tools) bad(reason string) { s.deny(RuleInput, arg{}, "", reason, "") }

// judge judges a call of any tool.
func (s tools) judge(call Call) {
	if call.Cwd == "" || !strings.HasPrefix(call.Cwd, "/") {
		s.bad("the call names no absolute working directory")
	}
	kind := roster.KindOf(call.Tool)
	if slices.Contains(s.policy.Tools, call.Tool) && kind == roster.UnknownTool {
		kind = roster.FreeTool
	}
	switch kind {
	case roster.UnknownTool:
		s.deny(RuleTool, arg{}, "", "the guard does not know the tool "+clip(call.Tool, 80),
			"use the shell and file tools, or ask the user to name it in the policy")
	case roster.DeniedTool:
		s.deny(RuleTool, arg{}, "", "the tool "+call.Tool+
			" works outside the workspace, or starts what the guard can't follow", "work with the shell and in files below "+
			s.land.own[0])
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
			s.enter([]arg{{}, {text: s.tilde(dir)}})
		}
	}
	found := false
	for _, name := range [...]string{"command", "cmd"} {
		words, text := s.list(name)
		found = found || words != nil
		s.subshell(func() {
			if text {
				s.shellText(words[0])
			} else if words != nil {
				s.runWords(words)
			}
		})
	}
	if !found {
		s.bad("the call holds no command")
	}
}

// list is what stands in a field that holds words, or one text.
func (s tools) list(name string) (words []string, text bool) {
	f, present := s.Field(name)
	one, text := f.Text()
	if text && !f.Null() {
		return []string{one}, true
	}
	words, ok := f.Texts()
	if present && (!ok || len(words) == 0) {
		s.bad("the " + name + " of the call is neither text nor words")
	}
	return words, false
}

// runWords judges a command that no shell splits.
func (s tools) runWords(words []string) {
	argv := make([]arg, len(words))
	for i, word := range words {
		if argv[i].text = word; strings.ContainsAny(word, "\x00"+hole+gap) {
			s.bad("the command holds a control character")
		}
	}
	s.run(argv, "")
}

func (s tools) writeTool() {
	found := s.writes()
	edits, _ := s.Field("edits")
	for _, e := range edits.Items { // edits of another shape name no files
		found = tools{s.walker, e.Value}.writes() || found
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
		if file == "" {
			s.bad("the call names an empty path")
		}
		s.write(arg{text: s.tilde(file)})
		// Some agents take away what surrounds a path.
		if bare := strings.TrimPrefix(strings.Trim(strings.TrimSpace(file), "\ufeff"), "file://"); bare != file {
			s.write(arg{text: s.tilde(bare)})
		}
	}
	return found
}

// tilde expands a ~ as agents do.
func (s tools) tilde(file string) string {
	if file == "~" || strings.HasPrefix(file, "~/") {
		return path.Join("/", s.policy.Home, file[1:])
	}
	return file
}

// patchTool judges the files in the headings of a patch, of agents' own kind or of diff's, given as text or as words.
func (s tools) patchTool() {
	patch := ""
	for _, name := range [...]string{"input", "patch", "patchText", "patch_text", "command"} {
		words, _ := s.list(name)
		patch += strings.Join(words, "\n") + "\n"
	}
	own := strings.Contains(patch, "*** Begin Patch")
	if !own && !strings.Contains(patch, "+++") || strings.ContainsAny(patch, "\x00"+hole) {
		s.bad("the call holds no patch")
	}
	for line := range strings.SplitSeq(patch, "\n") {
		mark, name, _ := strings.Cut(strings.TrimSpace(line), " ")
		what, file, named := strings.Cut(name, ":")
		switch {
		case mark == "***" && named && listed("Update Add Delete Move", strings.Fields(what + " -")[0]):
			name = file
		case own || !listed("+++ --- rename copy", mark):
			continue
		}
		name = strings.TrimPrefix(strings.TrimSpace(name), "to ")
		name, _, _ = strings.Cut(name, "\t")
		if strings.Trim(name, "0123456789,* -") == "" {
			continue
		}
		s.write(arg{text: s.tilde(name)})
		if len(name) > 2 && name[1] == '/' { // as in a/FILE and b/FILE
			s.write(arg{text: name[2:]})
		}
	}
}

// agentTool judges the start of another agent in the same session. Its calls
// are asked about like all others, as long as it stays in the workspace.
func (s tools) agentTool() {
	if isolation, present := s.text("isolation"); present {
		s.deny(RuleTool, arg{}, "", "an agent with isolation "+clip(isolation, 80)+
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
		s.deny(RuleTool, arg{}, "", "a message to "+clip(to, 80)+" may reach a session outside the workspace",
			"write to main, or to the id that the start of an agent has given")
	}
}

// inputTool judges what is typed into a program that runs, as if that were a shell.
func (s tools) inputTool() {
	chars, _ := s.text("chars")
	s.shellText(strings.Trim(chars, " \r\n\x03\x04"))
}
