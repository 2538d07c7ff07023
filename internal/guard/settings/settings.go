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
	"github.com/cco-dev/cco/internal/whole"
)

// Adapter is how the guard stands in the settings of one agent. Each is named where the agent is, see package agent.
type Adapter interface {
	// Agent is its name in the roster.
	Agent() string
	// managed is what stands in /etc of a box.
	managed(h Hook) []File
}

// installer is an adapter that can put the hook into settings outside of a box too.
type installer interface {
	Adapter
	// merge adds the hook to settings that have none of it yet. File is where they stand.
	merge(file string, data []byte, h Hook) ([]byte, error)
	// mergeSystem makes the settings of a box hold on this machine, and keeps what its administrator has set beside them.
	mergeSystem(data []byte, h Hook) ([]byte, error)
	// strip takes the hook out of settings that somebody else has changed since. Before is what stood there once.
	strip(data, before []byte, h Hook) []byte
	// find looks for the hook where the agent would read it, and for what switches it off.
	find(i Installation, r *registration)
	// launch is how to start the agent in the workspace so that nothing which an agent or a repository can write to turns
	// the guard off, as far as the agent can be started so without being root.
	launch(i Installation) string
	// gaps are the ways of losing the hook that the settings of one worktree can't hold.
	gaps() []string
}

// starter is an adapter whose agent is started with a settings file of our own.
type starter interface {
	started(h Hook) []byte
}

// dropper is an adapter whose agent drops hooks when one of these variables is set.
type dropper interface {
	dropping() []string
}

// row is what the roster knows of an adapter's agent.
func row(a Adapter) roster.Row {
	r, ok := roster.Find(a.Agent())
	if !ok {
		panic("agent " + a.Agent() + " has no row") // a test would have seen it
	}
	return r
}

// UnknownAgentError names an agent that has no hooks which the guard knows.
type UnknownAgentError struct {
	Name  string
	Known []string
}

func (e *UnknownAgentError) Error() string {
	return fmt.Sprintf("the guard has no hook for %q; it has for %s", e.Name, strings.Join(e.Known, ", "))
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
}

// command is the line of shell that the agent runs.
func (h Hook) command(agent string) string {
	line := quote(h.Guard) + " --agent " + agent + " --policy " + quote(h.Policy)
	if h.Scope == "" {
		return line
	}
	// A directory that is gone is no proof of being elsewhere.
	return "d=$(pwd -P) || exit 2; case \"$d/\" in " + quote(h.Scope) + "/*) exec " + line + ";; esac"
}

// turns are the hooks in a box that say when the agent begins and ends a turn, by their events.
func (h Hook) turns(r roster.Row) map[string][]group {
	hooks := map[string][]group{}
	if !h.Turns {
		return hooks
	}
	for event, turn := range map[string]string{r.TurnBegins: "begun", r.TurnEnds: "ended"} {
		if event != "" {
			hooks[event] = []group{{Hooks: []handler{{Type: "command", Command: h.command(r.Name) + " --turn " + turn,
				Timeout: hookSeconds}}}}
		}
	}
	return hooks
}

// quote makes one word of shell, plain where it can be.
func quote(s string) string {
	plain := func(r rune) bool {
		return r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("/._-+@%:=,", r)
	}
	if s != "" && strings.IndexFunc(s, func(r rune) bool { return !plain(r) }) < 0 {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}

// Places are where agents keep their settings on this machine.
type Places struct {
	Env  func(string) string // by which an agent's directory can be elsewhere
	Home string
	OS   string // in Go's words
	Root string // what stands before the names of system files, "" outside of tests
	// Secure says why gemini would not read a system file; nil takes every one.
	Secure func(file string) error
}

// Find finds the places as the agents do.
func Find(env func(string) string, home, goos string) Places {
	return Places{Env: env, Home: home, OS: goos, Secure: ofRoot}
}

// managed is the system file of an agent.
func (p Places) managed(r roster.Row) string {
	if p.OS == "darwin" && r.ManagedMac != "" {
		return p.Root + r.ManagedMac
	}
	return p.Root + r.Managed
}

// user is a file of the user's.
func (p Places) user(r roster.Row, name string) string { return r.At(name, p.Env, p.Home) }

// file is where the hook of one worktree is registered for an agent.
func (p Places) file(r roster.Row, dir string) string {
	if r.Local != "" {
		return filepath.Join(dir, r.Local)
	}
	return p.user(r, r.Settings[0])
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

// PolicyPath is where the hook looks for its policy inside a box.
const PolicyPath = "/etc/cco/policy.json"

// File is a file for the inside of a box, at an absolute path.
type File struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Managed is what stands in /etc of a box so that no agent in it can switch the guard off: neither a repository's
// settings nor the agent's own can overrule these, and no hook but the guard's runs, since a hook may rewrite a call
// after the guard has seen it.
func Managed(adapters []Adapter, h Hook) (files []File) {
	for _, a := range adapters {
		files = append(files, a.managed(h)...)
	}
	return files
}

// PolicyFile is a policy as the hook reads it inside a box.
func PolicyFile(p guard.Policy) (File, error) {
	if err := p.Validate(); err != nil {
		return File{}, err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	return File{PolicyPath, append(data, '\n'), 0o644}, err
}

// resolve finds the real file behind a name, so that replacing it keeps a user's links. Inside the workspace, which an
// agent may have written, links are refused: they could lead the write anywhere.
func (i Installation) resolve(name string) (string, error) {
	if rest, ok := strings.CutPrefix(name, i.Dir+"/"); ok {
		at := i.Dir
		for part := range strings.SplitSeq(rest, "/") {
			at = filepath.Join(at, part)
			if info, err := os.Lstat(at); err == nil && info.Mode()&os.ModeSymlink != 0 {
				return "", fmt.Errorf("%s is a link: remove it first", at)
			}
		}
		return name, nil
	}
	if real, err := filepath.EvalSymlinks(name); err == nil {
		return real, nil
	}
	return name, nil
}

// replaceFile writes a file whole. One that is there keeps its mode.
func replaceFile(name string, data []byte, mode os.FileMode) error {
	if err := os.MkdirAll(filepath.Dir(name), dirMode(mode)); err != nil {
		return err
	}
	if info, err := os.Stat(name); err == nil {
		mode = info.Mode().Perm()
	}
	return whole.Write(name, data, mode)
}

// dirMode opens a directory to those who may read its files.
func dirMode(file os.FileMode) os.FileMode {
	if file&0o044 != 0 {
		return 0o755
	}
	return 0o700
}
