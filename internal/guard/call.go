package guard

import "encoding/json"

// Call is one tool call that an agent wants to make.
type Call struct {
	// Tool is the name by which the agent calls the tool.
	Tool string `json:"tool_name"`
	// Input is the tool's input as the agent sent it.
	Input json.RawMessage `json:"tool_input"`
	// Cwd is the directory that relative paths start from.
	Cwd string `json:"cwd"`
	// Branch is the branch that HEAD of the workspace is on, if the caller
	// knows it. On another branch than the policy's nothing may be committed.
	Branch string `json:"branch,omitempty"`
}

// Command makes the call of a shell tool.
func Command(cwd, command string) Call {
	input, _ := json.Marshal(struct { // a string always marshals
		Command string `json:"command"`
	}{command})
	return Call{Tool: "Bash", Input: input, Cwd: cwd}
}
