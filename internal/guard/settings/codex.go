package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"maps"
	"path"
	"regexp"
	"slices"
	"strings"
	"sync"

	"github.com/BurntSushi/toml"

	"github.com/cco-dev/cco/internal/agent/roster"
)

// Codex is the guard in the settings of Codex CLI.
func Codex() Adapter { return codex{} }

type codex struct{}

func (codex) Agent() string { return "codex" }

func (a codex) managed(h Hook) []File {
	return []File{{row(a).Managed, []byte(a.requirements(h)), 0o644}}
}

func (a codex) requirements(h Hook) string {
	return "allow_managed_hooks_only = true\n\n[features]\nhooks = true\n\n[hooks]\nmanaged_dir = " +
		compact(path.Dir(h.Guard)) + "\n\n" + a.group(h) + h.turnTables(row(a))
}

// turnTables are turns as TOML.
func (h Hook) turnTables(r roster.Row) (text string) {
	turns := h.turns(r)
	for _, event := range slices.Sorted(maps.Keys(turns)) {
		text += "\n[[hooks." + event + "]]\n\n[[hooks." + event + ".hooks]]\ntype = \"command\"\ncommand = " +
			compact(turns[event][0].Hooks[0].Command) + fmt.Sprintf("\ntimeout = %d\n", hookSeconds)
	}
	return text
}

func (codex) launch(Installation) string { return "codex -c features.hooks=true" }

func (codex) gaps() []string {
	return []string{
		"a repository's .codex/config.toml with features.hooks = false, unless codex is started as said",
		"a change of the hook in config.toml, which codex then no longer trusts and skips without a word",
		"a guard that is deleted, killed or too slow: codex lets the call through",
	}
}

// codexConfig is what of codex's configuration bears on hooks.
type codexConfig struct {
	ManagedOnly bool `toml:"allow_managed_hooks_only"` // only in requirements.toml
	Features    struct {
		Hooks *bool `toml:"hooks"`
		Old   *bool `toml:"codex_hooks"`
	} `toml:"features"`
	Hooks struct {
		PreToolUse []struct {
			Matcher *string `toml:"matcher"`
			Hooks   []struct {
				Type    string `toml:"type"`
				Command string `toml:"command"`
			} `toml:"hooks"`
		} `toml:"PreToolUse"`
		State map[string]struct {
			Enabled *bool  `toml:"enabled"`
			Trusted string `toml:"trusted_hash"`
		} `toml:"state"`
	} `toml:"hooks"`
}

func parseCodex(data []byte) (c codexConfig, err error) {
	err = toml.Unmarshal(data, &c)
	return c, err
}

// off says whether hooks are switched off, by either name of the feature.
func (c codexConfig) off() bool {
	off := func(f *bool) bool { return f != nil && !*f }
	return off(c.Features.Hooks) || off(c.Features.Old)
}

// codexGroup is the hook as TOML. Tables of an array can be added at the end of any file.
func (codex) group(h Hook) string {
	return "[[hooks.PreToolUse]]\nmatcher = \"\"\n\n[[hooks.PreToolUse.hooks]]\ntype = \"command\"\ncommand = " +
		compact(h.command("codex")) + fmt.Sprintf("\ntimeout = %d\n", hookSeconds)
}

func codexMarks(h Hook) (begin, end string) {
	return "# cco guard of " + compact(h.Scope) + ", removed by `cco guard uninstall`\n", "# end of cco guard of " +
		compact(h.Scope) + "\n"
}

// Patterns are compiled when they are first needed: every start of cco would pay for them.
var featureOff = later(`(?m)^([ \t]*(?:codex_)?hooks[ \t]*=[ \t]*)false`)

func (a codex) merge(file string, data []byte, h Hook) ([]byte, error) {
	c, err := parseCodex(data)
	if err != nil {
		return nil, err
	}
	text := string(data)
	if c.off() {
		if text, err = turnOn(text); err != nil {
			return nil, err
		}
	}
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	begin, end := codexMarks(h)
	key := trustKey(file, len(c.Hooks.PreToolUse))
	text += begin + a.group(h) + "\n[hooks.state." + compact(key) + "]\ntrusted_hash = " + compact(trustHash(h)) +
		"\n" + end
	if _, err := parseCodex([]byte(text)); err != nil {
		return nil, fmt.Errorf("its hooks are written in a way that can't be added to: %w", err)
	}
	return []byte(text), nil
}

func (a codex) mergeSystem(data []byte, h Hook) ([]byte, error) {
	if len(data) > 0 {
		return nil, errors.New("this machine has requirements of its own; add the guard's hook to them by hand")
	}
	return []byte(a.requirements(h)), nil
}

