package settings

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/BurntSushi/toml"
)

// Codex is the guard in the settings of Codex CLI.
func Codex() *Adapter {
	return &Adapter{
		agent: "codex", start: "codex -c features.hooks=true", past: true,
		format:      format{read: readTOML, merge: codexMerge, strip: codexStrip, needed: true},
		offBy:       []key{{"features.hooks", false}, {"features.codex_hooks", false}},
		managedOnly: "allow_managed_hooks_only",
		others:      codexOthers,
	}
}

func readTOML(data []byte) (tree map[string]any, err error) {
	err = toml.Unmarshal(data, &tree)
	return tree, err
}

// codexManaged are the requirements of a machine. Hooks in them can't be switched off, and need no trust.
func codexManaged(a *Adapter, h Hook) string {
	text := "allow_managed_hooks_only = true\n\n[features]\nhooks = true\n\n[hooks]\nmanaged_dir = " +
		compact(path.Dir(h.Guard)) + "\n\n" + codexTable(a.row().Event, h.command(a.agent))
	for _, t := range h.turns(a.row()) {
		text += "\n" + codexTable(t.event, t.command)
	}
	return text
}

// codexTable is a hook as TOML. Tables of an array can be added at the end of any file.
func codexTable(event, command string) string {
	return "[[hooks." + event + "]]\nmatcher = \"\"\n\n[[hooks." + event + ".hooks]]\ntype = \"command\"\ncommand = " +
		compact(command) + fmt.Sprintf("\ntimeout = %d\n", hookSeconds)
}

// codexMarks stand around what is added to the user's file.
func codexMarks(h Hook) (begin, end string) {
	of := "cco guard of " + compact(h.Scope)
	return "# " + of + ", removed by `cco guard uninstall`\n", "# end of " + of + "\n"
}

func codexMerge(a *Adapter, file string, data []byte, h Hook) ([]byte, error) {
	if h.System {
		if len(data) > 0 {
			return nil, errors.New("this machine has requirements of its own; add the guard's hook to them by hand")
		}
		return []byte(codexManaged(a, h)), nil
	}
	was, err := readTOML(data)
	if err != nil {
		return nil, err
	}
	off := regexp.MustCompile(`(?m)^(\[features\][^\[]*?^[ \t]*(?:codex_)?hooks[ \t]*=[ \t]*)false`)
	text := off.ReplaceAllString(string(data), "${1}true")
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	begin, end := codexMarks(h)
	groups := len(elements(at(was, "hooks."+a.row().Event)))
	return []byte(text + begin + codexTable(a.row().Event, h.command(a.agent)) + "\n[hooks.state." +
		compact(trustKey(file, groups)) + "]\ntrusted_hash = " + compact(trustHash(h)) + "\n" + end), nil
}

func codexStrip(_ *Adapter, data, _ []byte, h Hook) []byte {
	begin, end := codexMarks(h)
	before, rest, begun := strings.Cut(string(data), begin)
	_, after, ended := strings.Cut(rest, end)
	if !begun || !ended {
		return data
	}
	return []byte(renumber(before + after))
}

// codexOthers looks for the user's trust, without which codex skips a hook.
func codexOthers(l *look) {
	if l.hook.Command == "" || l.in.name == "managed" {
		return
	}
	user := l.named("user")
	states, _ := at(user.tree, "hooks.state").(map[string]any)
	state := states[trustKey(l.in.file, l.hook.group)]
	switch {
	case at(state, "trusted_hash") != trustHash(l.Installation.hook(l.Adapter, record{})):
		l.add("trust", Off, "codex doesn't trust the hook and skips it",
			"run `cco guard install` again, or trust it with /hooks in codex")
	case at(state, "enabled") == false:
		l.add("trust", Off, "the hook is disabled in "+user.file, "enable it with /hooks in codex")
	}
}

// renumber mends the trust of the guards of other worktrees: codex names hooks by their place, which has moved.
func renumber(text string) string {
	block := regexp.MustCompile(`(?ms)^# cco guard of "[^\n]*\n.*?^# end of cco guard of "`)
	header := regexp.MustCompile(`(?m)^[ \t]*\[\[[ \t]*hooks[ \t]*\.[ \t]*PreToolUse[ \t]*\]\]`)
	state := regexp.MustCompile(`(?m)^(\[hooks\.state\..*:pre_tool_use:)\d+(:0"\]\s*)$`)
	for _, at := range slices.Backward(block.FindAllStringIndex(text, -1)) { // what stands before one doesn't move
		place := fmt.Sprintf("${1}%d${2}", len(header.FindAllString(text[:at[0]], -1)))
		text = text[:at[0]] + state.ReplaceAllString(text[at[0]:at[1]], place) + text[at[1]:]
	}
	return text
}

// trustKey is how codex names a hook of a file: the event, the group's place and the place in the group.
func trustKey(file string, group int) string { return fmt.Sprintf("%s:pre_tool_use:%d:0", file, group) }

// trustHash is the sum by which codex knows a hook that its user has trusted: of the JSON of its definition, keys
// sorted.
func trustHash(h Hook) string {
	sum := sha256.Sum256([]byte(compact(map[string]any{"event_name": "pre_tool_use", "matcher": "", "hooks": []any{
		map[string]any{"async": false, "command": h.command("codex"), "timeout": hookSeconds, "type": "command"},
	}})))
	return "sha256:" + hex.EncodeToString(sum[:])
}
