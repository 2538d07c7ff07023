// Package settings puts the guard's hook into the settings of agents and takes it out again, and says whether it is on.
// It changes nothing else in a settings file: comments, order and spacing stay as they were.
package settings

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// Agents are the agents whose hooks the guard knows.
func Agents() []string { return []string{"claude", "codex", "gemini"} }

// UnknownAgentError names an agent that has no hooks which the guard knows.
type UnknownAgentError struct{ Name string }

func (e *UnknownAgentError) Error() string {
	return fmt.Sprintf("the guard has no hook for %q; it has for %s", e.Name, strings.Join(Agents(), ", "))
}

func known(agent string) error {
	if slices.Contains(Agents(), agent) {
		return nil
	}
	return &UnknownAgentError{agent}
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
	Claude string // the user's directory, ~/.claude unless CLAUDE_CONFIG_DIR says otherwise
	Codex  string // ~/.codex, or CODEX_HOME
	Gemini string // ~/.gemini
	// System files, which hold for everybody on the machine.
	ManagedClaude, ManagedCodex, ManagedGemini string
	// Secure says why gemini would not read a system file; nil takes every one.
	Secure func(file string) error
}

// Find finds the places as the agents do.
func Find(env func(string) string, home, goos string) Places {
	p := Places{
		Claude: filepath.Join(home, ".claude"), Codex: filepath.Join(home, ".codex"), Gemini: filepath.Join(home, ".gemini"),
		ManagedClaude: claudeManaged, ManagedCodex: codexManaged, ManagedGemini: geminiManaged,
		Secure: ofRoot,
	}
	if goos == "darwin" {
		p.ManagedClaude = "/Library/Application Support/ClaudeCode/managed-settings.json"
		p.ManagedGemini = "/Library/Application Support/GeminiCli/settings.json"
	}
	for name, at := range map[string]*string{"CLAUDE_CONFIG_DIR": &p.Claude, "CODEX_HOME": &p.Codex} {
		if dir := env(name); filepath.IsAbs(dir) {
			*at = filepath.Clean(dir)
		}
	}
	return p
}

// managed is the system file of an agent.
func (p Places) managed(agent string) string {
	return map[string]string{"claude": p.ManagedClaude, "codex": p.ManagedCodex, "gemini": p.ManagedGemini}[agent]
}

// file is where the hook of one worktree is registered for an agent.
func (p Places) file(agent, dir string) string {
	switch agent {
	case "codex":
		return filepath.Join(p.Codex, "config.toml")
	case "gemini":
		return filepath.Join(p.Gemini, "settings.json")
	default:
		return filepath.Join(dir, ".claude", "settings.local.json")
	}
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

// The shape of hooks, which the agents share.
type group struct {
	Matcher string    `json:"matcher"`
	Hooks   []handler `json:"hooks"`
}

type handler struct {
	Name      string `json:"name,omitempty"`
	Type      string `json:"type"`
	Command   string `json:"command"`
	Timeout   int    `json:"timeout"`
	OnFailure string `json:"onFailure,omitempty"`
}

func readIfThere(name string) (data []byte, there bool, err error) {
	data, err = os.ReadFile(name)
	if os.IsNotExist(err) {
		return nil, false, nil
	}
	return data, err == nil, err
}
