package settings

import (
	"bytes"
	"fmt"
	"strings"
)

func claudeGroup(h Hook) group {
	// With onFailure a hook that can't be started, or is killed, blocks too; older versions of claude ignore it.
	return group{Hooks: []handler{{Type: "command", Command: h.command("claude"), Timeout: hookSeconds,
		OnFailure: "block"}}}
}

func geminiGroup(h Hook) group {
	return group{Hooks: []handler{{Name: h.Name, Type: "command", Command: h.command("gemini"),
		Timeout: hookSeconds * 1000}}}
}

// merge adds the hook to an agent's settings, which have none of it yet. File is where they stand.
func merge(agent, file string, data []byte, h Hook) ([]byte, error) {
	var err error
	switch agent {
	case "codex":
		data, err = mergeCodex(file, data, h)
	case "gemini":
		data, err = mergeGemini(data, h)
	default:
		data, err = mergeClaude(data, h)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", file, err)
	}
	return data, nil
}

// claudeKeys are what is said to claude beside the hook. Local settings stand above those of the repository and of the
// user, whose disableAllHooks would otherwise hold. Commands that stand in a skill are run when it is loaded, without
// asking any hook, and an agent may write skills.
func claudeKeys() [2]struct{ name, value string } {
	return [...]struct{ name, value string }{{"disableAllHooks", "false"}, {"disableSkillShellExecution", "true"}}
}

func mergeClaude(data []byte, h Hook) ([]byte, error) {
	data, err := add(orEmpty(data), compact(claudeGroup(h)), "hooks", "PreToolUse")
	for _, k := range claudeKeys() {
		if err == nil {
			data, err = put(data, k.value, k.name)
		}
	}
	return data, err
}

func mergeGemini(data []byte, h Hook) ([]byte, error) {
	data, err := add(orEmpty(data), compact(geminiGroup(h)), "hooks", "BeforeTool")
	if err != nil {
		return nil, err
	}
	return put(data, "true", "hooksConfig", "enabled")
}

func orEmpty(data []byte) []byte {
	if len(bytes.TrimSpace(data)) == 0 {
		return []byte("{}\n")
	}
	return data
}

// strip takes the hook out of settings that somebody else has changed since. Before is what stood there once.
func strip(agent string, data, before []byte, h Hook) []byte {
	ours := func(n node) bool { return mentions(n, quote(h.Policy)) }
	switch agent {
	case "codex":
		return stripCodex(data, h)
	case "gemini":
		return drop(data, ours, "hooks", "BeforeTool")
	}
	data = drop(data, ours, "hooks", "PreToolUse")
	was, err := parseJSON(orEmpty(before))
	if err != nil {
		return data
	}
	for _, k := range claudeKeys() {
		now, err := parseJSON(data)
		_, had := was.get(k.name)
		if v, _ := now.get(k.name); err == nil && !had && v.is(k.value) {
			data = remove(data, k.name)
		}
	}
	return data
}

// mentions says whether a group of hooks has a command with those words in it.
func mentions(group node, words string) bool {
	hooks, _ := group.get("hooks")
	for _, h := range hooks.elems {
		if c, ok := h.get("command"); ok && strings.Contains(c.text, words) {
			return true
		}
	}
	return false
}

// commands lists the hook commands that stand under an event.
func commands(root node, event string) []string {
	var list []string
	groups, _ := root.at("hooks", event)
	for _, g := range groups.elems {
		hooks, _ := g.get("hooks")
		for _, h := range hooks.elems {
			if c, ok := h.get("command"); ok {
				list = append(list, c.text)
			}
		}
	}
	return list
}
