// Package settings puts the guard's hook into the settings of agents and takes it out again, and says whether it is on.
// It changes nothing else in a settings file: comments, order and spacing stay as they were.
package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/cco-dev/cco/internal/agent/roster"
	"github.com/cco-dev/cco/internal/guard"
	"github.com/cco-dev/cco/internal/guard/hook"
	"github.com/cco-dev/cco/internal/proc"
	"github.com/cco-dev/cco/internal/whole"
)

// Adapter is how the guard stands in the settings of one agent: what there is to say about it, for the one way in which
// settings are written and looked at. Each is named where the agent is, see package agent.
type Adapter struct {
	agent string // its name in the roster
	// start is how to start it in the workspace so that nothing which an agent or a repository can write to turns the
	// guard off, as far as the agent can be started so without being root. Without it there is no hook outside of boxes.
	start string
	own   bool     // start ends with the name of a settings file of our own
	past  bool     // started so, it passes over the repository's settings
	drops []string // variables by which it drops hooks

	format
	handler handler // what the hook has beside its command
	named   bool    // it has a name too
	keys    []key   // what is said beside the hook
	system  []key   // and in a file of the machine besides
	offBy   []key   // what switches all hooks off
	// overrules says that of two files that switch hooks off or on only the stronger counts.
	overrules bool
	// managedOnly is the key by which the machine's file lets no other hooks run. Its own can't be switched off then.
	managedOnly string
	// ofRoot says that the machine's file is read only if nobody else can change it.
	ofRoot bool
	// others looks for what else bears on the hook.
	others func(l *look)
	// managed is what stands in /etc of a box, where it is more than a file with the hook.
	managed func(a *Adapter, h Hook) []File
}

// format is a language that settings are written in.
type format struct {
	// read gives what stands in a file.
	read func(data []byte) (map[string]any, error)
	// merge adds the hook to settings that have none of it yet, and keeps the rest. File is where they stand.
	merge func(a *Adapter, file string, data []byte, h Hook) ([]byte, error)
	// strip takes the hook out of settings that somebody else has changed since. Before is what stood there once.
	strip func(a *Adapter, data, before []byte, h Hook) []byte
	// needed says that an agent doesn't pass over a file that it can't read.
	needed bool
}

// key is a setting, by the names that lead to it with dots between them, and the value that it has.
type key struct {
	path  string
	value bool
}

// handler is a hook, in the shape that agents share.
type handler struct {
	Name      string `json:"name,omitempty"`
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int    `json:"timeout"`
	OnFailure string `json:"onFailure,omitempty"`
	group     int    // its place in the file
}

// row is what the roster knows of the agent.
func (a *Adapter) row() roster.Row {
	r, ok := roster.Find(a.agent)
	if !ok {
		panic("agent " + a.agent + " has no row") // a test would have seen it
	}
	return r
}

// fresh are settings that hold nothing but the guard.
func (a *Adapter) fresh(h Hook) []byte {
	data, _ := a.merge(a, "", nil, h) // nothing stands in the way
	return data
}

// hookSeconds is how long an agent waits for the hook, which itself gives up, and denies, long before that.
const hookSeconds = 10

// Hook is the registered command: which program decides, and by which policy.
type Hook struct {
	Guard  string // cco-guard, absolute
	Policy string // absolute
	// Scope, if set, is the directory whose sessions alone are guarded: for settings that hold in all of them.
	Scope string
	// Name is what gemini calls the hook. A repository can switch off a hook whose name it knows, so that this is
	// better made anew each time.
	Name string
	// Turns lets the agent also say when a turn begins and ends.
	Turns bool
	// System is for settings of the whole machine or box.
	System bool
}

// command is the line of shell that the agent runs.
func (h Hook) command(agent string) string {
	line := proc.ShellWord(h.Guard) + " --agent " + agent + " --policy " + proc.ShellWord(h.Policy)
	if h.Scope == "" {
		return line
	}
	// A directory that is gone is no proof of being elsewhere.
	return "d=$(pwd -P) || exit 2; case \"$d/\" in " + proc.ShellWord(h.Scope) + "/*) exec " + line + ";; esac"
}

// turn is a hook in a box that says when the agent begins or ends a turn.
type turn struct{ event, command string }

func (h Hook) turns(r roster.Row) (list []turn) {
	for _, t := range []turn{{r.TurnBegins, "begun"}, {r.TurnEnds, "ended"}} {
		if h.Turns && t.event != "" {
			list = append(list, turn{t.event, h.command(r.Name) + " --turn " + t.command})
		}
	}
	return list
}

// Places are where agents keep their settings on this machine.
type Places struct {
	Env  func(string) string // by which an agent's directory can be elsewhere
	Home string
	OS   string // in Go's words
	Root string // what stands before the names of system files, "" outside of tests
	// Secure says why gemini would not read a system file: OfRoot outside of tests; nil takes every one.
	Secure func(file string) error
}

// managed is the system file of an agent.
func (p Places) managed(r roster.Row) string {
	if p.OS == "darwin" && r.ManagedMac != "" {
		return p.Root + r.ManagedMac
	}
	return p.Root + r.Managed
}

// user is the file of the user's.
func (p Places) user(r roster.Row) string { return r.At(r.Settings[0], p.Env, p.Home) }

// file is where the hook is registered for an agent, around one worktree or for the machine.
func (p Places) file(r roster.Row, dir string, system bool) string {
	switch {
	case system:
		return p.managed(r)
	case r.Local != "":
		return filepath.Join(dir, r.Local)
	}
	return p.user(r)
}

// compact writes JSON without escaping what shell commands are full of.
func compact(v any) string {
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(v); err != nil {
		panic(err) // only our own types are written
	}
	return strings.TrimSuffix(b.String(), "\n")
}

func readIfThere(name string) (data []byte, there bool, err error) {
	data, err = os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	return data, err == nil, err
}

// File is a file for the inside of a box, at an absolute path.
type File = whole.File

// Managed is what stands in /etc of a box so that no agent in it can switch the guard off: neither a repository's
// settings nor the agent's own can overrule these, and no hook but the guard's runs, since a hook may rewrite a call
// after the guard has seen it.
func Managed(adapters []*Adapter, h Hook) (files []File) {
	h.System = true
	for _, a := range adapters {
		if a.managed != nil {
			files = append(files, a.managed(a, h)...)
		} else {
			files = append(files, File{Path: a.row().Managed, Data: a.fresh(h), Mode: 0o644})
		}
	}
	return files
}

// PolicyFile is a policy as the hook reads it inside a box.
func PolicyFile(p guard.Policy) (File, error) {
	if err := p.Validate(); err != nil {
		return File{}, err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	return File{Path: hook.DefaultPolicy, Data: append(data, '\n'), Mode: 0o644}, err
}

// resolve finds the real file behind a name, so that replacing it keeps a user's links. Inside the workspace, which an
// agent may have written, links are refused: they could lead the write anywhere.
func (i Installation) resolve(name string) (string, error) {
	for at := name; strings.HasPrefix(at, i.Dir+"/"); at = filepath.Dir(at) {
		if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
			return "", fmt.Errorf("%s is a link: remove it first", at)
		}
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real, nil
	}
	return name, nil
}
