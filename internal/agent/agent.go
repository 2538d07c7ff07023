// Package agent knows the agents that can carry out a plan: how each is started, and what it needs to be there.
package agent

import (
	"fmt"
	"strings"
)

// Adapter is what cco must know of one agent. What only some of them can do is a second, small interface.
type Adapter interface {
	Name() string
	// Binary is the program that must be on PATH in the box, "" for an agent that is part of cco.
	Binary() string
	// Install is the command that makes Binary available.
	Install() string
	// Command says how to start the agent on a task.
	Command(Task) Command
}

// Task is one run of an agent. Paths are as the agent sees them.
type Task struct {
	Plan        string // absolute, or relative to Workspace
	Session     string
	Model       string // "" is the agent's own default
	Workspace   string
	Exchange    string
	Home        string
	Tool        string // cco-box, the part of cco that runs inside
	Interactive bool   // on a terminal that a person watches and types into
	Rules       string // added to the agent's own instructions
}

// Command is a program to start with Workspace as its directory. It holds no secret.
type Command struct {
	Argv []string
	Env  []string // in addition to the box's own
}

// Default is the agent that works where none is named.
const Default = "claude"

// All is every agent, the default first.
func All() []Adapter {
	return []Adapter{
		claude{},
		script{},
	}
}

// NotFoundError names an agent that doesn't exist.
type NotFoundError struct{ Name string }

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no agent %q; there are %s", e.Name, strings.Join(Names(), ", "))
}

// Names lists the agents in the order of All.
func Names() []string {
	var names []string
	for _, a := range All() {
		names = append(names, a.Name())
	}
	return names
}

// Find gives the agent of that name, or a *NotFoundError.
func Find(name string) (Adapter, error) {
	for _, a := range All() {
		if a.Name() == name {
			return a, nil
		}
	}
	return nil, &NotFoundError{Name: name}
}

// MissingError says that an agent's program can't be seen in the box.
type MissingError struct {
	Agent   string
	Binary  string
	Install string
	Box     string
}

// Missing is the error for an agent whose Binary was looked for in a box and not found.
func Missing(a Adapter, box string) error {
	return &MissingError{Agent: a.Name(), Binary: a.Binary(), Install: a.Install(), Box: box}
}

func (e *MissingError) Error() string {
	return fmt.Sprintf("agent %s: no program %q in box %s; install it with `%s`, "+
		"and if it is in a directory of your home name that in box.mounts", e.Agent, e.Binary, e.Box, e.Install)
}

// place tells a program, whichever agent it is, where it is.
func place(t Task) []string {
	return []string{
		"CCO_SESSION=" + t.Session,
		"CCO_WORKSPACE=" + t.Workspace,
		"CCO_EXCHANGE=" + t.Exchange,
	}
}

// planArg is the plan as an argument that no program takes for an option.
func planArg(t Task) string {
	if strings.HasPrefix(t.Plan, "-") {
		return "./" + t.Plan
	}
	return t.Plan
}
