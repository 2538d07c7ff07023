package agenttest

import (
	"fmt"
	"slices"
	"strings"
)

// Step is one turn of the model. Without calls it ends the run.
type Step struct {
	Thinking string
	Text     string
	Calls    []Call
	Usage    Usage // zero is a few tokens
	// Before is done when the step is served: what happens to the agent's files while it works.
	Before func()
}

// Usage is what a turn is said to have taken.
type Usage struct{ Input, Output, CacheRead, CacheWrite int64 }

func (u Usage) orFew() Usage {
	if u == (Usage{}) {
		return Usage{Input: 10, Output: 5}
	}
	return u
}

// Call is one use of a tool.
type Call struct {
	Tool  string
	Input map[string]any
	// Free is the input of a tool that takes plain text, which only codex has.
	Free string

	// as makes the call from the tools that the agent offers, where agents name the same tool differently.
	as func(tools []string) Call
}

func (c Call) with(tools []string) Call {
	if c.as != nil {
		return c.as(tools)
	}
	return c
}

// Say is a step of words, which ends the run.
func Say(text string) Step { return Step{Text: text} }

// Use is a step that calls tools, all in one turn.
func Use(calls ...Call) Step { return Step{Calls: calls} }

// Shell is the step that runs a command with the agent's own shell tool.
func Shell(command string) Step { return Use(ShellCall(command)) }

// Write is the step that writes a file with the agent's own tool for that.
func Write(path, content string) Step { return Use(WriteCall(path, content)) }

// Ask is the step in which claude asks the user something.
func Ask(question string, options ...string) Step {
	var list []any
	for _, o := range options {
		list = append(list, object{"label": o, "description": o})
	}
	return Use(Call{Tool: "AskUserQuestion", Input: object{"questions": []any{
		object{"question": question, "header": "Question", "multiSelect": false, "options": list},
	}}})
}

// ShellCall is a call of the tool that runs commands.
func ShellCall(command string) Call {
	return Call{as: func(tools []string) Call {
		for _, t := range []struct{ tool, input string }{
			{"Bash", "command"}, {"exec_command", "cmd"}, {"run_shell_command", "command"}, {"bash", "command"},
			{"shell_command", "command"},
		} {
			if slices.Contains(tools, t.tool) {
				in := object{t.input: command}
				if strings.EqualFold(t.tool, "bash") {
					in["description"] = "step"
				}
				return Call{Tool: t.tool, Input: in}
			}
		}
		if slices.Contains(tools, "exec") { // codex, with newer models, runs JavaScript that calls its tools
			return Call{Tool: "exec", Free: fmt.Sprintf(codexExec, encode(object{"cmd": command}))}
		}
		return Call{Tool: "shell", Input: object{"command": []any{"bash", "-lc", command}}}
	}}
}

// codexExec waits for a command as long as it runs: codex gives up waiting after ten seconds otherwise.
const codexExec = `// @exec: {"yield_time_ms": 600000}
let r = await tools.exec_command(%s);
let out = r.output ?? r;
while (r.session_id != null) {
	r = await tools.write_stdin({session_id: r.session_id, chars: "", yield_time_ms: 5000});
	out += r.output ?? "";
}
text(out);`

// WriteCall is a call of the tool that writes files; path is absolute.
func WriteCall(path, content string) Call {
	return Call{as: func(tools []string) Call {
		for _, t := range []struct{ tool, path string }{{"Write", "file_path"}, {"write_file", "file_path"},
			{"write", "filePath"}} {
			if slices.Contains(tools, t.tool) {
				return Call{Tool: t.tool, Input: object{t.path: path, "content": content}}
			}
		}
		lines := strings.Split(strings.TrimSuffix(content, "\n"), "\n")
		patch := "*** Begin Patch\n*** Add File: " + path + "\n+" + strings.Join(lines, "\n+") + "\n*** End Patch"
		switch { // codex: which it has depends on the model
		case slices.Contains(tools, "apply_patch"):
			return Call{Tool: "apply_patch", Free: patch}
		case slices.Contains(tools, "exec"):
			return Call{Tool: "exec", Free: "text(await tools.apply_patch(" + encode(patch) + "));"}
		}
		return ShellCall("cat > '" + path + "' <<'END_OF_FILE'\n" + strings.Join(lines, "\n") + "\nEND_OF_FILE").as(tools)
	}}
}
