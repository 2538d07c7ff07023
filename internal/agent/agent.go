// Package agent knows the agents that can carry out a plan: how each is started, and what it needs to be there.
package agent

import (
	"fmt"
	"os"
	"strings"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/skill"
)

// Adapter is what cco must know about one agent. Abilities of only some agents are small interfaces of their own.
type Adapter interface {
	Name() string
	// Binary is the name of its program, "" for an agent that is part of cco.
	Binary() string
	// Provider is whose model it asks, by the broker's name, "" for none.
	Provider() string
	// Package is where the program comes from, zero for an agent that is part of cco.
	Package() Package
	// Command says how to start the agent on a task.
	Command(Task) Command
	// Events is a new decoder for the output of one headless run.
	Events(event.Start) event.Decoder
}

// LoginKeeper is an agent that stores a login of its own on the host.
type LoginKeeper interface {
	// Login is the file below home in which the login is kept, and the variable that names another directory for it.
	Login() (variable, file string)
}

// Package is an npm package in the version that cco was tried with.
type Package struct {
	Name    string
	Version string // what `cco agent install` installs
	Oldest  string // what still works
	// Programs are patterns for the program itself below node_modules, best first; {machine} is the machine as npm
	// packages name it, linux-x64.
	Programs []string
	Node     int // the oldest major version of Node that runs it, 0 for a program that needs none
	// Models are this version's default models: each has a price, see broker.
	Models []string
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

	Program string // the agent's program, absolute; "" looks for Binary on PATH
	// a directory of the session's own that outlives a run; CLIs that can't write into home keep their state there
	State string
	Door  string // host:port of the way to the model, "" if the CLI uses its own
	Token string // the door's password, worthless elsewhere

	NewSession string // a UUID for the CLI's session, where it lets us choose
	Resume     string // the CLI's own id of the session to go on with
	Prompt     string // said instead of the plan: an answer, "continue"
}

// Command is a program to start with Workspace as its directory. It holds no secret.
type Command struct {
	Argv []string
	Env  []string // in addition to the box's own
	Etc  []File   // shown read-only below /etc, at a path relative to it
	Home []File   // placed below Task.State, at a path relative to it
}

// File is a file that an agent's program needs.
type File struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Default is the agent that is used if none is named.
const Default = "claude"

// All is every agent, the default first.
func All() []Adapter {
	return []Adapter{
		claude{},
		codex{},
		gemini{},
		opencode{},
		script{},
	}
}

// Programs are the names of all agents' programs, and of what runs those that are scripts.
func Programs() (names []string) {
	for _, a := range All() {
		if a.Binary() != "" {
			names = append(names, a.Binary())
		}
	}
	return append(names, "node")
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

// MissingError says that an agent's program is not in the box.
type MissingError struct {
	Agent   string
	Binary  string
	Install string
	Box     string
}

// Missing is the error for an agent whose Binary was looked for in a box and not found.
func Missing(a Adapter, box string) error {
	return &MissingError{Agent: a.Name(), Binary: a.Binary(), Install: Install(a), Box: box}
}

// Install is the command that makes an agent's program available.
func Install(a Adapter) string { return "cco agent install " + a.Name() }

func (e *MissingError) Error() string {
	return fmt.Sprintf("agent %s: no program %q in box %s; install it with `%s`", e.Agent, e.Binary, e.Box, e.Install)
}

// place tells any agent's program where it is.
func place(t Task) []string {
	return []string{
		"CCO_SESSION=" + t.Session,
		"CCO_WORKSPACE=" + t.Workspace,
		"CCO_EXCHANGE=" + t.Exchange,
	}
}

// planArg is the plan as an argument that no program mistakes for an option.
func planArg(t Task) string {
	if strings.HasPrefix(t.Plan, "-") {
		return "./" + t.Plan
	}
	return t.Plan
}

// program is what to start.
func program(t Task, binary string) string {
	if t.Program != "" {
		return t.Program
	}
	return binary
}

// prompt is for agents that can't be told to use a skill by its name: the skill's text, or what a person says now, and
// the rules in any case.
func prompt(t Task) string {
	text := t.Prompt
	if text == "" {
		text = skill.For(planArg(t)) + "\n" + unattended(t)
	}
	if t.Rules != "" {
		text = strings.TrimSpace(text) + "\n\n" + t.Rules
	}
	return promptArg(text)
}

// unattended says how a question reaches a person, who sees none of the agent's other output.
func unattended(t Task) string {
	if t.Interactive {
		return ""
	}
	return "Nobody watches this run, and what you say is read only when it is over. If something must be answered " +
		"before any work can go on, write the question to `" + t.Exchange +
		"/question.txt` and end your turn: the answer will be the next message.\n"
}

// promptArg is a prompt as an argument that no program mistakes for an option or a command.
func promptArg(text string) string {
	if strings.HasPrefix(text, "-") {
		return " " + text
	}
	return text
}
