package guard

import "github.com/cco-dev/cco/internal/guard/jsontext"

// Call is one tool call that an agent wants to make.
type Call struct {
	// Tool is the name by which the agent calls the tool.
	Tool string
	// Input is the tool's input as the agent sent it, in JSON.
	Input []byte
	// Cwd is the directory that relative paths start from.
	Cwd string
	// Branch is the branch that HEAD of the workspace is on, if the caller
	// knows it. On another branch than the policy's nothing may be committed.
	Branch string
	// MadeHere says that this branch was made in the workspace, and so is the
	// agent's own like the policy's.
	MadeHere bool
	// Typed says that the agent can type into a program that it has started,
	// without being asked about it again.
	Typed bool
}

// Command makes the call of a shell tool.
func Command(cwd, command string) Call {
	return Call{Tool: "Bash", Input: []byte(`{"command":` + jsontext.Quote(command) + `}`), Cwd: cwd}
}
