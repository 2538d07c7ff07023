package guard

import (
	"strings"

	"github.com/cco-dev/cco/internal/guard/verdict"
)

// agentTool judges the start of another agent in the same session. Its calls
// are asked about like all others, as long as it stays in the workspace.
func (s tools) agentTool(in fileInput, bad func(string)) {
	isolation, present, ok := in.text("isolation")
	if !ok {
		bad("where the agent is to work is not text")
	}
	if present {
		s.Deny(verdict.RuleTool, arg{}, "", "an agent with isolation "+verdict.Clip(isolation, 80)+
			" works outside the workspace",
			"leave isolation out")
	}
}

// messageTool judges a message to another agent. One of the same session goes
// by an id; a name may be that of a session outside, whose user never agreed
// to what it is told to do.
func (s tools) messageTool(in fileInput, bad func(string)) {
	to, present, ok := in.text("to")
	if !ok || !present {
		bad("the call names nobody to write to")
	}
	id, isID := strings.CutPrefix(to, "a")
	if to != "main" && (!isID || len(id) < 8 || strings.Trim(id, "0123456789abcdef-") != "") {
		s.Deny(verdict.RuleTool, arg{}, "", "a message to "+verdict.Clip(to, 80)+" may reach a session outside the workspace",
			"write to main, or to the id that the start of an agent has given")
	}
}

// inputTool judges what is typed into a program that runs. Which one it is
// can't be seen, so that only answers which are a command to none may pass.
func (s tools) inputTool(in fileInput, bad func(string)) {
	chars, _, ok := in.text("chars")
	if !ok {
		bad("what is to be typed is not text")
	}
	switch strings.Trim(chars, " \r\n\x03\x04") {
	case "", "y", "n", "Y", "N", "yes", "no":
		return
	}
	s.Deny(verdict.RuleTool, arg{}, "", "what is typed into a running program can't be followed",
		"run the command anew, with its input in a file or a here-document")
}