// turnOn changes the feature within its table.
func turnOn(text string) (string, error) {
	const table = "[features]"
	at := strings.Index("\n"+text, "\n"+table)
	if at >= 0 {
		from := at + len(table)
		to := len(text)
		if i := strings.Index(text[from:], "\n["); i >= 0 {
			to = from + i
		}
		on := text[:from] + featureOff().ReplaceAllString(text[from:to], "${1}true") + text[to:]
		if c, err := parseCodex([]byte(on)); err == nil && !c.off() {
			return on, nil
		}
	}
	return "", errors.New("it switches hooks off: set features.hooks to true")
}

func (codex) strip(data, _ []byte, h Hook) []byte {
	text := string(data)
	begin, end := codexMarks(h)
	from := strings.Index(text, begin)
	if from < 0 {
		return data
	}
	to := strings.Index(text[from:], end)
	if to < 0 {
		return data
	}
	return []byte(renumber(text[:from] + text[from+to+len(end):]))
}

func (a codex) find(i Installation, r *registration) {
	name, managed := row(a).Settings[0], i.Places.managed(row(a))
	user := i.Places.user(row(a), name)
	system := readCodex(r, "system", managed)
	mine := readCodex(r, "user", user)
	project := readCodex(r, "project", i.below(name))
	if command, _, ok := i.codexHook(system); ok {
		r.found(managed, command) // can't be switched off, and needs no trust
		return
	}
	if command, n, ok := i.codexHook(mine); ok {
		r.found(user, command)
		file := user
		state, ok := mine.Hooks.State[trustKey(file, n)]
		switch {
		case !ok || state.Trusted != trustHash(i.hook(a, record{})):
			r.add("trust", Off, "codex doesn't trust the hook and skips it",
				"run `cco guard install` again, or trust it with /hooks in codex")
		case state.Enabled != nil && !*state.Enabled:
			r.add("trust", Off, "the hook is disabled in "+file, "enable it with /hooks in codex")
		}
	}
	if system.ManagedOnly {
		r.add("managed hooks only", Off, managed+" lets only managed hooks run",
			"cco guard install --system, as root")
	}
	if mine.off() {
		r.add("features.hooks", Off, user+" switches all hooks off", "set features.hooks to true")
	}
	if project.off() {
		r.add("features.hooks", Off, "this repository's .codex/config.toml switches all hooks off",
			"start it with: "+a.launch(i))
	}
}

func readCodex(r *registration, name, file string) codexConfig {
	data, there, err := readIfThere(file)
	if err != nil || !there {
		return codexConfig{}
	}
	c, err := parseCodex(data)
	if err != nil {
		r.add(name+" settings", Off, file+": "+err.Error(), "mend it")
	}
	return c
}

// codexHook finds the guard among codex's hooks, and its place there.
func (i Installation) codexHook(c codexConfig) (command string, place int, ok bool) {
	for n, g := range c.Hooks.PreToolUse {
		for _, h := range g.Hooks {
			if command, ok := i.ours([]string{h.Command}); ok {
				return command, n, true
			}
		}
	}
	return "", 0, false
}

var (
	codexHeader = later(`(?m)^[ \t]*\[\[[ \t]*hooks[ \t]*\.[ \t]*PreToolUse[ \t]*\]\]`)
	codexBlock  = later(`(?ms)^# cco guard of "[^\n]*\n.*?^# end of cco guard of "`)
	codexState  = later(`(?m)^(\[hooks\.state\..*:pre_tool_use:)\d+(:0"\]\s*)$`)
)

// renumber mends the trust of the guards of other worktrees: codex names hooks by their place, which has moved.
func renumber(text string) string {
	blocks := codexBlock().FindAllStringIndex(text, -1)
	for _, at := range slices.Backward(blocks) { // what stands before a block doesn't move while it is mended
		n := len(codexHeader().FindAllString(text[:at[0]], -1))
		text = text[:at[0]] + codexState().ReplaceAllString(text[at[0]:at[1]], fmt.Sprintf("${1}%d${2}", n)) + text[at[1]:]
	}
	return text
}

// trustKey is how codex names a hook of a file: the event, the group's place and the place in the group.
func trustKey(file string, group int) string { return fmt.Sprintf("%s:pre_tool_use:%d:0", file, group) }

// trustHash is the sum by which codex knows a hook that its user has trusted: of the JSON of its definition, keys
// sorted.
func trustHash(h Hook) string {
	type command struct {
		Async   bool   `json:"async"`
		Command string `json:"command"`
		Timeout int    `json:"timeout"`
		Type    string `json:"type"`
	}
	sum := sha256.Sum256([]byte(compact(struct {
		Event   string    `json:"event_name"`
		Hooks   []command `json:"hooks"`
		Matcher string    `json:"matcher"`
	}{"pre_tool_use", []command{{false, h.command("codex"), hookSeconds, "command"}}, ""})))
	return "sha256:" + hex.EncodeToString(sum[:])
}

func later(pattern string) func() *regexp.Regexp {
	return sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(pattern) })
}
