// Package agent knows the agents that can carry out a plan: how each is started, and what it needs to be there.
package agent

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/cco-dev/cco/internal/agent/event"
	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard/settings"
	"github.com/cco-dev/cco/internal/skill"
	"github.com/cco-dev/cco/internal/whole"
)

// Adapter is an agent that can carry out a plan: its row in the roster, and what of it is code.
type Adapter struct {
	Row roster.Row
	// Command says how to start the agent on a task.
	Command func(Task) Command
	// Events is a new decoder for the output of one headless run.
	Events func(event.Start) event.Decoder
	// Record is what its CLI writes down of a conversation on a terminal: a pattern of files below its home, and what
	// reads their lines. It is nil for one that does not.
	Record func() (files string, read event.Recorder)
	// Settings are put into the home of every box.
	Settings []File
	// Hook is how the guard stands in its settings, nil for an agent whose calls are not asked about.
	Hook *settings.Adapter
	// Protocol says that it speaks the Agent Client Protocol: it has no screen of its own, and its word for success
	// counts only as far as the door has seen its model answer.
	Protocol bool
}

// Name is what users call it.
func (a Adapter) Name() string { return a.Row.Name }

// Binary is the name of its program, "" for an agent that is part of cco.
func (a Adapter) Binary() string { return a.Row.Program() }

// Provider is whose model it asks, by the broker's name, "" for none.
func (a Adapter) Provider() string { return a.Row.Provider }

// Package is where the program comes from, zero for an agent that is part of cco.
func (a Adapter) Package() roster.Package { return a.Row.Package }

// recorded is an adapter's Record.
func recorded(files string, read func() event.Recorder) func() (string, event.Recorder) {
	return func() (string, event.Recorder) { return files, read() }
}

// row is an adapter's row, which it can't be without.
func row(name string) roster.Row {
	r, ok := roster.Find(name)
	if !ok {
		panic("agent " + name + " has no row") // a test would have seen it
	}
	return r
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

	Servers event.Servers
}

// servers are a task's, as several CLIs want to have them.
func servers(t Task) []byte { return encode(map[string]any{"mcpServers": t.Servers}) }

// Command is a program to start with Workspace as its directory. It holds no secret.
type Command struct {
	Argv []string
	Env  []string // in addition to the box's own
	Etc  []File   // shown read-only below /etc, at a path relative to it
	Home []File   // placed below Task.State, at a path relative to it
	Turn *event.Turn
}

// File is a file that an agent's program needs.
type File = whole.File

// All is every agent of ours, the default first.
func All() []Adapter {
	list := []Adapter{
		claude(),
		codex(),
		gemini(),
		opencode(),
	}
	for _, p := range presets {
		a, err := Spec{Name: p.Name}.Adapter()
		if err != nil {
			panic(err) // a test would have seen it
		}
		list = append(list, a)
	}
	return append(list, script())
}

// Own are the agents that the user's settings name, beside ours or in place of them. The zero value has none.
type Own []Adapter

// All is every agent that there is.
func (o Own) All() []Adapter {
	list := slices.DeleteFunc(All(), func(a Adapter) bool {
		return slices.ContainsFunc(o, func(own Adapter) bool { return own.Name() == a.Name() })
	})
	return append(list, o...)
}

// Names lists them.
func (o Own) Names() (names []string) {
	for _, a := range o.All() {
		names = append(names, a.Name())
	}
	return names
}

// Find gives the agent of that name, or a *NotFoundError.
func (o Own) Find(name string) (Adapter, error) {
	for _, a := range o.All() {
		if a.Name() == name {
			return a, nil
		}
	}
	return Adapter{}, &NotFoundError{Name: name, There: o.Names()}
}

// Hooks are the guard's adapters of all agents that have one.
func Hooks() (list []*settings.Adapter) {
	for _, a := range All() {
		if a.Hook != nil {
			list = append(list, a.Hook)
		}
	}
	return list
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
type NotFoundError struct {
	Name  string
	There []string
}

func (e *NotFoundError) Error() string {
	return fmt.Sprintf("no agent %q; there are %s", e.Name, strings.Join(e.There, ", "))
}

// Names lists the agents in the order of All.
func Names() []string { return Own{}.Names() }

// Find gives the agent of ours of that name, or a *NotFoundError.
func Find(name string) (Adapter, error) { return Own{}.Find(name) }

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
func program(t Task, name string) string { return cmp.Or(t.Program, row(name).Program()) }

// placed adds where the agent keeps its state, if that is not its home.
func placed(env []string, t Task, name string) []string {
	if t.State == "" {
		return env
	}
	return append(env, row(name).Env(t.State)...)
}

// prompt is for agents that can't be told to use a skill by its name: what a person says now, or that the plan is to be
// carried out. Behind it stand the skill's text and the rules, which people don't read as their own words. An agent
// that shows its prompt on a screen of its own gets them beside it.
func prompt(t Task) string {
	switch {
	case t.Interactive && t.Prompt == "":
		return "Carry out the plan " + planArg(t) + "."
	case t.Interactive:
		return promptArg(t.Prompt)
	case t.Prompt == "":
		said := "Carry out the plan " + planArg(t) + " as these instructions say."
		return promptArg(event.Instruct(said, instructions(t)))
	case t.Rules == "":
		return promptArg(t.Prompt)
	}
	return promptArg(event.Instruct(t.Prompt, t.Rules))
}

// instructions are the skill's text and the rules.
func instructions(t Task) string {
	return strings.TrimSpace(skill.For(planArg(t))+"\n"+unattended(t)+"\n"+t.Rules) + "\n"
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
