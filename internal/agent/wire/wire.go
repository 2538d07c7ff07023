// Package wire is what cco and its driver of agents that speak the Agent Client Protocol say to each other: the job
// that the driver gets, and its own words among the agent's updates.
package wire

// Variable is the driver's environment variable for the job, as JSON. The door's address is filled into it on the way.
const Variable = "CCO_ACP"

// Job is one turn of an agent.
type Job struct {
	Argv   []string          `json:"argv"`
	Files  map[string]string `json:"files,omitempty"` // below the home: settings that the agent's program reads
	Dir    string            `json:"dir"`
	Prompt string            `json:"prompt"`
	Resume string            `json:"resume,omitempty"` // the session to go on with
	Mode   string            `json:"mode,omitempty"`
	Model  string            `json:"model,omitempty"` // that the user has named

	Servers []Server `json:"servers"`
}

// Server is a program that offers tools to an agent by the Model Context Protocol, as the Agent Client Protocol names
// one. It runs inside the box.
type Server struct {
	Name    string     `json:"name"`
	Command string     `json:"command"`
	Args    []string   `json:"args"`
	Env     []EnvValue `json:"env"`
}

// EnvValue is a variable.
type EnvValue struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// Word is a line of the driver's own. Every other line is an update of the agent's, as it came.
type Word struct {
	Say     Say    `json:"cco"`
	Session string `json:"session,omitempty"` // with Begun
	Text    string `json:"text,omitempty"`
	Stop    string `json:"stop,omitempty"` // with Ended: the protocol's reason
}

// Say is what the driver has to say.
type Say string

// What the driver says.
const (
	Begun    Say = "begun"    // there is a session
	Ended    Say = "ended"    // the agent has ended its turn
	Failed   Say = "failed"   // it won't go on: Text
	Question Say = "question" // the agent wants to know something that only a person can say: Text
	Note     Say = "note"     // Text
)
