// Package roster is what cco knows of agents' CLIs, as data: a row for each. It imports nothing, so that the guard's
// hook can ask it, and is laid out by the compiler, so that it costs nothing at start.
package roster

import (
	"path"
	"slices"
	"strings"
)

// Default is the agent that is used if none is named.
const Default = "claude"

// ThisProject at the end of a path stands for the directory of the project that the agent works on.
const ThisProject = "{project}"

// Row is what is known of one agent. Paths are relative to a home, or to a workspace where it is said.
type Row struct {
	Name string
	// Programs are the names by which it is started, its own first. The last part of its package's name is among them:
	// npx and the like take that.
	Programs []string
	Package  Package
	Provider string // whose model it asks, by the broker's name, "" for any
	// Chatter are hosts that it alone asks for, by itself, for updates and telemetry: it misses nothing if it is refused.
	Chatter []string
	// Early are such hosts that it asks for only before its first turn: later somebody may miss something.
	Early []string

	// Homes are the directories that a variable can put elsewhere.
	Homes        []Home
	Instructions string   // the file that it reads in every session
	Skills       string   // the directory of its skills
	Commands     string   // the directory of slash commands, "" if it has none
	Logins       []string // where it keeps logins, keys and tokens: what says that it is logged in comes first
	Caches       []string // what it can fetch or make again, and runs or believes

	// In a cage on the user's own worktree the agent has a home of its own. Config is what of the user's is shown in it
	// read-only, State what is the user's own and can be written, Copies what is copied there from another name or the
	// same. Of Tokens, which are copied too, renewed ones come back. Variables are its own, and may end in a star.
	Config, State, Tokens, Variables []string
	Copies                           []Copy

	// Settings are the files and directories in a workspace or a home that can switch its hooks off, or start programs,
	// and HomeSettings those that count in a home alone. The guard protects them, whether or not they are there.
	Settings, HomeSettings []string
	// Steering are the files in a repository that tell it what to do, in lower case, a directory with a slash behind it.
	Steering []string
	// Local is the file in a workspace in which the guard's hook is registered, "" if that is a file of the user's.
	Local string
	// Managed is the file of the machine that stands above all others, ManagedMac its place on macOS where that differs.
	Managed, ManagedMac string

	// TurnBegins and TurnEnds are the events of its hooks at the beginning and the end of a turn, "" if it has none.
	TurnBegins, TurnEnds string

	// Steered says that it takes what is typed while it works into the turn that is under way.
	Steered bool

	Event string // what its hook says when it asks about a tool, "" for an agent whose hook the guard doesn't know
	Tools Tools
	// Spaces are the words that it puts in front of the names of harmless tools.
	Spaces []string
}

// Package is an npm package in the version that cco was tried with.
type Package struct {
	Name    string
	Version string // what `cco agent install` installs
	Oldest  string // what still works
	// Programs are patterns for the program itself below node_modules, best first; {machine} is the machine as npm
	// packages name it, linux-x64.
	Programs []string
	With     []Pin // further packages that it needs
	Node     int   // the oldest major version of Node that runs it, 0 for a program that needs none
	// Models are this version's default models: each has a price, see broker.
	Models []string
}

// Linked begins a pattern for a program that npm links where it puts all programs: what a package starts with a Node.
const Linked = ".bin/"

// Pin is a package in an exact version.
type Pin struct{ Name, Version string }

// Copy is a file that an agent has in a cage, and where the user has it if that is elsewhere.
type Copy struct{ To, From string }

// Home is a directory that a variable names.
type Home struct {
	Variable string
	Dir      string // what it is otherwise, "" for the user's home itself
}

// Tools are the names of an agent's tools, by what they do, with a blank between them.
type Tools struct {
	Shell   string // runs a command; the first is what the guard tries its hook with
	Write   string // writes files that its input names
	Patch   string // writes files that a patch names
	Read    string
	Free    string // touches no file
	Agent   string // starts another agent
	Message string // writes to another agent
	Input   string // types into a program that runs
	Denied  string // works outside the workspace, or starts what the guard can't follow
}

// ToolKind is what a tool does, whatever its agent calls it.
type ToolKind uint8

