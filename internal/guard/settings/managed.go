package settings

import (
	"encoding/json"
	"errors"
	"os"
	"path"
	"strconv"

	"github.com/cco-dev/cco/internal/guard"
)

// Where the system-wide settings of agents stand on Linux, and so in every box.
const (
	claudeManaged = "/etc/claude-code/managed-settings.json"
	codexManaged  = "/etc/codex/requirements.toml"
	geminiManaged = "/etc/gemini-cli/settings.json"
	// Opencode reads the settings of a machine last, and so above all others. Its hooks are functions of a plugin.
	opencodeManaged = "/etc/opencode/opencode.json"
	opencodePlugin  = "/etc/opencode/cco-guard.js"
	// PolicyPath is where the hook looks for its policy inside a box.
	PolicyPath = "/etc/cco/policy.json"
)

// File is a file for the inside of a box, at an absolute path.
type File struct {
	Path string
	Data []byte
	Mode os.FileMode
}

// Managed is what stands in /etc of a box so that no agent in it can switch the guard off: neither a repository's
// settings nor the agent's own can overrule these, and no hook but the guard's runs, since a hook may rewrite a call
// after the guard has seen it. Nonce is a word that the repository can't know; gemini's hook is named by it.
func Managed(guardBinary, policyPath, nonce string) []File {
	h := Hook{Guard: guardBinary, Policy: policyPath, Name: "cco-guard-" + nonce}
	return []File{
		{claudeManaged, []byte(managedClaude(h)), 0o644},
		{codexManaged, []byte(managedCodex(h)), 0o644},
		{geminiManaged, []byte(managedGemini(h)), 0o644},
		{opencodeManaged, []byte(managedOpencode()), 0o644},
		{opencodePlugin, []byte(pluginOpencode(h)), 0o644},
	}
}

// PolicyFile is a policy as the hook reads it inside a box.
func PolicyFile(p guard.Policy) (File, error) {
	if err := p.Validate(); err != nil {
		return File{}, err
	}
	data, err := json.MarshalIndent(p, "", "  ")
	return File{PolicyPath, append(data, '\n'), 0o644}, err
}

func managedClaude(h Hook) string {
	return compact(struct {
		ManagedOnly bool `json:"allowManagedHooksOnly"`
		claudeSettings
	}{true, claudeFor(h)}) + "\n"
}

// claudeSettings are settings of claude's that hold nothing but the guard.
type claudeSettings struct {
	Disable     bool               `json:"disableAllHooks"`
	PlainSkills bool               `json:"disableSkillShellExecution"` // see claudeKeys
	Hooks       map[string][]group `json:"hooks"`
}

func claudeFor(h Hook) claudeSettings {
	return claudeSettings{false, true, map[string][]group{"PreToolUse": {claudeGroup(h)}}}
}

func managedCodex(h Hook) string {
	return "allow_managed_hooks_only = true\n\n[features]\nhooks = true\n\n[hooks]\nmanaged_dir = " +
		compact(path.Dir(h.Guard)) + "\n\n" +
		codexGroup(h)
}

func managedGemini(h Hook) string {
	type object = map[string]any
	return compact(object{
		"hooksConfig": object{"enabled": true},
		"hooks":       map[string][]group{"BeforeTool": {geminiGroup(h)}},
		// Gemini runs no hook at all in a directory that it doesn't trust.
		"security": object{"folderTrust": object{"enabled": false}},
	}) + "\n"
}

func managedOpencode() string {
	return compact(map[string]any{"plugin": []string{"file://" + opencodePlugin}}) + "\n"
}

// pluginOpencode asks the hook before every call of a tool. Whatever goes wrong with asking refuses the call.
func pluginOpencode(h Hook) string {
	return `import { spawnSync } from "node:child_process"

const command = ` + compact(h.command("opencode")) + `

export const CcoGuard = async ({ directory, worktree }) => ({
  "tool.execute.before": async (input, output) => {
    const call = { hook_event_name: "PreToolUse", cwd: directory || worktree,
      tool_name: input.tool, tool_input: output.args }
    const asked = spawnSync("/bin/sh", ["-c", command], { input: JSON.stringify(call), encoding: "utf8", timeout: ` +
		strconv.Itoa(hookSeconds*1000) + ` })
    if (asked.status !== 0)
      throw new Error((asked.stderr || "").trim() || "denied (input): the guard could not be asked")
  },
})
`
}

// mergeSystem makes the settings of a box hold on this machine, and keeps what its administrator has set beside them.
func mergeSystem(agent string, data []byte, h Hook) ([]byte, error) {
	switch agent {
	case "codex":
		if len(data) > 0 {
			return nil, errors.New("this machine has requirements of its own; add the guard's hook to them by hand")
		}
		return []byte(managedCodex(h)), nil
	case "gemini":
		data, err := mergeGemini(data, h)
		if err != nil {
			return nil, err
		}
		return put(data, "false", "security", "folderTrust", "enabled")
	}
	data, err := mergeClaude(data, h)
	if err != nil {
		return nil, err
	}
	return put(data, "true", "allowManagedHooksOnly")
}