// The kinds of tools. The zero value is a tool that nobody has listed.
const (
	UnknownTool ToolKind = iota
	ShellTool
	WriteTool
	PatchTool
	ReadTool
	FreeTool
	AgentTool
	MessageTool
	InputTool
	DeniedTool
)

func (t *Tools) kind(name string) ToolKind {
	for i, list := range [...]string{t.Shell, t.Write, t.Patch, t.Read, t.Free, t.Agent, t.Message, t.Input, t.Denied} {
		if listed(list, name) {
			return ToolKind(i + 1)
		}
	}
	return UnknownTool
}

// listed finds a word in a list of words.
func listed(list, word string) bool {
	for list != "" {
		var first string
		if first, list, _ = strings.Cut(list, " "); first == word {
			return word != ""
		}
	}
	return false
}

// KindOf says what a tool of that name does, of any agent.
func KindOf(tool string) ToolKind {
	if k := others.kind(tool); k != UnknownTool {
		return k
	}
	for i := range rows {
		if k := rows[i].Tools.kind(tool); k != UnknownTool {
			return k
		}
	}
	for i := range rows {
		for _, space := range rows[i].Spaces {
			if rest, ok := strings.CutPrefix(tool, space); ok && KindOf(rest) == FreeTool {
				return FreeTool
			}
		}
	}
	return UnknownTool
}

// All is every row, also of agents that cco can't start and knows only to keep them from being started.
func All() []Row { return rows[:] }

// Find gives the row of that name.
func Find(name string) (Row, bool) {
	for i := range rows {
		if rows[i].Name == name {
			return rows[i], true
		}
	}
	return Row{}, false
}

// Program is the name of its program, "" for an agent that is part of cco.
func (r Row) Program() string {
	if len(r.Programs) == 0 {
		return ""
	}
	return r.Programs[0]
}

// IsProgram says whether an agent is started by that name.
func IsProgram(name string) bool {
	for i := range rows {
		for _, p := range rows[i].Programs {
			if p == name {
				return true
			}
		}
	}
	return false
}

// IsEvent says whether an agent's hook asks about a tool in that word.
func IsEvent(word string) bool {
	for i := range rows {
		if word != "" && rows[i].Event == word {
			return true
		}
	}
	return false
}

// At is where a file of the agent's stands for a user, whose environment may put it elsewhere.
func (r Row) At(name string, env func(string) string, home string) string {
	for _, h := range r.Homes {
		rest, below := strings.CutPrefix(name, h.Dir)
		if dir := env(h.Variable); below && path.IsAbs(dir) && (h.Dir == "" || rest == "" || rest[0] == '/') {
			return path.Join(dir, rest)
		}
	}
	return path.Join(home, name)
}

// Env puts everything of the agent's below a directory.
func (r Row) Env(dir string) (env []string) {
	for _, h := range r.Homes {
		env = append(env, h.Variable+"="+path.Join(dir, h.Dir))
	}
	return env
}

// Owns says whether a directory is the agent's alone. Some of its settings are in one of somebody else's.
func (r Row) Owns(dir string) bool {
	return slices.Contains(r.Steering, dir+"/") || strings.HasPrefix(r.Instructions, dir+"/")
}

// Settings are what the guard protects of all agents, in a workspace and in a home, and what in a home alone.
func Settings() (names, inHome []string) {
	names, inHome = make([]string, 0, 32), make([]string, 0, 16) // the hook pays for every piece of memory anew
	for i := range rows {
		names, inHome = append(names, rows[i].Settings...), append(inHome, rows[i].HomeSettings...)
	}
	return names, inHome
}

// Steering are the files in a repository that steer an agent.
func Steering() (names []string) {
	for i := range rows {
		names = append(names, rows[i].Steering...)
	}
	return names
}

// Private is everything of agents below a home that holds logins, settings or what was said: the directories in which
// their logins and instructions stand, and logins that stand in the home itself.
func Private() []string {
	names := strings.Fields(otherPlaces)
	for i := range rows {
		for _, file := range append(rows[i].Logins, rows[i].Instructions) {
			name := file
			if dir := path.Dir(file); dir != "." {
				name = dir
			}
			if name != "" && !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}
